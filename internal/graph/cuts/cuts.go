// Package cuts is the value of a cut: what an epoch took of all inputs at once, as an output puts it out that is from
// the reactor and not from a node. Graphs that follow such an output fire on the same cuts (M7).
package cuts

import (
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
)

// Input is an input that cuts show.
type Input struct {
	Name string
	// At is its place among the inputs of the plan.
	At   int
	Type expression.Type
}

// Layout is how the cuts of a graph are written. It is immutable.
type Layout struct {
	inputs []Input
	keyed  bool
	shape  *boundary.Shape
}

// The names that a cut has beside those of the inputs. None of them can be that of an input.
const (
	epochName = "epoch" // the number of the leader's epoch
	nowName   = "now"   // its time
	keyName   = "key"   // of a keyed graph
	metaName  = "meta"  // why it fired, and what was new
)

var (
	metaShape = boundary.NewShape("cause", "fresh")
	metaType  = expression.ObjectOf(map[string]expression.Type{
		"cause": expression.Of(boundary.KindString),
		"fresh": expression.ListOf(expression.Of(boundary.KindString)),
	}, false)
)

// New lays out the cuts of a graph with these inputs.
func New(inputs []Input, keyed bool) *Layout {
	l := &Layout{inputs: inputs, keyed: keyed}
	names := []string{epochName, nowName}
	if keyed {
		names = append(names, keyName)
	}
	names = append(names, metaName)
	for i := range inputs {
		names = append(names, inputs[i].Name)
	}
	l.shape = boundary.NewShape(names...)
	return l
}

// Type is the static type of a cut.
func (l *Layout) Type() expression.Type {
	fields := map[string]expression.Type{
		epochName: expression.Of(boundary.KindInt), nowName: expression.Of(boundary.KindTime), metaName: metaType,
	}
	if l.keyed {
		fields[keyName] = expression.Any()
	}
	for i := range l.inputs {
		fields[l.inputs[i].Name] = l.inputs[i].Type
	}
	return expression.ObjectOf(fields, false)
}

// Cut is what one epoch took.
type Cut struct {
	Epoch int64
	Now   time.Time
	Cause string
	Key   boundary.Value // of a keyed graph
	// Values are all inputs of the plan as the epoch saw them.
	Values []boundary.Value
	// Fresh says that an input has arrived since the epoch before.
	Fresh func(input int) bool
}

// Value is the cut as an object. An input that has never arrived is no field of it.
func (l *Layout) Value(c *Cut) boundary.Value {
	slots := make([]boundary.Value, 0, l.shape.Len())
	slots = append(slots, boundary.Int(c.Epoch), boundary.Time(c.Now))
	if l.keyed {
		slots = append(slots, c.Key)
	}
	var fresh []boundary.Value
	for i := range l.inputs {
		if in := &l.inputs[i]; c.Fresh(in.At) {
			fresh = append(fresh, boundary.String(in.Name))
		}
	}
	slots = append(slots, boundary.Object(metaShape, []boundary.Value{boundary.String(c.Cause), boundary.List(fresh)}))
	for i := range l.inputs {
		v := c.Values[l.inputs[i].At]
		if v.Depth() >= boundary.MaxDepth {
			v = boundary.Null() // one level more is no value any more; only what nodes feed can come to that
		}
		slots = append(slots, v)
	}
	return boundary.Object(l.shape, slots)
}
