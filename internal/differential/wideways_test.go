package differential

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/engine"
	"github.com/graphd/graphd/internal/job"
	"github.com/graphd/graphd/internal/scenario"
	"github.com/graphd/graphd/internal/sink/stdout"
	"github.com/graphd/graphd/internal/source/file"
)

// spoken is what a graph has said in one of the ways: by output the values with their epochs and keys, and the
// books of each input.
type spoken struct {
	outputs map[string][]string
	books   map[string]books
	stats   job.Stats
	letters int64 // of events and of nodes
	gone    gone
	counted bool // gone is what others have to come to
	// torn are the instants of which something was turned away and came again.
	torn []int
	// like is what it is compared with, where that is not a run.
	like *spoken
	// shared is what of the books is the same for every number of shards; nil: all.
	shared func(*spoken) *spoken
}

// sameBooks reports whether the books are as they should be.
func (s *spoken) sameBooks(want *spoken) bool {
	if want.counted && (s.gone.evicted != want.gone.evicted || s.gone.overflowed != want.gone.overflowed) {
		return false
	}
	if want.shared != nil {
		return maps.Equal(want.shared(s).books, want.shared(want).books)
	}
	return maps.Equal(s.books, want.books)
}

// books are the counters of an input, in events. What is late counts as filtered, and what was refused at the door
// has been pushed in one way and pulled in another.
type books struct{ received, filtered, conflated, refused, consumed, queued int64 }

// gone is what a live graph has counted of keys, and of events that came too late since it started.
type gone struct{ evicted, overflowed, late int64 }

// goneOf is what a summary says of that.
func goneOf(sum *api.GraphSummary) (g gone) {
	if sum.Keys != nil {
		g.evicted, g.overflowed = sum.Keys.Evicted, sum.Keys.Overflowed
	}
	for i := range sum.Accumulators {
		g.late += sum.Accumulators[i].Late
	}
	return g
}

// values reads lines of stdout or of a file, each once: what follows a checkpoint is said again after a crash.
func (s *spoken) values(lines []byte) error {
	seen := map[string]bool{}
	for line := range bytes.Lines(lines) {
		var v struct {
			Epoch      int64
			Output     string
			Key, Value json.RawMessage
			Ready      bool
		}
		if err := json.Unmarshal(line, &v); err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
		if v.Ready {
			continue
		}
		text := fmt.Sprintf("%d %s %s %s", v.Epoch, v.Output, v.Key, v.Value)
		if !seen[text] {
			seen[text] = true
			s.outputs[v.Output] = append(s.outputs[v.Output], text)
		}
	}
	return nil
}

// files reads what outputs have written to files in dir. Of a process that was killed the beginning of a line may
// stand there: the next life has ended it, and written the value again.
func (s *spoken) files(dir string, killed bool) error {
	paths, err := filepath.Glob(filepath.Join(dir, "*.out"))
	for _, path := range paths {
		data, failed := os.ReadFile(path)
		if killed {
			data = wholeLines(data)
		}
		if failed == nil {
			failed = s.values(data)
		}
		if failed != nil {
			return failed
		}
	}
	return err
}

func wholeLines(data []byte) (whole []byte) {
	for line := range bytes.Lines(data) {
		if json.Valid(line) {
			whole = append(whole, line...)
		}
	}
	return whole
}

func booksOf(c *api.Counters) books {
	return books{c.Received, c.Filtered, c.Conflated, c.DeadLettered + c.Rejected, c.Consumed, c.Queued}
}

func newSpoken() *spoken { return &spoken{outputs: map[string][]string{}, books: map[string]books{}} }

// differs says what the first difference is; "" when there is none.
func (s *spoken) differs(want *spoken) string {
	var names []string
	for name := range keysOf(s.outputs) {
		names = append(names, name)
	}
	for name := range keysOf(want.outputs) {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		got, want := s.outputs[name], want.outputs[name]
		for i := range max(len(got), len(want)) {
			switch {
			case i >= len(got):
				return fmt.Sprintf("%s: %d values, want %d; the next is\n%s", name, len(got), len(want), want[i])
			case i >= len(want):
				return fmt.Sprintf("%s: %d values, want %d; one too many is\n%s", name, len(got), len(want), got[i])
			case got[i] != want[i]:
				return fmt.Sprintf("%s: value %d\n got %s\nwant %s", name, i, got[i], want[i])
			}
		}
	}
	return s.differsInBooks(want)
}

