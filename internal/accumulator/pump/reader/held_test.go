package reader_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

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
