package engine

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/checkpoint"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

// mute is a store that cannot be asked while err is not nil.
type mute struct {
	checkpoint.Store
	err error
}

func (s *mute) Ping(context.Context) error { return s.err }

// TestReadyTellsNoAddress: whether the daemon is ready is everybody's to ask: why the store is away stands in the log,
// once each time it goes away.
func TestReadyTellsNoAddress(t *testing.T) {
	t.Parallel()
	s := &mute{Store: memstore.New()}
	var log bytes.Buffer
	e := New(Config{Store: s, Kinds: &builtin.Kinds{}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	for range 2 {
		s.err = errors.New("failed to connect to user=u database=d: db.internal:5432 refused")
		for range 3 {
			if err := e.Ready(t.Context()); err == nil || strings.Contains(err.Error(), "db.internal") {
				t.Errorf("got %v", err)
			}
		}
		s.err = nil
		if err := e.Ready(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if n := strings.Count(log.String(), "db.internal"); n != 2 {
		t.Errorf("told %d times: %s", n, log.String())
	}
}
