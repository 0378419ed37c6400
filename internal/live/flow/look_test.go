package flow_test

import (
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/live/flow"
)

const twoInputs = `graph: g
accumulators:
  a: { source: { file: { path: a.ndjson, follow: true } }, time: event.at, strategy: sequential }
  b: { source: { file: { path: b.ndjson, follow: true } }, time: event.at, strategy: sequential }
nodes:
  n: { event: true, expr: '[a?.n, b?.n]' }
outputs:
  out: { from: n, sink: { drop: {} } }
`

// newPair is a flow of two inputs that have caught up.
func newPair(t *testing.T) (r *rig, a, b *pump.Line) {
	t.Helper()
	r = newRig(t, twoInputs, 100)
	a, b = r.lines[0], r.lines[1]
	for _, l := range r.lines {
		l.CaughtUp("", true)
	}
	r.want(r.turn(), "")
	return r, a, b
}

// isAsked says whether a look is asked for.
func isAsked(l *pump.Line) bool {
	select {
	case <-l.Asked():
		return true
	default:
		return false
	}
}

// M26: two sources that have caught up grow one by one. What came to b before something later came to a is taken
// in before it, although b is found to have it only when it is looked at.
func TestM26WhoHasCaughtUpLooksAgain(t *testing.T) {
	t.Parallel()
	r, a, b := newPair(t)
	early := b.Look() // begins before a's event is there, and finds nothing
	r.giveTo(a, "", 1, 20)
	r.giveTo(a, "", 2, 40)
	r.want(r.turn(), "")
	if !isAsked(b) || isAsked(a) {
		t.Fatal("who has nothing is asked, once, and nobody else")
	}
	b.CaughtUp("", true)
	b.Looked(early)
	r.want(r.turn(), "") // of what has come since nobody knows
	look := b.Look()
	r.giveTo(b, "", 1, 10)
	r.want(r.turn(), "") // what else the look has found is not known
	r.giveTo(b, "", 2, 30)
	r.want(r.turn(), "[null,1] [1,1]")
	b.Looked(look)
	r.want(r.turn(), "[1,2]")
	if !isAsked(a) || isAsked(b) {
		t.Error("not who has nothing is asked")
	}
	a.Looked(a.Look())
	r.want(r.turn(), "[2,2]")
}

// M26: who does not answer is waited for as long as anybody who is behind, however much the others have;
// who has nothing to look at answers too, and who has ended is not asked.
func TestM26WhoDoesNotLook(t *testing.T) {
	t.Parallel()
	idle := int64(flow.DefaultIdle)
	for name, c := range map[string]struct {
		does func(r *rig, b *pump.Line)
		want string
	}{
		"silent": {func(r *rig, _ *pump.Line) {
			for range 9 {
				r.mono += idle / 10
				r.want(r.turn(), "")
				r.give("", 2, 30)
			}
			r.mono += idle/10 - 1
			r.want(r.turn(), "")
			r.mono++
		}, "[1,null]" + strings.Repeat(" [2,null]", 9)},
		"disconnected": {func(_ *rig, b *pump.Line) {
			b.Health(accumulator.Disconnected, "")
			b.Looked(b.Look())
		}, "[1,null]"},
		"disconnected, and has not looked": {func(_ *rig, b *pump.Line) { b.Health(accumulator.Disconnected, "") }, ""},
		"left":                             {func(r *rig, _ *pump.Line) { r.flow.Leave(1) }, "[1,null]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, a, b := newPair(t)
			r.giveTo(a, "", 1, 20)
			r.want(r.turn(), "")
			c.does(r, b)
			r.want(r.turn(), c.want)
		})
	}
}