func (s *spoken) differsInBooks(want *spoken) string {
	for _, name := range slices.Sorted(keysOf(want.books)) {
		if got, want := s.books[name], want.books[name]; got != want {
			return fmt.Sprintf("books of %s:\n got %+v\nwant %+v", name, got, want)
		}
	}
	return ""
}

// run is what a bounded run says, which leaves at its end what is not complete.
func (w *wide) run(t *testing.T, doc tree) (*spoken, error) {
	u, err := w.compile(doc)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	to := stdout.NewOutput(&out)
	cfg := job.Config{Unit: u, Inputs: make([]job.Reader, len(u.Spec.Accumulators)), NoFlush: true}
	for i, a := range u.Spec.Accumulators {
		for _, in := range w.inputs {
			if in.name != a.Name {
				continue
			}
			if cfg.Inputs[i], err = file.NewReader(in.file(), file.ReaderConfig{Format: "ndjson"}); err != nil {
				return nil, err
			}
		}
	}
	for range u.Spec.Outputs {
		cfg.Sinks = append(cfg.Sinks, to.Sink())
	}
	s := newSpoken()
	cfg.DeadLetter = func(job.Letter) error {
		s.letters++
		return nil
	}
	if s.stats, err = job.Run(t.Context(), cfg); err != nil {
		return nil, err
	}
	for _, in := range s.stats.Inputs {
		s.books[in.Name] = books{in.Received, in.Filtered, in.Conflated, in.DeadLettered + in.Rejected,
			in.Consumed, in.Queued}
	}
	return s, s.values(out.Bytes())
}

func (in *wideInput) file() io.Reader {
	var b strings.Builder
	for _, l := range in.lines {
		b.WriteString(l.text + "\n")
	}
	return strings.NewReader(b.String())
}

// tested runs the declaration's test that pushes what the run has read, instant by instant, and expects of it what
// the run has said. The answer is what failed.
func (w *wide) tested(t *testing.T, doc tree, want *spoken) (string, error) {
	u, err := w.compile(doc)
	if err != nil {
		return "", err
	}
	instants := w.instants()
	if w.arrival {
		instants = w.turns()
	}
	var steps []any
	for i, at := range instants {
		if w.arrival && i > 0 {
			steps = append(steps, tree{"advance": "1ms"})
		}
		push := tree{}
		for i, name := range at.inputs {
			var events []json.RawMessage
			for _, e := range at.events[i] {
				events = append(events, json.RawMessage(e))
			}
			push[name] = events
		}
		steps = append(steps, tree{"push": push})
	}
	expect := tree{"epochs": want.stats.Epochs, "failed_epochs": want.stats.Failed,
		"dead_letters": want.letters, "late": want.stats.LateDropped}
	outs, _ := doc["outputs"].(tree)
	for name := range outs {
		values := []json.RawMessage{}
		for _, line := range want.outputs[name] {
			parts := strings.SplitN(line, " ", 3)
			values = append(values, valueOf(parts[2]))
		}
		expect[name] = values
	}
	steps = append(steps, tree{"expect": expect})
	cases := []any{tree{"name": "drawn", "steps": steps}}
	d, err := scenario.Parse(text(tree{"graph": "random", "cases": cases}), "t.json")
	if err != nil {
		return "", err
	}
	outcomes, err := scenario.Run(t.Context(), u, d)
	if err != nil {
		return "", err
	}
	return strings.Join(outcomes[0].Failures, "\n"), nil
}

// valueOf is the value behind the key.
func valueOf(keyAndValue string) json.RawMessage {
	d := json.NewDecoder(strings.NewReader(keyAndValue))
	var key, value json.RawMessage
	if err := d.Decode(&key); err == nil {
		err = d.Decode(&value)
		if err == nil {
			return value
		}
	}
	panic(keyAndValue)
}

