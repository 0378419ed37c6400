package accumulator

import (
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
)

// kindPassthrough is the name of what has no kind.
const kindPassthrough = "passthrough"

// NewFold makes the empty fold of p's kind.
func NewFold(p *Program) fold.Fold {
	if p.folds == nil {
		return &passthrough{}
	}
	return p.folds.New()
}

// passthrough hands every event on as a boundary of its own.
type passthrough struct{}

func (*passthrough) Add(_ time.Time, in *fold.Input, out []boundary.Boundary) ([]boundary.Boundary, fold.Verdict) {
	v, ev := in.Value, in.Event
	if len(out) == cap(out) {
		out = append(out, boundary.Boundary{})
	} else {
		out = out[:len(out)+1] // what lies there is zero: see Core.grow
	}
	b := &out[len(out)-1] // filled in place: it is large, and this is every event's way
	b.Value, b.First, b.Last = v, ev.Pos, ev.Pos
	b.At, b.Events = in.At, 1
	b.Size = v.Size() + len(ev.Raw)
	b.Raw, b.Origin, b.Links = ev.Raw, ev.Origin, ev.Links
	return out, fold.Folded
}

func (*passthrough) Due() (time.Time, bool)                                        { return time.Time{}, false }
func (*passthrough) Tick(_ time.Time, out []boundary.Boundary) []boundary.Boundary { return out }
func (*passthrough) End(out []boundary.Boundary) []boundary.Boundary               { return out }
func (*passthrough) State() fold.State                                             { return nil }
func (*passthrough) Resume(fold.State)                                             {}
func (*passthrough) Open() int64                                                   { return 0 }

func (*passthrough) Decode(data []byte) (fold.State, error) {
	if len(data) > 0 {
		return nil, fold.ErrForeign
	}
	return nil, nil
}
