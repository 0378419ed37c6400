package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The values hold the time of their epoch: an epoch that is run again under the same number
// has another payload, so that one that left too early shows.
const outboxGraph = `graph: effects
accumulators:
  events: { source: { file: { path: ../events.ndjson, follow: true } }, emit: event.n, strategy: sequential }
nodes:
  n: { expr: '{ "n": events, "at": now() }' }
outputs:
  hook: { from: n, sink: { http: { url: %q } }, delivery: outbox }
  lines: { from: n, sink: { file: { path: ../lines.ndjson } } }
  parts:
    from: n
    sink: { file: { path: "../part-{partition}.csv", partition: value.n %% 7, columns: n, max_open: 3 } }
durability: { interval: 50ms }
`

// TestKillOutbox kills the daemon at random moments and at failpoints while it delivers from
// an outbox (M30): every value arrives, under one firing id, with one payload. What takes the
// direct path arrives at least once, be it in one file or in partitions of which few are open.
func TestKillOutbox(t *testing.T) {
	t.Parallel()
	s := &storm{kills: someKills(t, outboxPoints)}
	if problems := killOutbox(t, receive(t), s, stuck); len(problems) > 0 {
		t.Error(problems)
	}
}

// TestKillFindsWrongVariants runs the same script on daemons whose store is spoilt: one
// commits positions ahead of the state, one lets values out ahead of their commit. Each must
// be caught by what it does wrong, and one that answers of unknown outcome and writes late must not.
// (A store that takes the writes of old owners is found by TestSimulationFindsPlantedBugs.)
func TestKillFindsWrongVariants(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it builds a daemon of its own: not for the inner loop")
	}
	path := filepath.Join(t.TempDir(), "graphd")
	if out, err := exec.Command("go", "build", "-tags", "planted", "-o", path,
		"github.com/graphd/graphd/cmd/graphd").CombinedOutput(); err != nil {
		t.Fatalf("build graphd: %v\n%s", err, out)
	}
	for planted, sign := range map[string]*regexp.Regexp{
		"late":         nil,
		"offset_first": regexp.MustCompile(`^(direct path: |partitions: )?[0-9]+ (of [0-9]+ )?lost$`),
		"effect_first": regexp.MustCompile(`^another payload under the id |^[0-9]+ under several ids$`),
	} {
		t.Run(planted, func(t *testing.T) {
			t.Parallel()
			hook, wrong := receive(t), sign != nil
			quiet := stuck
			if wrong { // it has lost what does not come by and by
				quiet = 10 * time.Second
			}
			problems := killOutbox(t, hook, &storm{kills: 8, program: path,
				env: []string{"GRAPHD_PLANTED=" + planted, "GRAPHD_PLANTED_URL=" + hook.server.URL}}, quiet)
			t.Log(problems)
			if !wrong && len(problems) > 0 || wrong && !slices.ContainsFunc(problems, sign.MatchString) {
				t.Errorf("%s: found %v, want what matches %v", planted, problems, sign)
			}
		})
	}
}

// killOutbox has a storm upon a graph with an outbox. What has not come when nothing has for a quiet time is lost.
func killOutbox(t *testing.T, hook *effects, by *storm, quiet time.Duration) (problems []string) {
	dir := declare(t, "effects", fmt.Sprintf(outboxGraph, hook.server.URL))
	by.dir, by.each, by.points, by.seed = dir, 15, outboxPoints, 3
	total, rate := by.run(t)
	p := start(t, dir) // what was spoilt is spoilt; the end is the same for all
	var s summary
	moved, state := time.Now(), ""
	through := p.waitFor(20*time.Minute, func() bool { // as long as it moves
		s = p.summary("effects")
		pending := s.Outputs[0].Pending + s.Outputs[1].Pending + s.Outputs[2].Pending
		if now := fmt.Sprint(s.Counters.Consumed, pending); now != state {
			moved, state = time.Now(), now
		}
		return s.Counters.Consumed >= total && pending == 0 ||
			time.Since(moved) > quiet
	})
	if err := s.balanced(); err != nil || !through || s.Counters.Consumed != total || s.Outputs[0].Pending > 0 ||
		s.Outputs[0].Path != "outbox" {
		problems = append(problems, fmt.Sprintf("%d events, %+v, %v", total, s, err))
	}
	if err := p.stop(); err != nil {
		t.Errorf("the daemon did not stop cleanly: %v\n%s", err, p.log)
	}
	if by.program == "" { // one that is spoilt need not get far
		by.hold(t)
	}
	problems = append(problems, hook.verdict(upTo(total))...)
	missing, doubled := written(t, filepath.Join(dir, "lines.ndjson"), total)
	if missing > 0 {
		problems = append(problems, fmt.Sprintf("direct path: %d of %d lost", missing, total))
	}
	if missing := partitioned(t, dir, total); missing > 0 {
		problems = append(problems, fmt.Sprintf("partitions: %d of %d lost", missing, total))
	}
	t.Logf("%d kills at %.0f events/s: %d events; outbox: %d sent again; direct: %d written again", by.kills, rate,
		total, hook.again, doubled)
	return problems
}

