package flow_test

import (
	"fmt"
	"testing"

	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/boundary"
)

const twoPushed = `graph: g
accumulators:
  a: { time: event.at, strategy: sequential }
  b: { time: event.at, strategy: sequential }
nodes:
  n: { event: true, expr: '[a?.n, b?.n]' }
outputs:
  out: { from: n, sink: { drop: {} } }
`

// M26, M1: two inputs are pushed to at one time. When all that came with the pushes to one is folded its senders are
// answered, and those of the other as far as theirs is folded: the rest of that is found again, in the order of times.
func TestM26PushesToTwoInputsAtOneTime(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoPushed, 100)
	push := func(input int, times ...int64) *pump.Push {
		var events []boundary.Event
		for _, at := range times {
			events = append(events, boundary.Event{Raw: fmt.Appendf(nil, `{"at":%d,"n":%d}`, at, at)})
		}
		p, err := r.boxes[input].Submit(t.Context(), events)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	a, b := push(0, 10, 30), push(1, 20, 40, 50)
	r.want(r.turn(), "[10,null] [10,20] [30,20] [30,40] [30,50]")
	for _, p := range []*pump.Push{a, b} {
		if out, err := p.Wait(t.Context()); err != nil || out.Full {
			t.Errorf("%+v, %v", out, err)
		}
	}
}
