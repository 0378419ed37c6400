package differential

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/builtin"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/engine"
	"github.com/graphd/graphd/internal/job"
	"github.com/graphd/graphd/internal/quota"
	"github.com/graphd/graphd/internal/sink/stdout"
	"github.com/graphd/graphd/internal/source/file"
)

// clockPlan is a random graph of several inputs that all declare the times of their events.
type clockPlan struct {
	r      *rand.Rand
	kinds  []string // by input
	lines  [][]timedLine
	doc    string // with FILE0, FILE1 … and FOLLOW in it
	keyed  bool
	sorted bool // each input is in the order of its times, and no two times are equal
	// letter, when given, hears of the dead letters of a run; last looks at a live graph at its end.
	letter func(job.Letter) error
	last   func(ctx context.Context, e *engine.Engine, ref api.Ref) error
	// outputs are those of the graph.
	outputs []string
	// quotas hold the graph back, or begun, which is called when it runs; nil for none.
	quotas *quota.Book
	begun  func(e *engine.Engine, ref api.Ref) error
}

// timedLine is one line of an input.
type timedLine struct {
	at   int64 // milliseconds
	text string
}

// over is the time of the last event of each input, long after every timer and window: what
// happens from then on is how the input ends, which is not the same everywhere.
const over = int64(10_000_000)

func newClockPlan(seed uint64, sorted bool) *clockPlan {
	p := &clockPlan{r: rand.New(rand.NewPCG(seed, 4711)), sorted: sorted, outputs: []string{"row", "times"}}
	r := p.r
	p.keyed = r.IntN(4) == 0
	p.fill(1 + r.IntN(3))
	p.doc = p.declare()
	return p
}

// fill makes the inputs and their lines.
func (p *clockPlan) fill(inputs int) {
	r, sorted := p.r, p.sorted
	used := map[int64]bool{}
	for i := range inputs {
		p.kinds = append(p.kinds, []string{"passthrough", "passthrough", "window", "batch", "state"}[r.IntN(5)])
		if p.keyed {
			p.kinds[i] = "passthrough"
		}
		at, lines := int64(r.IntN(2000)), []timedLine(nil)
		step := 1 + r.IntN(900)
		for range 20 + r.IntN(300) {
			at += int64(r.IntN(step))
			t := at
			if !sorted && r.IntN(8) == 0 {
				t = max(0, t-int64(r.IntN(3000)))
			}
			for sorted && used[t] {
				t++
			}
			if sorted {
				at = t
			}
			used[t] = true
			lines = append(lines, timedLine{t, fmt.Sprintf(`{"at":%d,"k":%q,"x":%d}`, zero.UnixMilli()+t,
				string(rune('a'+r.IntN(3))), r.IntN(20))})
		}
		end := over + int64(i)
		lines = append(lines, timedLine{end, fmt.Sprintf(`{"at":%d,"k":"a","x":0}`, zero.UnixMilli()+end)})
		p.lines = append(p.lines, lines)
	}
}

func (p *clockPlan) declare() string {
	r := p.r
	var b strings.Builder
	b.WriteString("graph: random\naccumulators:\n")
	names := []string{"a", "b", "c"}[:len(p.kinds)]
	for i, kind := range p.kinds {
		fmt.Fprintf(&b, "  %s:\n    source: { file: { path: FILE%d, follow: FOLLOW } }\n    time: event.at\n",
			names[i], i)
		fmt.Fprintf(&b, "    strategy: %s\n", []string{"latest", "sequential"}[r.IntN(2)])
		switch kind {
		case "window":
			fmt.Fprintf(&b, "    window: { tumbling: %dms, lateness: %dms, key: event.k, aggregate: %s }\n",
				500+r.IntN(5000), r.IntN(3000), "{ n: count(), s: sum(event.x) }")
		case "batch":
			fmt.Fprintf(&b, "    batch: { size: %d, interval: %dms }\n", 2+r.IntN(10), 200+r.IntN(3000))
		case "state":
			fmt.Fprintf(&b, "    state: { keep: %d }\n", 1+r.IntN(4))
		default:
			if p.keyed {
				b.WriteString("    emit: { x: event.x, k: event.k }\n")
			} else {
				b.WriteString("    emit: event.x\n")
			}
		}
	}
	var criteria []string
	criteria = append(criteria, "when: "+[]string{"any", "any", "all"}[r.IntN(3)])
	if p.keyed {
		criteria = append(criteria, "key: k")
		if r.IntN(2) == 0 {
			criteria = append(criteria, fmt.Sprintf("ttl: %dms", 1000+r.IntN(4000)))
		}
	}
	if r.IntN(3) == 0 {
		criteria = append(criteria, fmt.Sprintf("debounce: %dms", 50+r.IntN(600)))
	}
	if r.IntN(4) == 0 {
		criteria = append(criteria, fmt.Sprintf("rate_limit: %dms", 50+r.IntN(900)))
	}
	if r.IntN(5) == 0 {
		criteria = append(criteria, fmt.Sprintf("every: %dms", 100*(5+r.IntN(20))))
	}
	waits := strings.Join(criteria, " ")
	if r.IntN(3) == 0 && (strings.Contains(waits, "all") || strings.Contains(waits, "debounce")) {
		criteria = append(criteria, fmt.Sprintf("max_wait: %dms", 300+r.IntN(3000)))
	}
	fmt.Fprintf(&b, "reactor: { %s }\n", strings.Join(criteria, ", "))
	var all []string
	for _, n := range names {
		all = append(all, n+" ?? nil")
	}
	fmt.Fprintf(&b, "nodes:\n  row: { event: true, expr: '[now(), %s, cause()]' }\n", strings.Join(all, ", "))
	b.WriteString(`  times:
    event: true
    expr: '[now(), rolling_count(row, duration("2s")), dedupe(a ?? nil, duration("3s"))]'
outputs:
  row: { from: row, sink: { stdout: {} } }
  times: { from: times, sink: { stdout: {} } }
`)
	fmt.Fprintf(&b, "durability: { every_epochs: %d }\nhistory: { keep: 10 }\n", 1+r.IntN(20))
	return b.String()
}

