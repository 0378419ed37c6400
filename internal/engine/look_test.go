package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
)

// shy is a source that gives one event of its own each time it is asked to look, and nothing of its own accord.
type shy struct{ at []int }

// Follows implements [accumulator.Follower].
func (s *shy) Follows() bool { return true }

// Looks implements [accumulator.Looker].
func (s *shy) Looks() bool { return true }

// Run implements [accumulator.Source].
func (s *shy) Run(ctx context.Context, _ []boundary.Position, out accumulator.Out) error {
	out.Health(accumulator.Live, "")
	accumulator.CaughtUp(out, "", true)
	asker := accumulator.AskerOf(out)
	for _, at := range s.at {
		select {
		case <-asker.Asked():
		case <-ctx.Done():
			return nil
		}
		look := asker.Look()
		if err := out.Emit(ctx, []boundary.Event{{
			Raw: fmt.Appendf(nil, `{"at":%d}`, at), Pos: boundary.Position{Stream: "s", Offset: int64(at)},
		}}); err != nil {
			return err
		}
		asker.Looked(look)
	}
	return nil
}

// M26: what is only found when it is looked for is taken in before what happens later, be that pulled or pushed.
// A source that has ended is not asked.
func TestM26LooksAgainForWhatComesElsewhere(t *testing.T) {
	a := newTape(false)
	clocked(t, a, &shy{[]int{40, 60}}, "", func(bed *bed, out *heard) {
		a.events("s", 50)
		if got, want := out.since(), `[40,0,40,"criteria"] [50,50,40,"criteria"]`; got != want {
			t.Errorf("beside a source: got %s, want %s", got, want)
		}
		push := func(at int) {
			ref := api.Ref{Tenant: "default", Name: "g"}
			events := []json.RawMessage{fmt.Appendf(nil, `{"at":%d}`, at)}
			if _, err := bed.e.Push(bed.t.Context(), ref, "a", events); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		}
		push(70)
		if got, want := out.since(), `[60,50,60,"criteria"] [70,70,60,"criteria"]`; got != want {
			t.Errorf("beside a push: got %s, want %s", got, want)
		}
		push(80)
		if got, want := out.since(), `[80,80,60,"criteria"]`; got != want {
			t.Errorf("when it has ended: got %s, want %s", got, want)
		}
	})
}
