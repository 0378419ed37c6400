package engine

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/sink/stdout"
)

// endless is a source that never pauses, until it is told to.
type endless struct {
	ended atomic.Bool
	given atomic.Int64 // the last position
}

// Behind implements reader.Ordered.
func (*endless) Behind(a, b boundary.Position) (behind, known bool) { return a.Offset < b.Offset, true }

// Run implements [accumulator.Source].
func (s *endless) Run(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
	at := int64(0)
	if len(from) > 0 {
		at = from[0].Offset
	}
	out.Health(accumulator.Live, "")
	for ctx.Err() == nil {
		if s.ended.Load() {
			<-ctx.Done()
			break
		}
		ev := boundary.Event{Raw: fmt.Appendf(nil, `{"id":"k%d","x":%d}`, at%20, at),
			Pos: boundary.Position{Stream: "s", Offset: at + 1}}
		if err := out.Emit(ctx, append(accumulator.NewBatch(out, 1), ev)); err != nil {
			return err
		}
		at++
		s.given.Store(at)
		if at%7 == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	return nil
}

// M54: the number of shards changes under a source that never pauses: they are stopped at one cut all the same, each
// event is in the state of its key once, and the source goes on behind it.
func TestM54RedealUnderASourceThatNeverPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &endless{}
		kinds := &scripted{source: func(string) accumulator.Source { return s }}
		kinds.Stdout = stdout.NewOutput(os.Stderr)
		e := New(Config{Store: memstore.New(), Kinds: kinds, Log: slog.New(slog.DiscardHandler)})
		if err := e.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		b := &bed{t, e, nil}
		defer b.close()
		if _, err := e.Apply(t.Context(), shardedRef, []byte(tappedGraph), api.Change{}); err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{3, 7, 2, 1, 4} {
			time.Sleep(50 * time.Millisecond)
			doc := strings.Replace(tappedGraph, "shards: 2", fmt.Sprintf("shards: %d", n), 1)
			if _, err := e.Apply(t.Context(), shardedRef, []byte(doc), api.Change{}); err != nil {
				t.Fatalf("%d shards: %v", n, err)
			}
		}
		time.Sleep(50 * time.Millisecond)
		s.ended.Store(true)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		end := s.given.Load()
		sums := map[int64]int64{}
		for at := range end {
			sums[at%20] += at
		}
		for k, sum := range sums {
			if got, want := b.node(fmt.Sprintf(`"k%d"`, k)), fmt.Sprintf(`["k%d",%d]`, k, sum); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		if sum := b.summary("g"); sum.Counters.Received != end || sum.Keys.Shards != 4 {
			t.Errorf("%+v, %+v: want %d", sum.Counters, sum.Keys, end)
		}
	})
}