// append writes lines to the file of an input in dir.
func (in *wideInput) append(dir string, lines ...string) error {
	f, err := os.OpenFile(filepath.Join(dir, in.name+".ndjson"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strings.Join(append(lines, ""), "\n"))
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

func (w *wide) input(name string) *wideInput {
	for _, in := range w.inputs {
		if in.name == name {
			return in
		}
	}
	return nil
}

// life is one life of a live graph.
type life struct {
	t     *testing.T
	e     *engine.Engine
	store *mortal
	ref   api.Ref // of the graph that is asked for
}

var wideRef = api.Ref{Tenant: "default", Name: "random"}

// begin starts a graph over the store. While it is gone on from, a dead store is no error.
func begin(t *testing.T, store *mortal, doc string, out *safeBuffer) (*life, error) {
	return beginAs(t, wideRef, store, doc, out)
}

// beginAs is that for a graph of another name.
func beginAs(t *testing.T, ref api.Ref, store *mortal, doc string, out *safeBuffer) (*life, error) {
	l, to := &life{t: t, store: store, ref: ref}, stdout.NewOutput(out)
	l.e = engine.New(engine.Config{
		Store: store, Log: slog.New(slog.DiscardHandler), ShutdownTimeout: patience,
		Kinds: &builtin.Kinds{Stdout: to, Sinks: lines(to)},
	})
	if err := l.e.Open(t.Context()); err != nil {
		return l, err
	}
	_, err := l.e.Apply(t.Context(), ref, []byte(doc), api.Change{})
	return l, err
}

// comes waits until the graph has taken in so many events and the books are as they should be, or the store has
// died. A graph that has just been gone on from has taken them in and not yet fired; the books of one that is
// wrong stay wrong.
func (l *life) comes(events int64, s, want *spoken) (died bool, err error) {
	deadline, right, still := time.Now().Add(patience), time.Time{}, standstill{}
	for {
		if l.died() {
			return true, nil
		}
		time.Sleep(time.Millisecond)
		sum, err := l.e.Graph(l.t.Context(), l.ref)
		switch {
		case err != nil:
			return false, err
		case sum.HealthReason != nil && l.store.sharded && sum.HealthReason.Code == "crash_loop":
			// Three lives in which others have made the commits that the store has taken (M43).
			if _, err := l.e.Restart(l.t.Context(), l.ref, "", "test"); err != nil && !l.died() {
				return false, err
			}
		case sum.Health == "failed" || sum.Health == "halted":
			return false, fmt.Errorf("%s: %+v", sum.Health, sum.HealthReason)
		case time.Now().After(deadline) || sum.Counters.Received < events && still.lasts(&sum):
			return false, fmt.Errorf("%d of %d events in time: %+v", sum.Counters.Received, events, sum)
		case sum.Health != "live" || sum.Counters.Received < events:
			continue
		}
		for _, a := range sum.Accumulators {
			c := a.Counters
			s.books[a.Name] = booksOf(&c)
		}
		s.gone = goneOf(&sum)
		if right.IsZero() { // what an outbox holds is delivered once it is committed
			if right = time.Now().Add(settling); l.checkpoint() != nil {
				continue
			}
		}
		pending := slices.ContainsFunc(sum.Outputs, func(o api.OutputSummary) bool { return o.Pending > 0 })
		if !pending && (want == nil || s.sameBooks(want)) || time.Now().After(right) {
			return false, nil
		}
	}
}

func (l *life) checkpoint() error {
	_, err := l.e.Checkpoint(l.t.Context(), l.ref)
	return err
}

// settling is how long a graph has to fire what it has taken in.
const settling = 30 * time.Second

func (l *life) died() bool {
	select {
	case <-l.store.death:
		return true
	default:
		return false
	}
}

// end waits for all events and stops: what was said is complete then. want are the books to come to.
func (l *life) end(events int64, s, want *spoken) (died bool, err error) {
	if died, err := l.comes(events, s, want); died || err != nil {
		return died, err
	}
	err = l.e.Close()
	return l.died(), err
}
