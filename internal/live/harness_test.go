package live

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor"
)

// epochZero is where tests' engine time starts.
var epochZero = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// rig drives a Core by hand, under virtual time.
type rig struct {
	t    *testing.T
	c    *reactor.Core
	now  time.Time
	sent map[string]int64 // events handed over, per input: received
}

// option changes the configuration of a rig before its core is made.
type option func(*reactor.Config)

// newRig starts a core on a declaration: every accumulator is healthy.
func newRig(t *testing.T, doc string, opts ...option) *rig {
	t.Helper()
	r := &rig{t: t, now: epochZero, sent: map[string]int64{}, c: reactor.NewCore(testConfig(t, doc, opts...))}
	r.c.Start(r.now)
	for i := range r.c.Config().Inputs {
		r.c.SetHealth(r.now, i, accumulator.SocketOnly, "", "")
	}
	return r
}

// testConfig is what the daemon makes of a declaration.
func testConfig(t testing.TB, doc string, opts ...option) reactor.Config {
	t.Helper()
	u, diags := (&builtin.Kinds{}).Parse([]byte(doc), "g.yaml")
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	cfg := u.Reactor()
	cfg.ID = checkpoint.ID{Tenant: checkpoint.DefaultTenant, Graph: u.Spec.Name}
	cfg.Instance = uuid.MustParse("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
	cfg.Incarnation, cfg.Fence = 1, 1
	for _, o := range opts {
		o(&cfg)
	}
	return cfg
}

func (r *rig) input(name string) int {
	for i, in := range r.c.Config().Inputs {
		if in.Name == name {
			return i
		}
	}
	r.t.Fatalf("no input %q", name)
	return -1
}

// push hands over one boundary of one event.
func (r *rig) push(name string, n int64) {
	r.sent[name]++
	pos := boundary.Position{Stream: name, Offset: r.sent[name]}
	r.c.Admit(r.now, r.input(name), &accumulator.Handoff{
		Boundaries: []boundary.Boundary{{Value: boundary.Int(n), First: pos, Last: pos, At: r.now, Events: 1, Size: 1}},
		Mark: accumulator.Mark{Positions: []boundary.Position{pos}, LastEventAt: r.now,
			Counters: accumulator.Counters{Received: r.sent[name]}},
	}, 0)
}

// fire runs what is due until nothing is, and tells what was released as "output=value@epoch". The
// books of every input balance then (M42).
func (r *rig) fire() string {
	r.t.Helper()
	r.c.Tick(r.now)
	for n := 0; r.c.Fire(r.now); n++ {
		if n > 10_000 {
			r.t.Fatal("the core never comes to rest")
		}
	}
	var parts []string
	for _, m := range r.c.Released() {
		parts = append(parts, fmt.Sprintf("%s=%s@%d", m.Output, m.Value, m.Epoch))
	}
	r.c.ResetReleased()
	for i, in := range r.c.Look().Inputs {
		b := in.Books
		if sum := b.Filtered + b.Conflated + b.Rejected + b.DeadLettered + b.Consumed + b.Queued; b.Received != sum {
			r.t.Fatalf("books of input %d: received %d, accounted for %d: %+v", i, b.Received, sum, b)
		}
	}
	return strings.Join(parts, " ")
}

func (r *rig) books(name string) reactor.Books { return r.c.Look().Inputs[r.input(name)].Books }

func (r *rig) want(got, want string) {
	r.t.Helper()
	if got != want {
		r.t.Fatalf("got %q, want %q", got, want)
	}
}

// graphOf is a declaration of inputs a, b, … with a reactor and nodes given as YAML.
func graphOf(accumulators, reactor, rest string) string {
	return "graph: g\naccumulators:\n" + accumulators + "reactor: " + reactor + "\n" + rest
}

const pair = `nodes:
  both: { expr: '[a ?? nil, b ?? nil]' }
outputs:
  out: { from: both, sink: { drop: {} } }
`

// keyed makes a reactor keyed.
func keyed(c *reactor.Config) {
	c.Keys = &reactor.Keys{
		Identity: "k", Times: []bool{false}, Max: 1000, MaxWaiting: 1000, MaxWaitingBytes: 1 << 30,
	}
}