// partitioned reads the rows of the partitions, each of which must be in the file of its own: how many of the
// numbers are missing.
func partitioned(t *testing.T, dir string, total int64) (missing int) {
	t.Helper()
	seen := make([]bool, total)
	for part := range int64(7) {
		data, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("part-%d.csv", part)))
		if err != nil {
			t.Fatal(err)
		}
		header, rows, _ := strings.Cut(string(data), "\n")
		if !strings.HasPrefix(header, "n,at,") {
			t.Errorf("partition %d begins with %q", part, header)
		}
		for line := range strings.Lines(rows) {
			cells := strings.Split(strings.TrimSuffix(line, "\n"), ",")
			n, err := strconv.ParseInt(cells[0], 10, 64)
			if len(cells) < 8 || err != nil || n >= total {
				continue // a torn row is one that is written again
			}
			if n%7 != part {
				t.Errorf("%d is in partition %d", n, part)
			}
			seen[n] = true
		}
	}
	for _, there := range seen {
		if !there {
			missing++
		}
	}
	return missing
}

// written reads what the file sink has: how many of the numbers are missing, and how many
// there are more than once.
func written(t *testing.T, path string, total int64) (missing, doubled int) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	seen := make([]int, total)
	scanner := bufio.NewScanner(f)
	for scanner.Scan() {
		var line struct{ Value struct{ N int64 } }
		// a torn line is one that is written again
		if json.Unmarshal(scanner.Bytes(), &line) == nil && line.Value.N < total {
			seen[line.Value.N]++
		}
	}
	for _, n := range seen {
		switch {
		case n == 0:
			missing++
		case n > 1:
			doubled++
		}
	}
	return missing, doubled
}

const journalGraph = `graph: effects
accumulators:
  events: { emit: event.n, strategy: sequential }
nodes:
  n: { expr: '{ "n": events, "at": now() }' }
outputs:
  lines: { from: n, sink: { file: { path: ../lines.ndjson } } }
durability: { mode: journal, interval: 300ms }
`

// TestKillJournaledPush kills the daemon while clients push into a journaled graph (M29): no
// push that was acknowledged is lost, and what left before a kill leaves again with the same
// id and content, or not at all.
func TestKillJournaledPush(t *testing.T) {
	t.Parallel()
	n := someKills(t, journalPoints)
	dir := declare(t, "effects", journalGraph)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	clients := startPushers(ctx, "/v1/graphs/effects/accumulators/events/events", 8)
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range n {
		killed(t, dir, i, journalPoints, rng, func(p *process) { clients.base.Store(&p.base) })
	}
	p := start(t, dir)
	clients.base.Store(&p.base)
	enough := clients.next.Load() + 10*pushBatch
	p.until("some more without a kill", stuck, func() bool { return clients.next.Load() > enough })
	cancel()
	clients.wg.Wait()
	p.drains("events that are not delivered", func() int64 {
		s := p.summary("effects")
		// A summary may be a tenth of a second old: what was acknowledged last need not be in it yet.
		return max(s.remains(int64(len(clients.acked))), 2*s.Counters.Queued)
	})
	s := p.summary("effects")
	if err := s.balanced(); err != nil {
		t.Errorf("%d acknowledged, %+v, %v", len(clients.acked), s, err)
	}
	if err := p.stop(); err != nil {
		t.Errorf("the daemon did not stop cleanly: %v\n%s", err, p.log)
	}
	if each := len(clients.acked) / n; each < 2*pushBatch {
		t.Errorf("the test is void: %d events were acknowledged between two kills, below %d", each, 2*pushBatch)
	}
	out := newEffects()
	out.read(t, filepath.Join(dir, "lines.ndjson"))
	if problems := out.verdict(slices.Values(clients.acked)); len(problems) > 0 || len(clients.bad) > 0 {
		t.Error(problems, clients.bad)
	}
	t.Logf("%d kills: %d acknowledged, %d pushed; %d sent again", n, len(clients.acked), clients.next.Load(), out.again)
}

const rowsGraph = `graph: effects
accumulators:
  events: { source: { file: { path: ../events.ndjson, follow: true } }, emit: event.n, strategy: sequential }
nodes:
  n: { expr: '{ "n": events, "epoch": epoch() }' }
outputs:
  rows: { from: n, sink: { postgres: { table: effects } } }
durability: { interval: 50ms }
`

// TestKillCoTransaction kills the daemon while it writes rows to a table of the store's own
// database (M30): each event is in the table exactly once.
func TestKillCoTransaction(t *testing.T) {
	t.Parallel()
	store, db := database(t, "create table effects (n bigint not null, epoch bigint not null)")
	n := someKills(t, statePoints)
	dir := declare(t, "effects", rowsGraph)
	args := []string{"--store", store, "--lease", "1500ms"}
	by := &storm{dir: dir, kills: n, each: 30, points: statePoints, seed: 7, args: args}
	total, rate := by.run(t)
	p := start(t, dir, "--store", store, "--lease", "2s")
	var s summary // a later one may be of a daemon that has lost its lease for a moment
	p.drains("events that are not committed", func() int64 {
		s = p.summary("effects")
		return s.remains(total)
	})
	if err := s.balanced(); err != nil || s.Counters.Consumed != total || s.Outputs[0].Path != "co-transaction" {
		t.Errorf("%d events, %+v, %v", total, s, err)
	}
	if err := p.stop(); err != nil {
		t.Errorf("the daemon did not stop cleanly: %v\n%s", err, p.log)
	}
	by.hold(t)
	var rows, numbers, epochs int64
	if err := db.QueryRow(t.Context(),
		"select count(*), count(distinct n), count(distinct epoch) from effects where n < $1", total).Scan(&rows,
		&numbers, &epochs); err != nil {
		t.Fatal(err)
	}
	if rows != total || numbers != total || epochs != total {
		t.Errorf("%d events, %d rows, %d numbers, %d epochs", total, rows, numbers, epochs)
	}
	t.Logf("%d kills at %.0f events/s: %d events, %d rows", n, rate, total, rows)
}
