package stage

import (
	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/spec"
)

// fragile is a fold that cannot bear an event.
type fragile struct{ fold.Keeper }

func (fragile) Add(time.Time, *fold.Input, []boundary.Boundary) ([]boundary.Boundary, fold.Verdict) {
	panic("no more")
}
func (fragile) Due() (time.Time, bool)                                        { return time.Time{}, false }
func (fragile) Tick(_ time.Time, out []boundary.Boundary) []boundary.Boundary { return out }
func (fragile) End(out []boundary.Boundary) []boundary.Boundary               { return out }
func (fragile) Open() int64                                                   { return 0 }

// M35: an event that makes a fold panic is a dead letter, and the core that folds it goes on.
func TestM35APanicIsADeadLetter(t *testing.T) {
	t.Parallel()
	p, diags := accumulator.Compile(&spec.Accumulator{Name: "s", Kind: "passthrough"}, accumulator.CompileOptions{})
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	p.Project(nil, true)
	one := &Stage{Core: accumulator.NewCoreWith(p, accumulator.Limits{}, fragile{})}
	o := one.Take(time.Unix(9, 0), &boundary.Event{Value: boundary.Int(1)}, true)
	if o.Status != accumulator.DeadLettered || o.Code != "panic" {
		t.Errorf("it came to %+v", o)
	}
	if c := one.Counters(); c.Received != 1 || c.DeadLettered != 1 {
		t.Errorf("books %+v", c)
	}
}
