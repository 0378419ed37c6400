package postgres

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
)

// M52, A4: a daemon that takes a thousand graphs at once renews its lease, hears who is there and lets callers in as
// if it took none.
func TestM52MassTakeover(t *testing.T) {
	t.Parallel()
	dsn, schema := newSchema(t)
	// How long each takes is compared below: a busy machine refuses none for that.
	a := open(t, dsn, schema)
	t.Cleanup(func() { _ = a.Close() })
	renew(t, a, time.Minute)
	graphs := 1000
	if testing.Short() {
		graphs = 300
	}
	var all sync.WaitGroup
	began := time.Now()
	for n := range graphs {
		all.Go(func() {
			if _, err := a.Acquire(t.Context(), checkpoint.ID{Tenant: "default", Graph: fmt.Sprint(n)}); err != nil {
				t.Error(err)
			}
		})
	}
	taken := make(chan struct{})
	go func() { all.Wait(); close(taken) }()
	took := map[string][]time.Duration{}
	ask := func(what string, f func() error) {
		asked := time.Now()
		if err := f(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		took[what] = append(took[what], time.Since(asked))
	}
	for taking := true; taking; {
		select {
		case <-taken:
			taking = false
		default:
		}
		ask("renewal", func() error { _, err := a.RenewLease(t.Context(), time.Minute); return err })
		ask("roster", func() error { _, err := a.Roster(t.Context()); return err })
		ask("token", func() error {
			_, err := a.Token(t.Context(), "none")
			if errors.Is(err, checkpoint.ErrNotFound) {
				err = nil
			}
			return err
		})
	}
	whole := time.Since(began)
	// Behind the takings each would wait for most of them; one alone may wait on a loaded machine.
	for what, all := range took {
		slices.Sort(all)
		median := all[len(all)/2]
		t.Logf("%d takings in %v; %d of %s: median %v", graphs, whole, len(all), what, median)
		if median > whole/4 {
			t.Errorf("%s took %v of %v", what, median, whole)
		}
	}
}
