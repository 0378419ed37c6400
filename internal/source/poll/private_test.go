package poll

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/outbound"
)

// TestConnectionTellsNoAddress: a poll of a connection says the same of a server that is closed and of one that is
// silent, and nothing of where it is (A5).
func TestConnectionTellsNoAddress(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // which nobody accepts
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	guard, err := outbound.New(outbound.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for what, at := range map[string]net.Addr{"silent": silent.Addr(), "closed": free.Addr()} {
		c := Declared{SQL: "SELECT 1 AS id", Connection: "warehouse", Key: []string{"id"}, Every: time.Second,
			Timeout: 300 * time.Millisecond}
		rows, err := newRows(&c, &kind.Input{}, guard, outbound.Named{"warehouse": "postgres://u:p@" + at.String() +
			"/shop?sslmode=disable"}, 0)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), c.Timeout)
		err = rows.open().read(ctx, bound{}, 1, func(*row) error { return nil })
		cancel()
		if err == nil || !strings.HasPrefix(err.Error(), "the connection warehouse cannot be reached; ") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
