package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// refusedGraph writes rows of two columns: a value that is a number is refused for good.
const refusedGraph = `graph: effects
accumulators:
  events: { %s, emit: event.n, strategy: sequential }
nodes:
  n: { expr: '%s ? { "n": events, "a": 1 } : events' }
outputs:
  rows: { from: n, sink: { file: { path: ../rows.csv, columns: [n, a] } }, on_error: dead_letter }
dead_letters: { max: 1000000 }
durability: { mode: %s, interval: 50ms }
`

// TestKillRefused kills the daemon while a sink of the direct path refuses values for good (M5, M30): each of them
// is a dead letter in the end, or in the file when the sink has taken it, whatever the process ended between.
func TestKillRefused(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"checkpoint", "journal"} {
		t.Run("followed, "+mode, func(t *testing.T) {
			t.Parallel()
			killRefusedFile(t, mode)
		})
		t.Run("pushed, "+mode, func(t *testing.T) {
			t.Parallel()
			killRefusedPushes(t, mode)
		})
	}
}

func pointsOf(mode string) []string {
	if mode == "journal" {
		return []string{"commit_acknowledged", "journal_acknowledged", "commit_sent", "outbox_sent"}
	}
	return []string{"commit_acknowledged", "commit_sent", "cut", "outbox_sent"}
}

func killRefusedFile(t *testing.T, mode string) {
	dir := declare(t, "effects", fmt.Sprintf(refusedGraph, "source: { file: { path: ../events.ndjson, follow: true } }",
		"events % 3 == 0", mode))
	// In one piece: it is what waits for the sink that a kill may take.
	total := killedWith(t, dir, pointsOf(mode), burst, rand.New(rand.NewPCG(7, 8)))
	p := start(t, dir)
	p.durablyThrough(unconsumed(total))
	refused := p.refusedNumbers()
	if err := p.stop(); err != nil {
		t.Errorf("the daemon did not stop cleanly: %v\n%s", err, p.log)
	}
	inFile := firstColumn(t, filepath.Join(dir, "rows.csv"))
	lost := 0
	for n := range total {
		if !inFile[n] && refused[n] == 0 {
			lost++
		}
		if n%3 != 0 && inFile[n] || n%3 == 0 && refused[n] > 0 {
			t.Fatalf("%d: in the file %v, letters %d", n, inFile[n], refused[n])
		}
	}
	if lost > 0 {
		t.Errorf("%d of %d values are neither in the file nor a dead letter", lost, total)
	}
	t.Logf("%d values, %d of them with letters", total, len(refused))
}

// burst is how many numbers are there at once when a daemon starts.
const burst = 8000

func appendNumbers(t *testing.T, path string, from, to int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b strings.Builder
	for n := from; n < to; n++ {
		fmt.Fprintf(&b, "{\"n\":%d}\n", n)
	}
	if _, err := f.WriteString(b.String()); err != nil {
		t.Fatal(err)
	}
}

func killRefusedPushes(t *testing.T, mode string) {
	dir := declare(t, "effects", fmt.Sprintf(refusedGraph, "capacity: 5000", "events < 0", mode))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	clients := startPushers(ctx, "/v1/graphs/effects/accumulators/events/events", 6)
	rng := rand.New(rand.NewPCG(9, 10))
	for i := range someKills(t, pointsOf(mode)) {
		killed(t, dir, i, pointsOf(mode), rng, func(p *process) { clients.base.Store(&p.base) })
	}
	cancel()
	clients.wg.Wait()
	p := start(t, dir)
	p.durablyThrough(func(s *summary) int64 { return s.Counters.Queued })
	consumed, refused := p.summary("effects").Counters.Consumed, p.refusedNumbers()
	if err := p.stop(); err != nil {
		t.Errorf("the daemon did not stop cleanly: %v\n%s", err, p.log)
	}
	if int64(len(refused)) != consumed {
		t.Errorf("%d values were sent, %d have a dead letter", consumed, len(refused))
	}
	if mode == "journal" {
		lost := slices.DeleteFunc(slices.Clone(clients.acked), func(n int64) bool { return refused[n] > 0 })
		if len(lost) > 0 || len(clients.bad) > 0 {
			t.Errorf("%d of %d acknowledged pushes are lost; %v", len(lost), len(clients.acked), clients.bad)
		}
	}
	t.Logf("%d pushed, %d letters", clients.next.Load(), len(refused))
}

// durablyThrough waits until the graph has none of its events left, the first output has nothing that waits, and a
// checkpoint covers that.
func (p *process) durablyThrough(left func(s *summary) int64) {
	p.t.Helper()
	p.until("the graph runs", stuck, func() bool { return runs(p.summary("effects").Health) })
	p.drains("events that are not through", func() int64 {
		s := p.summary("effects")
		return 2*left(&s) + s.Outputs[0].Pending // an event that is consumed is a value that waits
	})
	for range 2 { // one may have been on its way when the last was refused
		p.changes("POST", "/v1/graphs/effects/checkpoint", "")
	}
}

// unconsumed is how many of so many events a graph has not consumed yet.
func unconsumed(total int64) func(s *summary) int64 {
	return func(s *summary) int64 { return max(0, total-s.Counters.Consumed) }
}

// remains is how much a graph has to do still for so many events. One that is consumed is a value that waits for each
// output, of which there are three at most.
func (s *summary) remains(total int64) int64 { return 4*unconsumed(total)(s) + pending(s) }

// refusedNumbers are the numbers that have dead letters, and how many.
func (p *process) refusedNumbers() map[int64]int {
	p.t.Helper()
	all := map[int64]int{}
	for next := ""; ; {
		var page struct {
			Items []struct{ Payload json.RawMessage }
			Next  string
		}
		path := "/v1/graphs/effects/dead-letters?limit=1000"
		if next != "" {
			path += "&before=" + next
		}
		if err := p.do("GET", path, "", &page); err != nil {
			p.t.Fatal(err)
		}
		for _, l := range page.Items {
			var n int64
			if err := json.Unmarshal(l.Payload, &n); err != nil {
				p.t.Fatal(err, string(l.Payload))
			}
			all[n]++
		}
		if next = page.Next; next == "" {
			return all
		}
	}
}

// firstColumn are the numbers that the rows of a file begin with. A torn row is one that is written again.
func firstColumn(t *testing.T, path string) map[int64]bool {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := map[int64]bool{}
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(line, ",")
		if n, err := strconv.ParseInt(cells[0], 10, 64); err == nil && len(cells) == 9 {
			all[n] = true
		}
	}
	return all
}
