package virtual_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/virtual"
)

// start is the virtual time of the tests; some of them begin before 1970.
func start(r *rand.Rand) time.Time {
	if r.IntN(3) == 0 {
		return time.Unix(-20, 0).UTC()
	}
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
}

func pick(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }

// declare makes a random graph of the inputs a and b: kinds, strategies, groups, criteria with
// all their refinements, guards that are false now and then, nodes that remember, with and
// without keys.
func declare(r *rand.Rand) string {
	keyed, grouped := r.IntN(3) == 0, r.IntN(4) == 0
	var b strings.Builder
	b.WriteString("graph: random\naccumulators:\n")
	for _, name := range []string{"a", "b"} {
		fmt.Fprintf(&b, "  %s:\n", name)
		kind := r.IntN(6)
		switch {
		case kind == 0:
			key := pick(r, "", "      key: event.k\n")
			if keyed {
				key = "      key: event.k\n"
			}
			fmt.Fprintf(&b, "    time: event.at\n    window:\n      %s\n      lateness: 1s\n%s"+
				"%s%s      aggregate: { v: sum(event.v), n: count() }\n",
				pick(r, "tumbling: 3s", "hopping: { size: 4s, every: 2s }"), key,
				pick(r, "", "      idle: 1500ms\n", "      idle: 5s\n"), pick(r, "", "      early: 400ms\n",
					"      early: 2s\n"))
		case kind == 1 && !keyed:
			b.WriteString("    batch: { size: 3, interval: 2s }\n    emit: event.v\n")
		case kind == 2 && !keyed:
			b.WriteString("    state: { keep: 3 }\n    emit: event.v\n")
		default:
			b.WriteString("    emit: { k: event.k, v: event.v }\n")
		}
		switch {
		case grouped:
			fmt.Fprintf(&b, "    sync_group: g\n    strategy: %s\n", pick(r, "latest", "sequential"))
		case name == "b" && r.IntN(6) == 0:
			b.WriteString("    passive: true\n    strategy: latest\n")
		default:
			fmt.Fprintf(&b, "    strategy: %s\n", pick(r, "latest", "sequential", "sequential", "burst"))
		}
	}
	b.WriteString("reactor:\n  when: " + pick(r, "any", "all", "all") + "\n")
	if keyed {
		b.WriteString("  key: k\n" + pick(r, "", "  ttl: 7s\n", "  max_keys: 2\n") +
			pick(r, "", "  max_waiting: 1\n", "  max_waiting: 2\n", "  max_waiting_bytes: 900\n") +
			pick(r, "", "  on_evict: drop\n"))
	}
	b.WriteString(pick(r, "", "", "  guard: 'epoch() % 4 != 2'\n",
		"  guard: 'len(string(a ?? 0)) % 3 != 1'\n", "  guard: 'len(string(b)) % 3 != 1'\n",
		"  guard: 'a != nil and (fresh(a) or cause() != \"criteria\")'\n"))
	b.WriteString(pick(r, "", "  debounce: 700ms\n", "  rate_limit: 900ms\n"))
	b.WriteString(pick(r, "", "", "  every: 500ms\n", "  every: 2s\n"))
	b.WriteString(pick(r, "", "  max_wait: 1500ms\n", "  max_wait: 4s\n"))
	b.WriteString(`nodes:
  row: { event: ` + pick(r, "true", "false") + `, expr: '[epoch(), now(), a ?? nil, b ?? nil]' }
  why: { event: ` + pick(r, "true", "false") + `,
    expr: '[fresh(a), fresh(b), fresh(late), a == nil, b != nil, cause()]' }
  side: { route: { odd: a != nil and len(string(a)) % 2 == 1, new: fresh(b) } }
  next: { after: ` + pick(r, "side", "[side.odd, late]", "{ all: [side, why] }") + `, expr: 'why' }
  size: { expr: 'len(string(a ?? 0)) + len(string(b ?? 0))' }
  smooth: { expr: 'ema(size, 3)' }
  late: { expr: 'size % 11 == 7 ? 1 / 0 : lag(size)', on_error: ` + pick(r, "fail_epoch", "skip", "dead_letter") + ` }
outputs:
  rows: { from: row, sink: { drop: {} } }
  whys: { from: why, sink: { drop: {} } }
  nexts: { from: next, sink: { drop: {} } }
  smooths: { from: smooth, sink: { drop: {} }, emit: on_change }
  lates: { from: late, sink: { drop: {} } }
`)
	return b.String()
}

// step is one thing that happens to a graph.
type step struct {
	advance time.Duration
	input   int // -1: none
	raw     string
	pos     boundary.Position // of one stream that talks often and one that is silent for long
	command string
}

