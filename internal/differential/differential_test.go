package differential

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/checkpoint"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/engine"
	"github.com/graphd/graphd/internal/job"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/sink/stdout"
	"github.com/graphd/graphd/internal/source/file"
	"github.com/graphd/graphd/internal/testbed/raced"
)

// number is a float as graphd writes it: the one thing the oracle does not do itself.
func number(f float64) string { return boundary.Float(f).String() }

// few says that a tenth of the seeds is to do: under the race detector, which sees little in what is mostly one
// goroutine and makes it several times as slow. `make test` does all of them without it.
func few() bool { return testing.Short() || raced.Enabled }

// seeds calls test for many seeds, or for the one that DIFF_SEED names.
func seeds(t *testing.T, many int, test func(t *testing.T, seed uint64)) {
	t.Helper()
	if s, err := strconv.ParseUint(os.Getenv("DIFF_SEED"), 10, 64); err == nil {
		test(t, s)
		return
	}
	if few() {
		many = max(many/10, 1)
	}
	for seed := range uint64(many) {
		if test(t, seed); t.Failed() {
			t.Fatalf("DIFF_SEED=%d", seed)
		}
	}
}

// emitted are the lines of the stdout sink as "EPOCH OUTPUT VALUE".
func emitted(t *testing.T, text []byte) []string {
	t.Helper()
	var out []string
	for line := range bytes.Lines(text) {
		var m struct {
			Epoch  int64
			Output string
			Value  json.RawMessage
		}
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		out = append(out, fmt.Sprintf("%d %s %s", m.Epoch, m.Output, m.Value))
	}
	return out
}

func compare(t *testing.T, what string, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("%s: %d values, want %d; the next is %s", what, len(got), len(want), want[i])
			return
		case i >= len(want):
			t.Errorf("%s: %d values, want %d; one too many is %s", what, len(got), len(want), got[i])
			return
		case got[i] != want[i]:
			t.Errorf("%s: value %d:\n got %s\nwant %s", what, i, got[i], want[i])
			return
		}
	}
}

// M3, M13, M15, M16: a bounded run gives what the oracle gives, with and without optimisations.
func TestRunEqualsOracle(t *testing.T) {
	t.Parallel()
	seeds(t, 200, func(t *testing.T, seed uint64) {
		p := newPlan(seed)
		want := p.outputs(p.fold().groups)
		for _, plain := range []bool{false, true} {
			u, diags := (&builtin.Kinds{Plain: plain}).Parse([]byte(p.declaration("in.ndjson", "{ mode: none }")),
				"random.yaml")
			if err := diags.Err(); err != nil {
				t.Fatal(err)
			}
			in, err := file.NewReader(strings.NewReader(p.lines()), file.ReaderConfig{Format: "ndjson"})
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			to := stdout.NewOutput(&out)
			if _, err := job.Run(t.Context(), job.Config{
				Unit: u, Inputs: []job.Reader{in}, Sinks: []sink.Sink{to.Sink(), to.Sink()},
			}); err != nil {
				t.Fatal(err)
			}
			compare(t, fmt.Sprintf("plain %v", plain), emitted(t, out.Bytes()), want)
		}
	})
}

// mortal is a store that dies after some commits of new epochs, as the process over it would:
// what it has taken is there for the next, and nothing else is. (Three lives without a new
// epoch would be a crash loop, and end the graph.)
type mortal struct {
	checkpoint.Store
	left  atomic.Int64
	epoch atomic.Int64 // of the last commit
	death chan struct{}
	once  sync.Once
	// sharded: commits are of several shards, so that one of them may be tried three times without one (M43).
	sharded bool
	// usurps is asked before each commit whether somebody else takes the graph; nil: nobody does.
	usurps func(ctx context.Context, store checkpoint.Store, c *checkpoint.Commit) error
}

func (m *mortal) Acquire(ctx context.Context, id checkpoint.ID) (checkpoint.Head, error) {
	head, err := m.Store.Acquire(ctx, id)
	m.epoch.Store(head.Epoch)
	return head, err
}

var errDead = errors.New("the process is dead")

func (m *mortal) Commit(ctx context.Context, c *checkpoint.Commit) error {
	if m.epoch.Swap(c.Epoch) < c.Epoch {
		m.left.Add(-1)
	}
	if m.left.Load() < 0 {
		m.once.Do(func() { close(m.death) })
		return errDead
	}
	if m.usurps != nil {
		if err := m.usurps(ctx, m.Store, c); err != nil {
			return err
		}
	}
	return m.Store.Commit(ctx, c)
}

