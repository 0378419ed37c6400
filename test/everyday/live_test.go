package everyday

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/graphd/graphd/examples/everyday/gen"
)

// slowly is how much of the data comes where it comes slowly: in 6 seconds, at 100 times real time.
const slowly = 10 * time.Minute

// quiet is how long nothing happens until nobody waits any more for what is known to be wrong.
const quiet = 3 * time.Second

// What the relay of one task makes is not sent.
const (
	scoring = "scoring"
	scores  = "scores"
)

// A way is one of the ways in which a daemon gets the events of all tasks.
type way struct {
	name string
	// files: the events are in files that the graphs read; otherwise they are pushed.
	files bool
	// paced: they come one after the other as they were made, only faster; otherwise all are there at once.
	paced bool
	// slow: paced, at 100 times real time, as far as that goes in a few seconds.
	slow     bool
	shuffled bool
	// killed: the daemon is killed in the middle, and started again.
	killed bool
}

func ways() []way {
	return []way{
		{name: "catch-up", files: true},
		{name: "catch-up shuffled", files: true, shuffled: true},
		{name: "push", paced: true},
		{name: "push shuffled", paced: true, shuffled: true},
		{name: "catch-up killed", files: true, killed: true},
		{name: "followed killed", files: true, paced: true, killed: true},
		{name: "push killed", paced: true, killed: true},
		{name: "followed slow shuffled", files: true, paced: true, slow: true, shuffled: true},
		{name: "followed slow killed", files: true, paced: true, slow: true, killed: true},
		{name: "push slow killed", paced: true, slow: true, killed: true},
		{name: "push slow shuffled killed", paced: true, slow: true, shuffled: true, killed: true},
	}
}

// TestLive is M26 for whole daemons: what comes out is right, whatever the pace and the order are in which the events
// arrive, and whether the daemon was killed meanwhile.
func TestLive(t *testing.T) {
	for _, w := range ways() {
		if testing.Short() && (w.killed || w.shuffled) {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			live(t, w)
		})
	}
}

// tells says whether a task is told anything by this way: not by files that do not keep the order between inputs, and
// one that waits for a service is not killed while files are read, but between two of its pushes.
func (w way) tells(task gen.Task) bool {
	if task.InStep && w.files {
		return !w.shuffled
	}
	return task.Name != scoring || w.paced || !w.killed
}

// A feed is one task on its way into a daemon.
type feed struct {
	way
	task   gen.Task
	items  []gen.Item
	daemon *daemon
	dir    string
	// graphs are the inputs of each of the task's graphs.
	graphs map[string][]string
	// sent counts the events of each input.
	sent map[string]int
	// last are the counters that were seen last.
	last string
	half chan<- struct{}
}

func live(t *testing.T, w way) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute*time.Duration(max(1, size(t)/5000)))
	defer cancel()
	relay := newRelay(ctx, t)
	d := start(t, "GRAPHD_VAR_SCORER="+relay.url)
	relay.daemon = d
	n := size(t)
	if w.slow || w.killed && !w.files {
		n /= 4 // each push waits until it is durable
	}
	tasks := gen.All(n)
	half := make(chan struct{}, len(tasks))
	var feeds []*feed
	for _, task := range tasks {
		if !w.tells(task) {
			continue
		}
		if w.slow {
			task = task.First(slowly)
		}
		f := &feed{
			way: w, task: task, items: task.Items, daemon: d, dir: t.TempDir(), half: half,
			graphs: map[string][]string{}, sent: map[string]int{},
		}
		if w.shuffled {
			f.items = task.Shuffled()
		}
		f.items = slices.DeleteFunc(slices.Clone(f.items), func(it gen.Item) bool {
			return task.Name == scoring && it.Input == scores
		})
		f.prepare(t)
		f.declare(ctx, t)
		feeds = append(feeds, f)
		if w.killed && f.files && !f.paced {
			getOn(ctx, t, feeds)
		}
	}
	errs := make([]error, len(feeds))
	var all sync.WaitGroup
	for i, f := range feeds {
		all.Go(func() { errs[i] = f.run(ctx) })
	}
	if w.killed && w.paced {
		restart(ctx, d, half, len(feeds))
	}
	all.Wait()
	d.stop()
	for i, f := range feeds {
		t.Run(f.task.Name, func(t *testing.T) {
			if errs[i] != nil {
				t.Fatal(errs[i])
			}
			f.judge(t)
		})
	}
}

// restart kills the daemon between two pushes, once all feeds are half done, and starts it again.
func restart(ctx context.Context, d *daemon, half <-chan struct{}, feeds int) {
	for range feeds {
		select {
		case <-half:
		case <-ctx.Done():
			return
		}
	}
	d.restart()
}