func script(r *rand.Rand, at time.Time) []step {
	var steps []step
	for range 30 + r.IntN(40) {
		s := step{advance: time.Duration(r.IntN(4)) * 300 * time.Millisecond, input: -1}
		at = at.Add(s.advance)
		switch r.IntN(14) {
		case 0:
			s.command = pick(r, "pause", "resume", "resume", "force", "show")
		case 1:
			s.advance += time.Duration(r.IntN(9)) * time.Second
			at = at.Add(s.advance)
		default:
			s.input = r.IntN(2)
			event := at.Add(-time.Duration(r.IntN(3)) * 800 * time.Millisecond)
			s.raw = fmt.Sprintf(`{"at":%d,"k":%q,"v":%d}`, event.UnixMilli(), pick(r, "p", "q", "r"), r.IntN(50))
			s.pos = boundary.Position{Stream: pick(r, "x", "x", "x", "x", "y"), Offset: int64(len(steps) + 1)}
			if r.IntN(25) == 0 {
				s.raw = `{"v":"odd"}`
			}
		}
		steps = append(steps, s)
	}
	return steps
}

// life plays a script on a graph and writes down what it releases; cut says before which steps
// it is sealed, thrown away and restored.
type life struct {
	t    *testing.T
	u    *compile.Unit
	g    *virtual.Graph
	what string
	out  strings.Builder
}

func (l *life) attach(g *virtual.Graph) {
	l.g = g
	g.Release = func(batch []sink.Message) error {
		for i := range batch {
			m := &batch[i]
			fmt.Fprintf(&l.out, "%d %s %s %s %s\n", m.Epoch, m.At.Format(time.RFC3339Nano), m.Key, m.Output, m.Value)
		}
		return nil
	}
}

func play(
	t *testing.T, text string, u *compile.Unit, at time.Time, steps []step, cut func(i int) bool,
) (string, uint64) {
	l := &life{t: t, u: u, what: text}
	l.attach(virtual.New(u, at, nil))
	for i, s := range steps {
		if cut(i) {
			l.restart()
		}
		l.must(l.g.AdvanceTo(l.g.Now().Add(s.advance)))
		if s.input >= 0 {
			l.g.Add(s.input, &boundary.Event{Raw: []byte(s.raw), Pos: s.pos}, true)
			l.must(l.g.Step())
		}
		if s.command != "" {
			l.must(l.g.Command(func(c *reactor.Core, now time.Time) error { return command(c, now, s.command) }))
		}
	}
	if cut(len(steps)) {
		l.restart()
	}
	l.must(l.g.Command(func(c *reactor.Core, now time.Time) error { return command(c, now, "resume") }))
	l.must(l.g.Close())
	for _, letter := range l.g.Letters() {
		fmt.Fprintf(&l.out, "letter %s %s %s %s\n", letter.ID, letter.Code, letter.Key, letter.Payload)
	}
	v := l.g.Core().Look()
	for i := range v.Inputs {
		b := v.Inputs[i].Books
		fmt.Fprintf(&l.out, "books %d: %+v\n", i, b)
		if sum := b.Filtered + b.Conflated + b.Rejected + b.DeadLettered + b.Consumed + b.Queued; sum != b.Received {
			t.Fatalf("books of input %d: %+v", i, b)
		}
	}
	fmt.Fprintf(&l.out, "%d epochs at %s\n", v.Epoch, l.g.Now().Format(time.RFC3339Nano))
	return l.out.String(), uint64(v.Epoch)
}

func command(c *reactor.Core, now time.Time, name string) error {
	switch name {
	case "pause":
		c.Pause(now, "test")
	case "resume":
		c.Resume(now)
	case "force", "show":
		if c.Keyed() && !c.HasKey(`"p"`) {
			return nil
		}
		_, err := c.ForceFire(now, `"p"`, name == "force")
		return err
	}
	return nil
}

func (l *life) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatalf("%v\n%s", err, l.what)
	}
}

// restart seals the graph and goes on with one restored from that; the one that was sealed
// is pushed on, to show that nothing of it is shared.
func (l *life) restart() {
	l.t.Helper()
	cp, err := l.g.Seal()
	l.must(err)
	old := l.g
	old.Release = func([]sink.Message) error { return nil }
	g, dropped, err := virtual.Restore(l.u, cp, nil)
	l.must(err)
	if len(dropped) > 0 {
		l.t.Fatalf("dropped %v", dropped)
	}
	l.attach(g)
	old.Add(0, &boundary.Event{Raw: []byte(`{"at":1767225601000,"k":"p","v":49}`)}, true)
	l.must(old.AdvanceTo(old.Now().Add(3 * time.Second)))
}