func (m *mortal) Release(ctx context.Context, id checkpoint.ID, fence int64) error {
	if m.left.Load() < 0 {
		return errDead
	}
	return m.Store.Relinquish(ctx, id, fence)
}

// safeBuffer is written by sinks and read by the test.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// patience bounds one life of a graph.
const patience = 2 * time.Minute

// M28, M42: a live graph gives what the oracle gives, across crashes at random points: nothing
// lost, an epoch that is run again is the same, each event is in the books once.
func TestLiveEqualsOracleAcrossCrashes(t *testing.T) {
	t.Parallel()
	graphs, crashes, again := 0, 0, 0
	seeds(t, 25, func(t *testing.T, seed uint64) {
		graphs++
		p := newPlan(seed)
		f := p.fold()
		path := filepath.Join(t.TempDir(), "in.ndjson")
		if err := os.WriteFile(path, []byte(p.lines()), 0o600); err != nil {
			t.Fatal(err)
		}
		store, out := memstore.NewSeeded(seed), &safeBuffer{}
		defer store.Close()
		every := 1 + seed%3
		doc := p.declaration(path, fmt.Sprintf("{ every_epochs: %d }", every))
		for life := int64(0); ; life++ {
			books := func(sum *api.GraphSummary) { checkBooks(t, p, f, sum) }
			if !alive(t, &mortal{Store: store, death: make(chan struct{})}, 1+life/4, doc, out, books) {
				break
			}
			if crashes++; life > 500 || t.Failed() {
				t.Fatal("the graph does not get through its input")
			}
		}
		got := map[string]bool{}
		var order []string
		for _, line := range emitted(t, out.b.Bytes()) {
			if !got[line] { // an epoch after the last checkpoint is run again, and is the same
				got[line] = true
				order = append(order, line)
			} else {
				again++
			}
		}
		want := p.outputs(f.groups[:f.closedByData])
		for _, output := range []string{"rows", "alerts"} { // each is written in a time of its own
			compare(t, output, of(output, order), of(output, want))
		}
	})
	t.Logf("%d graphs, %d crashes, %d values sent again", graphs, crashes, again)
	if graphs > 5 && (crashes < graphs || again == 0) {
		t.Errorf("%d crashes of %d graphs, %d values sent again: too few to show anything", crashes, graphs, again)
	}
}

// of keeps the values of one output.
func of(output string, lines []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(s string) bool { return !strings.Contains(s, " "+output+" ") })
}

// alive is one life of the graph, which ends after so many commits or at the end of the input, where
// the books are looked at.
func alive(t *testing.T, store *mortal, commits int64, doc string, out *safeBuffer,
	books func(*api.GraphSummary)) (crashed bool) {
	store.left.Store(commits)
	e := engine.New(engine.Config{
		Store: store, Log: slog.New(slog.DiscardHandler), ShutdownTimeout: patience,
		Kinds: &builtin.Kinds{Stdout: stdout.NewOutput(out)},
	})
	defer func() { _ = e.Close() }() // a dead store cannot take the last checkpoint
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := e.Open(ctx); err != nil {
		t.Fatal(err)
	}
	ref := api.Ref{Tenant: "default", Name: "random"}
	if _, err := e.Apply(ctx, ref, []byte(doc), api.Change{}); err != nil {
		t.Fatal(err)
	}
	var sum api.GraphSummary
	for {
		select {
		case <-store.death:
			return true
		case <-ctx.Done():
			t.Fatalf("the graph did not end in time: %+v", sum)
		case <-time.After(time.Millisecond): // the daemon is asked, as an operator would
		}
		var err error
		if sum, err = e.Graph(ctx, ref); err != nil && ctx.Err() == nil {
			t.Fatal(err)
		}
		if a := sum.Accumulators[0]; a.Health != "ended" || a.Depth > 0 {
			continue
		}
		if _, err := e.Checkpoint(ctx, ref); err != nil {
			<-store.death
			return true
		}
		books(&sum)
		return false
	}
}

func checkBooks(t *testing.T, p *plan, f folded, sum *api.GraphSummary) {
	t.Helper()
	c, closed, filtered := sum.Counters, 0, f.late
	for _, g := range f.groups[:f.closedByData] {
		if p.passes(g) {
			closed += g.owns
		} else {
			filtered += g.owns // its epoch was refused by the guard
		}
	}
	want := api.Counters{Received: int64(len(p.events)), Filtered: int64(filtered), Consumed: int64(closed)}
	want.Queued = want.Received - want.Filtered - want.Consumed
	if c != want {
		t.Errorf("books %+v, want %+v", c, want)
	}
}
