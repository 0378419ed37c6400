package kafka

import (
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/kafkanet"
	"github.com/graphd/graphd/internal/outbound/outboundtest"
	"github.com/graphd/graphd/internal/sink"
)

// TestConnectionTellsNoAddress: a cluster with a name in the configuration is told of without its address (A5).
func TestConnectionTellsNoAddress(t *testing.T) {
	t.Parallel()
	guard := outboundtest.Guard(t).As("events")
	s := open(t, Config{Topic: "t", Timeout: time.Second, Config: kafkanet.Config{Brokers: []string{"127.0.0.1:1"},
		Dial: guard.DialContext, Hide: guard.Hide}})
	err := s.Deliver(t.Context(), []sink.Message{{Output: "o"}})
	const words = "the connection events cannot be reached; the daemon's log says why"
	if err == nil || !strings.HasSuffix(err.Error(), words) ||
		strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("got %v", err)
	}
}