// of is the declaration over files in dir.
func (p *clockPlan) at(dir string, follow bool) string {
	doc := strings.ReplaceAll(p.doc, "FOLLOW", fmt.Sprint(follow))
	for i := range p.lines {
		doc = strings.ReplaceAll(doc, fmt.Sprintf("FILE%d", i), fmt.Sprintf("%q", p.file(dir, i)))
	}
	return doc
}

func (p *clockPlan) file(dir string, i int) string {
	return filepath.Join(dir, fmt.Sprintf("in%d.ndjson", i))
}

// append writes lines of input i to its file.
func (p *clockPlan) append(t *testing.T, dir string, i int, lines ...timedLine) {
	t.Helper()
	f, err := os.OpenFile(p.file(dir, i), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, l := range lines {
		b.WriteString(l.text + "\n")
	}
	if _, err := f.Write(b.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// events is how many there are.
func (p *clockPlan) events() (n int64) {
	for _, l := range p.lines {
		n += int64(len(l))
	}
	return n
}

// run is what a bounded run says, up to the end of the inputs.
func (p *clockPlan) run(t *testing.T, dir string) []string {
	t.Helper()
	u, diags := (&builtin.Kinds{}).Parse([]byte(p.at(dir, false)), "random.yaml")
	if err := diags.Err(); err != nil {
		t.Fatalf("%v\n%s", err, p.doc)
	}
	var inputs []job.Reader
	for i := range p.lines {
		var b strings.Builder
		for _, l := range p.lines[i] {
			b.WriteString(l.text + "\n")
		}
		in, err := file.NewReader(strings.NewReader(b.String()), file.ReaderConfig{Format: "ndjson"})
		if err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, in)
	}
	var out bytes.Buffer
	to := stdout.NewOutput(&out)
	inputs = append(inputs, make([]job.Reader, len(u.Programs)-len(inputs))...)
	cfg := job.Config{Unit: u, Inputs: inputs, DeadLetter: p.letter}
	for range p.outputs {
		cfg.Sinks = append(cfg.Sinks, to.Sink())
	}
	if _, err := job.Run(t.Context(), cfg); err != nil {
		t.Fatalf("%v\n%s", err, p.doc)
	}
	return untilOver(emitted(t, out.Bytes()))
}

// live runs the graph until it has read so many events of all inputs, or dies. feed is called when it runs.
func (p *clockPlan) live(t *testing.T, dir string, follow bool, store *mortal, out *safeBuffer, events int64,
	feed func()) (crashed bool) {
	t.Helper()
	e := engine.New(engine.Config{
		Store: store, Log: slog.New(slog.DiscardHandler), ShutdownTimeout: patience,
		Kinds: &builtin.Kinds{Stdout: stdout.NewOutput(out)}, Quotas: p.quotas,
	})
	defer func() { _ = e.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := e.Open(ctx); err != nil {
		t.Fatal(err)
	}
	ref := api.Ref{Tenant: "default", Name: "random"}
	if _, err := e.Apply(ctx, ref, []byte(p.at(dir, follow)), api.Change{}); err != nil {
		t.Fatal(err)
	}
	if feed != nil {
		feed()
	}
	if p.begun != nil {
		if err := p.begun(e, ref); err != nil {
			t.Fatal(err)
		}
	}
	var sum api.GraphSummary
	for {
		select {
		case <-store.death:
			return true
		case <-ctx.Done():
			t.Fatalf("the graph did not end in time: %+v\n%s", sum, p.doc)
		case <-time.After(time.Millisecond):
		}
		var err error
		if sum, err = e.Graph(ctx, ref); err != nil && ctx.Err() == nil {
			t.Fatal(err)
		}
		var read int64
		for _, a := range sum.Accumulators {
			c := a.Counters
			if a.From == "" {
				read += c.Received
			}
			if c.Received != c.Filtered+c.Conflated+c.DeadLettered+c.Consumed+c.Queued {
				t.Fatalf("books of %s %+v\n%s", a.Name, c, p.doc)
			}
		}
		if read < events {
			continue
		}
		if _, err := e.Checkpoint(ctx, ref); err != nil {
			<-store.death
			return true
		}
		if c := sum.Counters; c.Received != c.Filtered+c.Conflated+c.DeadLettered+c.Consumed+c.Queued {
			t.Errorf("books %+v\n%s", c, p.doc)
		}
		if p.last != nil {
			if err := p.last(ctx, e, ref); err != nil {
				t.Error(err)
			}
		}
		return false
	}
}

// catchesUp compares what a graph says that has all of its files to catch up with, and in every other seed goes down
// at random points, with what a run says. It tells how often the graph went down.
func (p *clockPlan) catchesUp(t *testing.T, dir string, seed uint64, want []string) (crashes int) {
	t.Helper()
	store, out := memstore.NewSeeded(seed), &safeBuffer{}
	defer store.Close()
	for life := int64(0); ; life++ {
		m := &mortal{Store: store, death: make(chan struct{})}
		if m.left.Store(1 << 40); seed%2 == 1 { // every other graph lives once
			m.left.Store(1 + life/4)
		}
		if !p.live(t, dir, seed%3 == 0, m, out, p.events(), nil) {
			break
		}
		if crashes++; life > 500 || t.Failed() {
			t.Fatal("the graph does not get through its input")
		}
	}
	p.check(t, "catching up", out, want)
	return crashes
}

// M26: what a bounded run answers, a live graph answers that has all of it to catch up with, and
// across crashes at random points.
func TestM26CatchUpEqualsRun(t *testing.T) {
	t.Parallel()
	crashes := 0
	seeds(t, 150, func(t *testing.T, seed uint64) {
		p, dir := newClockPlan(seed, false), t.TempDir()
		for i := range p.lines {
			p.append(t, dir, i, p.lines[i]...)
		}
		want := p.run(t, dir)
		crashes += p.catchesUp(t, dir, seed, want)
	})
	t.Logf("%d crashes", crashes)
}

// M26: what a bounded run answers, a live graph answers that gets its events one by one as they
// happen, goes down now and then, and catches up with what has happened meanwhile.
func TestM26EveryPaceEqualsRun(t *testing.T) {
	t.Parallel()
	seeds(t, 40, func(t *testing.T, seed uint64) {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(zero.AddDate(0, 1, 0).Sub(time.Now())) // the events are of the past
			p := newClockPlan(seed, true)
			p.paced(t, seed)
		})
	})
}

// paced runs the graph over events that come one by one.
func (p *clockPlan) paced(t *testing.T, seed uint64) {
	t.Helper()
	dir := t.TempDir()
	want := p.run(t, dir)
	all := p.merged()
	store, out := memstore.NewSeeded(seed), &safeBuffer{}
	defer store.Close()
	for i := range p.lines {
		p.append(t, dir, i)
	}
	for done := 0; done < len(all); {
		missed := p.r.IntN(20)
		for range min(missed, len(all)-done) {
			p.append(t, dir, all[done].input, all[done].timedLine)
			done++
		}
		m := &mortal{Store: store, death: make(chan struct{})}
		m.left.Store(1 << 40)
		paced := min(p.r.IntN(120), len(all)-done)
		p.live(t, dir, true, m, out, int64(done+paced), func() {
			time.Sleep(time.Second)
			for range paced {
				p.append(t, dir, all[done].input, all[done].timedLine)
				done++
				time.Sleep(300 * time.Millisecond) // longer than a file is not looked at
			}
		})
	}
	p.check(t, "as it happens", out, want)
}