// M26, M28: a graph that is sealed at any points, thrown away and restored gives the same
// outputs to the byte, the same letters and the same books as one that lives on; and so does
// one without any optimisation. The timers of what waits are among what is kept.
func TestM28SealedGraphsGoOn(t *testing.T) {
	t.Parallel()
	many := uint64(800)
	if testing.Short() {
		many = 200
	}
	epochs, refused := uint64(0), 0
	for seed := range many {
		r := rand.New(rand.NewPCG(seed, 28))
		text, at := declare(r), start(r)
		steps := script(r, at)
		u, diags := (&builtin.Kinds{}).Parse([]byte(text), "random.yaml")
		if diags.Err() != nil {
			refused++
			continue
		}
		plain, _ := (&builtin.Kinds{Plain: true}).Parse([]byte(text), "random.yaml")
		fail := func(what, got, want string) {
			t.Helper()
			if got != want {
				t.Fatalf("seed %d, %s:\n%s\ngot\n%s\nwant\n%s", seed, what, text, differ(got, want), differ(want, got))
			}
		}
		never := func(int) bool { return false }
		want, n := play(t, text, u, at, steps, never)
		epochs += n
		got, _ := play(t, text, plain, at, steps, never)
		fail("plain", got, want)
		once := r.IntN(len(steps) + 1)
		got, _ = play(t, text, u, at, steps, func(i int) bool { return i == once })
		fail(fmt.Sprintf("cut before step %d", once), got, want)
		got, _ = play(t, text, u, at, steps, func(int) bool { return r.IntN(3) == 0 })
		fail("cut many times", got, want)
	}
	if epochs < 10*many || refused > int(many)/3 {
		t.Errorf("%d epochs, %d declarations refused: the test compares too little", epochs, refused)
	}
}

// differ is a from the first line on that b does not have there.
func differ(a, b string) string {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	from := strings.LastIndexByte(a[:i], '\n') + 1
	return a[from:min(len(a), from+600)]
}

// M28: a checkpoint is immutable: what is restored from it, and what it was taken of, go on
// without changing it, and two graphs restored from it do the same.
func TestM28ACheckpointIsImmutable(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 28))
	u, diags := (&builtin.Kinds{}).Parse([]byte(declare(r)), "random.yaml")
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	at := start(r)
	g := virtual.New(u, at, nil)
	for _, s := range script(r, at) {
		if err := g.AdvanceTo(g.Now().Add(s.advance)); err != nil {
			t.Fatal(err)
		}
		if s.input >= 0 {
			g.Add(s.input, &boundary.Event{Raw: []byte(s.raw)}, true)
		}
	}
	cp, err := g.Seal()
	if err != nil {
		t.Fatal(err)
	}
	before := fmt.Sprintf("%+v", cp)
	var outs [2]string
	for i := range outs {
		l := &life{t: t, u: u}
		restored, _, err := virtual.Restore(u, cp, nil)
		if err != nil {
			t.Fatal(err)
		}
		l.attach(restored)
		l.must(restored.AdvanceTo(restored.Now().Add(time.Minute)))
		l.must(restored.Close())
		outs[i] = l.out.String()
	}
	if outs[0] != outs[1] || fmt.Sprintf("%+v", cp) != before {
		t.Errorf("the checkpoint changed: %q, %q", outs[0], outs[1])
	}
	if cp.Head.Epoch == 0 || len(cp.Cells) == 0 {
		t.Errorf("the checkpoint is empty: %+v", cp.Head)
	}
}

// A declaration's durability is about a daemon's restarts: under virtual time nothing piles up
// for a journal that nobody takes, and a graph that keeps nothing can be sealed.
func TestDurabilityIsNotOfVirtualTime(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"none", "checkpoint", "journal"} {
		u, diags := (&builtin.Kinds{}).Parse([]byte("graph: g\naccumulators: { a: {} }\nnodes: { n: { expr: a } }\n"+
			"outputs: { o: { from: n, sink: { drop: {} } } }\ndurability: { mode: "+mode+" }\n"), "g.yaml")
		if err := diags.Err(); err != nil {
			t.Fatal(err)
		}
		g := virtual.New(u, start(rand.New(rand.NewPCG(1, 1))), nil)
		g.Add(0, &boundary.Event{Raw: []byte(`7`)}, true)
		if err := g.Quiesce(); err != nil {
			t.Fatal(err)
		}
		if g.Core().Logged() {
			t.Errorf("%s: a journal piles up", mode)
		}
		if cp, err := g.Seal(); err != nil || len(cp.Cells) == 0 {
			t.Errorf("%s: sealed %v, %v", mode, cp, err)
		}
	}
}

// M33: cells that cannot be read are an error, and not a graph that begins afresh.
func TestRestoreRefusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	u, diags := (&builtin.Kinds{}).Parse([]byte("graph: g\naccumulators: { a: { state: { keep: 2 } } }\n"+
		"nodes: { n: { expr: a } }\noutputs: { o: { from: n, sink: { drop: {} } } }\n"), "g.yaml")
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	g := virtual.New(u, start(rand.New(rand.NewPCG(1, 1))), nil)
	g.Add(0, &boundary.Event{Raw: []byte(`7`)}, true)
	cp, err := g.Seal()
	if err != nil {
		t.Fatal(err)
	}
	for i := range cp.Cells {
		broken := *cp
		broken.Cells = append([]checkpoint.Cell(nil), cp.Cells...)
		broken.Cells[i].Data = []byte{0xff}
		if _, _, err := virtual.Restore(u, &broken, nil); err == nil {
			t.Errorf("cell %s %s was cut and nobody said so", cp.Cells[i].Kind, cp.Cells[i].Name)
		}
	}
}
