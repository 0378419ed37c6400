package flow_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/live/flow"
	"github.com/graphd/graphd/internal/reactor"
)

const oneInput = `graph: g
accumulators:
  a: { source: { file: { path: in.ndjson } }, time: event.at, strategy: sequential }
nodes:
  n: { expr: a.n }
outputs:
  out: { from: n, sink: { drop: {} } }
`

// rig is a flow, with room for so many boundaries in front of the core.
type rig struct {
	t     *testing.T
	core  *reactor.Core
	flow  *flow.Flow
	lines []*pump.Line
	boxes []*pump.Mailbox
	line  *pump.Line // the first
	room  int
	mono  int64
}

func newRig(t *testing.T, declaration string, room int) *rig {
	t.Helper()
	return newRigOf(t, declaration, room, nil, nil)
}

// newRigOf is that with another clock of the core, nil for none.
func newRigOf(t *testing.T, declaration string, room int, mono func() int64, more func(c *reactor.Config)) *rig {
	t.Helper()
	u, diags := (&builtin.Kinds{}).Parse([]byte(declaration), "g.yaml")
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	cfg := u.Reactor()
	if cfg.Mono = mono; more != nil {
		more(&cfg)
	}
	r := &rig{t: t, core: reactor.NewCore(cfg), room: room, mono: 1}
	now := func() time.Time { return time.Unix(1000, 0) }
	r.flow = flow.New(flow.Config{Core: r.core, Host: r, Lanes: r, Wake: func() {}, Now: now,
		Mono: func() int64 { return r.mono }})
	r.core.Start(r.flow.Time())
	for i, program := range u.Programs {
		if u.Spec.Accumulators[i].Fed() {
			continue
		}
		dater := func() *accumulator.Dater { return accumulator.NewDater(program, accumulator.Limits{}) }
		core := accumulator.NewCore(program, accumulator.Limits{})
		cfg := pump.LineConfig{Name: program.Name(), Core: core, Mailbox: pump.NewMailbox(0, 0), Dater: dater,
			Port: port{}, Now: now}
		if strings.Contains(declaration, "source:") {
			cfg.Source = source{}
		}
		line := pump.NewLine(cfg)
		r.lines, r.boxes = append(r.lines, line), append(r.boxes, cfg.Mailbox)
		r.flow.Enter(i, line)
		r.core.SetHealth(r.flow.Time(), i, accumulator.Live, "", "")
	}
	r.line = r.lines[0]
	return r
}

// give gives one event of a stream of the first input.
func (r *rig) give(stream string, offset, at int64) {
	r.t.Helper()
	r.giveTo(r.line, stream, offset, at)
}

func (r *rig) giveTo(line *pump.Line, stream string, offset, at int64) {
	r.t.Helper()
	if err := line.Emit(r.t.Context(), []boundary.Event{{
		Raw: fmt.Appendf(nil, `{"at":%d,"n":%d}`, at, offset), Pos: boundary.Position{Stream: stream, Offset: offset},
	}}); err != nil {
		r.t.Fatal(err)
	}
}

// turn goes as far as it goes, and tells what was put out.
func (r *rig) turn() string {
	for done := true; done; {
		came := r.flow.Admit()
		done, _, _ = r.flow.Turn(time.Unix(1000, 0))
		done = done || came
	}
	var out []string
	for _, m := range r.core.Released() {
		out = append(out, m.Value.String())
	}
	r.core.ResetReleased()
	return strings.Join(out, " ")
}

func (r *rig) want(got, want string) {
	r.t.Helper()
	if got != want {
		r.t.Fatalf("put out %q, want %q", got, want)
	}
}

// M4, M26: what has no room holds up nobody, itself among them. An instant that comes to more than there is
// room for, of a partition that has more to come, is not waited for in vain: what is there fires, and makes room.
func TestM4AnInstantOfMoreThanThereIsRoomFor(t *testing.T) {
	t.Parallel()
	r := newRig(t, oneInput, 2)
	r.line.CaughtUp("", true)
	r.line.CaughtUp("0", false)
	r.give("0", 1, 10)
	r.give("0", 2, 10)
	r.want(r.turn(), "") // more of the instant may come
	r.flow.Settle()      // as a checkpoint does
	r.give("0", 3, 10)
	r.want(r.turn(), "1 2")
	r.line.CaughtUp("0", true)
	r.want(r.turn(), "3")
}

// M4: while as much waits of a join as it has room for its sides wait, however much room these have: an event may have
// many partners. Once it is taken they go on, and no pair is missing.
func TestM4SidesOfAFullJoinWait(t *testing.T) {
	t.Parallel()
	r := newRig(t, `graph: g
accumulators:
  a: { source: { file: { path: in.ndjson } }, time: event.at }
  b: { source: { file: { path: in.ndjson } }, time: event.at }
  j: { join: { left: a, right: b, on: n * 0, within: 1h }, capacity: 3 }
nodes: { n: { expr: '[j.left.n, j.right.n]' } }
outputs: { out: { from: n, sink: { drop: {} } } }
`, 1000)
	a, b := r.lines[0], r.lines[1]
	for _, l := range r.lines {
		l.CaughtUp("", true)
	}
	r.want(r.turn(), "")
	give := func(line, other *pump.Line, offset, at int64) {
		r.giveTo(line, "", offset, at)
		r.turn()
		other.Looked(other.Look())
	}
	give(a, b, 1, 10)
	give(a, b, 2, 10)
	r.want(r.turn(), "")
	r.core.Pause(r.flow.Time(), "ann")
	for n := range int64(5) {
		give(b, a, n+1, 20+n)
		r.want(r.turn(), "")
	}
	if n := r.core.Queued(2); n != 4 { // the pairs of two events: at two it was not full yet
		t.Errorf("%d pairs wait", n)
	}
	r.core.Resume(r.flow.Time())
	r.flow.Stir()
	r.want(r.turn(), "[1,1] [2,1] [1,2] [2,2] [1,3] [2,3] [1,4] [2,4] [1,5] [2,5]")
}

// Grant implements [flow.Host].
func (r *rig) Grant(time.Time) int { return 100 }

// Open implements [flow.Host].
func (r *rig) Open() bool { return true }

// Called implements [flow.Host].
func (r *rig) Called() bool { return false }

// Deserted implements [flow.Host].
func (r *rig) Deserted() bool { return false }

// Roomy implements [flow.Lanes].
func (r *rig) Roomy(int) bool { return r.room > 0 }

// Took implements [flow.Lanes].
func (r *rig) Took(_ int, h *accumulator.Handoff) { r.room -= len(h.Boundaries) }

// Free implements [flow.Lanes].
func (r *rig) Free(_ int, freed reactor.Credit) { r.room += freed.Boundaries }

type port struct{}

// Put implements [accumulator.Port].
func (port) Put(context.Context, *accumulator.Handoff) error { return nil }

// Health implements [accumulator.Port].
func (port) Health(accumulator.Health, string, string) {}

// source is one that tells when it has caught up, and looks again when it is asked to. The test is it.
type source struct{}

// Follows implements [accumulator.Follower].
func (source) Follows() bool { return true }

// Looks implements [accumulator.Looker].
func (source) Looks() bool { return true }

// Run implements [accumulator.Source].
func (source) Run(context.Context, []boundary.Position, accumulator.Out) error { return nil }
