package reactor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/window"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/graph"
	"github.com/graphd/graphd/internal/node/nodetest"
	"github.com/graphd/graphd/internal/spec"
)

// epochZero is where tests' engine time starts.
var epochZero = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// rig drives a Core by hand, under virtual time.
type rig struct {
	t    *testing.T
	c    *Core
	now  time.Time
	sent map[string]int64 // events handed over, per input: received
}

// option changes the configuration of a rig before its core is made.
type option func(*Config)

// newRig compiles a declaration and starts a core on it: every accumulator is healthy.
func newRig(t *testing.T, doc string, opts ...option) *rig {
	t.Helper()
	r := &rig{t: t, now: epochZero, sent: map[string]int64{}}
	r.c = NewCore(testConfig(t, doc, opts...))
	r.start()
	return r
}

func (r *rig) start() {
	r.c.Start(r.now)
	for i := range r.c.cfg.Inputs {
		r.c.SetHealth(r.now, i, accumulator.SocketOnly, "", "")
	}
}

// testKinds are what the tests' declarations can name.
func testKinds() spec.Kinds {
	kinds := nodetest.Kinds()
	kinds.Accumulators = append(kinds.Accumulators, window.Kind())
	return kinds
}

func testConfig(t testing.TB, doc string, opts ...option) Config {
	t.Helper()
	g, diags := spec.Parse([]byte(doc), testKinds(), spec.Options{})
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	var inputs []graph.Input
	cfg := Config{
		ID: checkpoint.ID{
			Tenant: "default", Graph: g.Name,
		}, Instance: uuid.MustParse("6ba7b810-9dad-11d1-80b4-00c04fd430c8"),
		Incarnation: 1, Fence: 1, All: g.Reactor.When == "all", Guard: !g.Reactor.Guard.IsZero(),
		RateLimit: g.Reactor.RateLimit,
		Debounce:  g.Reactor.Debounce, Every: g.Reactor.Every, MaxWait: g.Reactor.MaxWait,
		WarmTimeout: g.Reactor.WarmTimeout, FailCold: g.Reactor.OnWarmTimeout == "fail",
		HaltOnFailure: g.Durability.OnFailure == "halt", KeepFirings: 1000, PlanHash: g.Hash,
	}
	for i := range g.Accumulators {
		a := &g.Accumulators[i]
		inputs = append(inputs, graph.Input{Name: a.Name, Type: expression.Any(), Event: a.Strategy != "latest"})
		in := Input{Name: a.Name, Triggers: a.Triggers(g.Reactor), Sequential: a.Strategy == "sequential",
			Burst: a.Strategy == "burst", Identity: a.Kind}
		if a.SyncGroup != "" {
			in.Group = 1 + int(a.SyncGroup[0])
		}
		if a.HasDefault {
			in.Default = value(t, a.Default)
		}
		cfg.Inputs = append(cfg.Inputs, in)
	}
	plan, diags := graph.Compile(g, inputs, nodetest.Nodes())
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	cfg.Plan = plan
	for i := range g.Outputs {
		cfg.Outputs = append(cfg.Outputs, g.Outputs[i].Name)
	}
	for _, o := range opts {
		o(&cfg)
	}
	return cfg
}

func value(t testing.TB, x any) boundary.Value {
	t.Helper()
	v, err := boundary.FromAny(x)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (r *rig) input(name string) int {
	for i, in := range r.c.cfg.Inputs {
		if in.Name == name {
			return i
		}
	}
	r.t.Fatalf("no input %q", name)
	return -1
}

// push hands over one boundary of one event for each value.
func (r *rig) push(name string, values ...any) {
	r.t.Helper()
	h := &accumulator.Handoff{}
	for _, x := range values {
		r.sent[name]++
		pos := boundary.Position{Stream: name, Offset: r.sent[name]}
		v := value(r.t, x)
		h.Boundaries = append(h.Boundaries, boundary.Boundary{
			Value: v, First: pos, Last: pos, At: r.now, Events: 1, Size: v.Size(), Raw: v.AppendJSON(nil),
		})
	}
	h.Mark = accumulator.Mark{
		Positions:   []boundary.Position{{Stream: name, Offset: r.sent[name]}},
		Counters:    accumulator.Counters{Received: r.sent[name]},
		LastEventAt: r.now,
	}
	r.c.Admit(r.now, r.input(name), h, 0)
}

func (r *rig) advance(d time.Duration) { r.now = r.now.Add(d) }

// fire runs what is due until nothing is, and tells what was released as "output=value@epoch".
func (r *rig) fire() string {
	r.t.Helper()
	r.c.Tick(r.now)
	for n := 0; r.c.Fire(r.now); n++ {
		if n > 10_000 {
			r.t.Fatal("the core never comes to rest")
		}
	}
	return r.released()
}

// fireOnce runs at most one epoch.
func (r *rig) fireOnce() string {
	r.c.Fire(r.now)
	return r.released()
}

func (r *rig) released() string {
	var parts []string
	for _, m := range r.c.Released() {
		parts = append(parts, fmt.Sprintf("%s=%s@%d", m.Output, m.Value, m.Epoch))
	}
	r.c.ResetReleased()
	r.balanced()
	return strings.Join(parts, " ")
}

// balanced checks the books of every input (M42).
func (r *rig) balanced() {
	r.t.Helper()
	for i, in := range r.c.Look().Inputs {
		b := in.Books
		if sum := b.Filtered + b.Conflated + b.Rejected + b.DeadLettered + b.Consumed + b.Queued; b.Received != sum {
			r.t.Fatalf("books of %s: received %d, accounted for %d: %+v", r.c.cfg.Inputs[i].Name, b.Received, sum, b)
		}
	}
}

func (r *rig) books(name string) Books { return r.c.Books(r.input(name)) }

func (r *rig) last() *Record { return r.c.ring.at(r.c.ring.total - 1) }

func (r *rig) want(got, want string) {
	r.t.Helper()
	if got != want {
		r.t.Fatalf("got %q, want %q", got, want)
	}
}

// reload seals the core, and restores a new incarnation from the seal's cells, as a crash
// right after the commit would.
func (r *rig) reload(cells map[string]checkpoint.Cell, opts ...option) {
	r.t.Helper()
	s := r.c.Seal(r.now)
	c := s.Commit()
	r.c.Sealed(s, nil)
	applyCells(cells, c)
	cfg := r.c.cfg
	cfg.Incarnation++
	cfg.Fence++
	for _, o := range opts {
		o(&cfg)
	}
	r.c = NewCore(cfg)
	if _, err := r.c.Restore(checkpoint.Head{Epoch: c.Epoch, Meta: c.Meta}, listCells(cells)); err != nil {
		r.t.Fatal(err)
	}
}

func applyCells(to map[string]checkpoint.Cell, c *checkpoint.Commit) {
	for _, cell := range c.Cells {
		name := cell.Kind + "|" + cell.Name + "|" + cell.Key
		if cell.Data == nil {
			delete(to, name)
		} else {
			to[name] = cell
		}
	}
}

func listCells(cells map[string]checkpoint.Cell) []checkpoint.Cell {
	var list []checkpoint.Cell
	for _, c := range cells {
		list = append(list, c)
	}
	return list
}

// graphOf is a declaration of inputs a, b, … with a reactor and nodes given as YAML.
func graphOf(accumulators, reactor, rest string) string {
	return "graph: g\naccumulators:\n" + accumulators + "reactor: " + reactor + "\n" + rest
}

// stateOf is the state of an unkeyed core.
func stateOf(c *Core) State {
	st, err := c.GetState("")
	if err != nil {
		panic(err)
	}
	return st
}
