package reader_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
)

// whole is a source that gives all events of one partition behind the position in one batch.
type whole struct {
	ordered
	events int64
}

func (w whole) Run(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
	first := int64(0)
	for _, p := range from {
		first = p.Offset
	}
	batch := accumulator.NewBatch(out, int(w.events-first))
	for n := first; n < w.events; n++ {
		ev := event(2 * n)
		batch = append(batch, ev)
	}
	if err := out.Emit(ctx, batch); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// M54: while the reader is held, who is past a part of a batch is given the rest of it and nothing twice.
func TestM54WhoIsPastAPartOfABatchIsGivenTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 0, func(*rig) accumulator.Source { return whole{events: 10} })
		release := r.reader.Hold()
		defer release()
		behind := r.enter(boundary.Position{Stream: "s/0#x", Offset: 2})
		ahead := r.enter(boundary.Position{Stream: "s/0#x", Offset: 7})
		settle()
		if behind.leave() != nil || ahead.leave() != nil {
			t.Fatal("a source has failed")
		}
		if len(behind.given) != 8 || len(ahead.given) != 3 || !slices.Equal(ahead.given, behind.given[5:]) {
			t.Errorf("given %v to the one behind, and %v to the one ahead", behind.given, ahead.given)
		}
	})
}

// M26, M54: what is read for all is held back for all, of which each is told: at the beginning, when it comes, and at
// the end.
func TestM26EachIsToldOfWhatIsHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 0, func(*rig) accumulator.Source { return whole{events: 10} })
		r.waits = time.Minute
		one := r.enter(boundary.Position{Stream: "s/0#x", Offset: 2})
		settle()
		if got := fmt.Sprint(one.told()); got != "[s/0#x:1]" {
			t.Errorf("one was told %s", got)
		}
		two := r.enter(boundary.Position{Stream: "s/0#x", Offset: 10})
		settle()
		if got := fmt.Sprint(one.told(), two.told()); got != "[s/0#x:1] [s/0#x:1]" {
			t.Errorf("when another has come they were told %s", got)
		}
		time.Sleep(2 * time.Minute)
		if one.leave() != nil || two.leave() != nil {
			t.Fatal("a source has failed")
		}
		if got := fmt.Sprint(one.told(), two.told()); got != "[s/0#x:1 :0] [s/0#x:1 :0]" {
			t.Errorf("at the end they were told %s", got)
		}
		if len(one.given) != 8 || len(two.given) != 0 {
			t.Errorf("given %v and %v", one.given, two.given)
		}
	})
}