// prepare makes the files that the graphs read: with all events, or empty ones that are to grow.
func (f *feed) prepare(t *testing.T) {
	t.Helper()
	if !f.files {
		return
	}
	paths, err := gen.Write(f.dir, f.items)
	for _, path := range paths {
		if err == nil && f.paced {
			err = os.Truncate(path, 0)
		}
	}
	for _, it := range f.items {
		if !f.paced {
			f.sent[it.Input]++
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// run sends the events and waits until the graphs have done with them.
func (f *feed) run(ctx context.Context) error {
	if f.paced {
		if err := f.send(ctx); err != nil {
			return err
		}
	}
	return f.settle(ctx)
}

// send sends the events at pace, those that are due together and go to one input in one piece.
func (f *feed) send(ctx context.Context) error {
	begin, pace := time.Now(), f.pace()
	due := func(it gen.Item) time.Duration {
		if it.Key == gen.End {
			return 0 // with what was before it
		}
		return time.Duration(float64(time.Duration(it.At-f.items[0].At)*time.Millisecond) / pace)
	}
	halfway := len(f.items) / 2
	for i := 0; i < len(f.items); {
		first := f.items[i]
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(due(first) - time.Since(begin)):
		}
		n, now := 1, time.Since(begin)
		for i+n < len(f.items) && f.items[i+n].Input == first.Input && due(f.items[i+n]) <= now {
			n++
		}
		if err := f.hand(ctx, f.items[i:i+n]); err != nil {
			return err
		}
		if i < halfway && i+n >= halfway && f.killed {
			f.half <- struct{}{}
		}
		i += n
	}
	return nil
}

// pace is how much faster than real time events are sent: 100, or as much as it takes for a short test.
func (f *feed) pace() float64 {
	if pace, err := strconv.ParseFloat(os.Getenv("EVERYDAY_PACE"), 64); err == nil && pace > 0 {
		return pace
	}
	if f.slow {
		return 100
	}
	return max(100, f.task.Span().Seconds()/4)
}

// hand hands events to one input of each graph that has it, or to the file that these read.
func (f *feed) hand(ctx context.Context, items []gen.Item) error {
	var lines bytes.Buffer
	for _, it := range items {
		if err := json.NewEncoder(&lines).Encode(it.Value); err != nil {
			return err
		}
	}
	input := items[0].Input
	f.sent[input] += len(items)
	if f.files {
		out, err := os.OpenFile(filepath.Join(f.dir, input+".ndjson"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		if _, err := out.Write(lines.Bytes()); err != nil {
			return err
		}
		return out.Close()
	}
	for graph, inputs := range f.graphs {
		if slices.Contains(inputs, input) {
			if err := push(ctx, f.daemon, graph, input, lines.Bytes()); err != nil {
				return err
			}
		}
	}
	return nil
}

func push(ctx context.Context, d *daemon, graph, input string, lines []byte) error {
	path := "/v1/graphs/" + graph + "/accumulators/" + input + "/events"
	var answer struct {
		Accepted int
		Rejected []any
	}
	if err := d.call(ctx, "POST", path, "application/x-ndjson", lines, &answer); err != nil {
		return err
	}
	if want := bytes.Count(lines, []byte("\n")); answer.Accepted != want || len(answer.Rejected) > 0 {
		return fmt.Errorf("%s took %d of %d events, and rejected %v", path, answer.Accepted, want, answer.Rejected)
	}
	return nil
}

// settle waits until the graphs have received all and what is right has come out. What is known to be wrong is not
// waited for once nothing happens any more.
func (f *feed) settle(ctx context.Context) error {
	_, wrong := notYet()[f.task.Name+"/"+f.name]
	seen, since := "", time.Now()
	for {
		received, books, err := f.books(ctx)
		if err != nil {
			return err
		}
		f.last = books
		got, err := f.outputs()
		if err != nil {
			return err
		}
		diff, err := compare(f.task, got)
		if err != nil || received && diff == "" {
			return err
		}
		if now := books + diff; now != seen {
			seen, since = now, time.Now()
		}
		if wrong && time.Since(since) > quiet {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil // judge says what is missing
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// books are the counters of all inputs, and whether they have received all.
func (f *feed) books(ctx context.Context) (received bool, books string, err error) {
	received = true
	for _, graph := range slices.Sorted(maps.Keys(f.graphs)) {
		for _, input := range slices.Sorted(slices.Values(f.graphs[graph])) {
			var a struct{ Counters map[string]int }
			err := f.daemon.call(ctx, "GET", "/v1/graphs/"+graph+"/accumulators/"+input, "", nil, &a)
			if err != nil {
				return false, "", err
			}
			received = received && (input == scores || a.Counters["received"] == f.sent[input])
			books += fmt.Sprintf("%s %s, sent %d: %v\n", graph, input, f.sent[input], a.Counters)
		}
	}
	return received, books, nil
}

// outputs are the whole lines that the sinks have written so far.
func (f *feed) outputs() (map[string][]string, error) {
	got := map[string][]string{}
	files, err := filepath.Glob(filepath.Join(f.dir, "out.*.ndjson"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if err := collect(text[:bytes.LastIndexByte(text, '\n')+1], got, f.killed); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return got, nil
}

func (f *feed) judge(t *testing.T) {
	t.Helper()
	got, err := f.outputs()
	if err != nil {
		t.Fatal(err)
	}
	judge(t, f.task, f.name, got)
	if t.Failed() {
		t.Logf("the books:\n%s", f.last)
	}
}
