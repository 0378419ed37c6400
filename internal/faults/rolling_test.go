package faults

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/testbed"
)

// olderCommit is the last state that was published before shards ran live and the store knew keys of pushes.
const olderCommit = "73b130b5814dee4a02d0adf7c8caa6f8ffe593e6"

// rollingEnv asks for the test of the rolling update.
const rollingEnv = "GRAPHD_TEST_ROLLING"

// olderEnv names a daemon of the older release that is there already.
const olderEnv = "GRAPHD_TEST_OLDER"

// olderVersion is how the daemon of that commit names itself.
const olderVersion = "v0.0.1-older"

// older builds graphd as it was.
func older(t *testing.T) string {
	t.Helper()
	if path := os.Getenv(olderEnv); path != "" {
		return path
	}
	return builtOf(t, olderCommit)
}

// builtOf builds graphd as it was at a commit. The test is skipped where the history does not hold it, as in a shallow
// clone.
func builtOf(t *testing.T, commit string) string {
	t.Helper()
	root := filepath.Join("..", "..")
	if err := exec.Command("git", "-C", root, "cat-file", "-e", commit+"^{commit}").Run(); err != nil {
		testbed.Lacking(t, "the history does not hold "+commit+", of which the older release is built")
	}
	tree, into := t.TempDir(), filepath.Join(t.TempDir(), "graphd-older")
	archive := exec.Command("git", "-C", root, "archive", "--format=tar", commit)
	text, err := archive.Output()
	if err != nil {
		t.Fatalf("read the older release: %v", err)
	}
	for _, cmd := range []*exec.Cmd{
		{Args: []string{"tar", "-x", "-C", tree}, Stdin: bytes.NewReader(text)},
		{Args: []string{"go", "build", "-trimpath", "-ldflags", "-X main.release=" + olderVersion, "-o", into,
			"./cmd/graphd"}, Dir: tree},
	} {
		if cmd.Path, err = exec.LookPath(cmd.Args[0]); err != nil {
			testbed.Lacking(t, err.Error())
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build the older release: %v\n%s", err, out)
		}
	}
	return into
}

const (
	rollTicks = `graph: ticks
accumulators:
  ticks: { source: { generator: { every: 20ms, expr: '{ "n": i }' } }, strategy: sequential }
nodes:
  row: { expr: '{ "n": ticks.n }' }
outputs:
  rows: { from: row, sink: { postgres: { table: ticks, columns: [n] } } }
`
	rollPushed = `graph: %s
accumulators:
  events: { emit: { k: event.k, n: event.n }, strategy: sequential }
reactor: { %sstrategy: sequential }
nodes:
  row: { expr: '{ "k": events.k, "n": events.n }' }
outputs:
  rows: { from: row, sink: { postgres: { table: %s, columns: [k, n] } } }
durability: { %s }
`
)

// rolling are three daemons on one database of the shared server.
func rolling(t *testing.T, program string) *fleet {
	t.Helper()
	f := &fleet{t: t, args: []string{"--rebalance-after", "2s", "--connections", "store=store"},
		secret: secretFile(t, strings.Repeat("s3cret-", 8))}
	dsn := testbed.Postgres(t)
	if out, err := exec.Command(program, "migrate", "--store", dsn).CombinedOutput(); err != nil {
		t.Fatalf("migrate: %v\n%s", err, out)
	}
	var err error
	if f.db, err = pgxpool.New(context.WithoutCancel(t.Context()), dsn+"&search_path=public"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.db.Close)
	for _, text := range []string{
		"create table ticks (n bigint not null)",
		"create table whole (k text not null, n bigint not null)",
		"create table soft (k text not null, n bigint not null)",
		"create table dealt (k text not null, n bigint not null)",
	} {
		if _, err := f.db.Exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 3 {
		f.seats = append(f.seats, &seat{f: f, n: n, dir: t.TempDir(), dsn: dsn, api: testbed.FreeAddr(t),
			listen: testbed.FreeAddr(t), runs: program})
	}
	return f
}

// stands waits until a graph stands as it is to at a seat, and answers with what is said of it.
func (s *seat) stands(graph, health, code string) string {
	s.f.t.Helper()
	var g api.GraphSummary
	s.f.until(fmt.Sprintf("%s is %s %s at daemon %d", graph, health, code, s.n), stuck, func() bool {
		g = api.GraphSummary{}
		err := s.p.do("GET", "/v1/graphs/"+graph, "", &g)
		return err == nil && g.Health == health && (code == "") == (g.HealthReason == nil) &&
			(code == "" || g.HealthReason.Code == code)
	})
	if g.HealthReason == nil {
		return ""
	}
	return g.HealthReason.Detail
}

// grows waits until each table has rows that it did not have.
func (f *fleet) grows(when string, tables ...string) {
	f.t.Helper()
	for _, table := range tables {
		n := f.one("select count(*) from " + table)
		took := f.until(when+": "+table+" goes on", stuck, func() bool {
			return f.one("select count(*) from "+table) > n
		})
		if took > time.Second {
			f.t.Logf("%s: %s goes on after %v", when, table, took.Round(time.Millisecond))
		}
	}
}

// replace ends a seat's daemon, has another release's take its place, and waits until all graphs go on.
func (f *fleet) replace(n int, with string, how syscall.Signal, tables ...string) {
	f.t.Helper()
	s := f.seats[n]
	s.busy = true
	if err := s.end(how); err != nil {
		f.t.Errorf("daemon %d: %v", n, err)
	}
	s.runs = with
	s.start()
	s.busy = false
	f.grows(fmt.Sprintf("daemon %d replaced", n), tables...)
	f.until("all know all", stuck, func() bool {
		list, err := f.members()
		return err == nil && len(list) == len(f.seats) && !slices.ContainsFunc(list, func(m api.Member) bool {
			return m.State != "live"
		})
	})
}

// M55: three daemons of an older release are replaced one by one under load. The first new one raises the schema, the
// older ones go on, and what either has written the other can read; a new one that is killed gives its graphs to an
// older one, too. No keys are dealt before all are new. Then the older release refuses what is dealt, with a clear
// word, runs the rest, and nothing is lost or there twice, whoever ran it.
func TestRollingVersions(t *testing.T) {
	if os.Getenv(rollingEnv) == "" {
		t.Skip("it is asked for with " + rollingEnv + ", as make test-rolling does")
	}
	program := older(t)
	f := rolling(t, program)
	for _, s := range f.seats {
		s.start()
	}
	f.apply("ticks", rollTicks)
	f.apply("whole", fmt.Sprintf(rollPushed, "whole", "", "whole", "mode: journal"))
	f.apply("soft", fmt.Sprintf(rollPushed, "soft", "", "soft", "interval: 300ms"))
	f.apply("dealt", fmt.Sprintf(rollPushed, "dealt", "key: k, shards: 8, ", "dealt", "mode: journal"))
	f.rowsByCommit("ticks", "whole", "soft", "dealt")
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	defer cancel()
	softly, halt := context.WithCancel(ctx)
	defer halt()
	bases := make([]string, 0, len(f.seats))
	for _, s := range f.seats {
		bases = append(bases, "http://"+s.api)
	}
	push := map[string]*keyedPush{}
	for _, name := range []string{"whole", "dealt", "soft"} {
		under := ctx
		if name == "soft" {
			under = softly
		}
		push[name] = startKeyedPush(under, name, 2, func() []string { return bases })
		push[name].soft = name == "soft"
	}
	all := []string{"ticks", "whole", "soft", "dealt"}
	f.grows("all are older", all...)

	f.replace(0, "", syscall.SIGTERM, all...)
	f.until("the older ones say that the schema was raised", stuck, func() bool {
		var ready struct{ Warnings []api.Warning }
		err := f.seats[2].p.do("GET", "/readyz", "", &ready)
		return err == nil && slices.ContainsFunc(ready.Warnings, func(w api.Warning) bool {
			return w.Code == api.WarnSchemaRaised
		})
	})
	f.replace(1, "", syscall.SIGTERM, all...)
	// What is pushed and not journaled may be gone after a kill: until then nothing is.
	halt()
	push["soft"].wg.Wait()
	f.countPushed(push["soft"], "soft")
	all = []string{"ticks", "whole", "dealt"}
	f.replace(0, "", syscall.SIGKILL, all...)
	f.replace(1, program, syscall.SIGTERM, all...) // the way back, while nothing is dealt
	f.replace(1, "", syscall.SIGTERM, all...)
	var g api.GraphSummary
	if err := f.ask("GET", "/v1/graphs/dealt", "", &g); err != nil || len(g.Shards) > 0 {
		t.Errorf("while an older daemon is there: %+v, %v", g, err)
	}
	f.replace(2, "", syscall.SIGTERM, all...)
	took := f.until("the keys are dealt", stuck, func() bool {
		return f.ask("GET", "/v1/graphs/dealt", "", &g) == nil && len(g.Shards) == 8 && g.Health == "live"
	})
	t.Logf("all are new: the keys are dealt after %v", took.Round(time.Millisecond))
	f.grows("dealt", all...)

	f.backAndForth(program)
	cancel()
	for _, name := range []string{"whole", "dealt"} {
		push[name].wg.Wait()
		f.countPushed(push[name], name)
	}
	f.countTicks()
	f.harmless("ticks", "whole", "soft", "dealt")
}

// backAndForth has the older release on what the new one has dealt: it refuses that and runs the rest. The new release
// goes on from there.
func (f *fleet) backAndForth(program string) {
	f.t.Helper()
	for n := range f.seats {
		if err := f.seats[n].end(syscall.SIGTERM); err != nil {
			f.t.Errorf("daemon %d: %v", n, err)
		}
	}
	f.seats[0].runs = program
	f.seats[0].start()
	for _, name := range []string{"ticks", "whole", "soft"} {
		f.seats[0].stands(name, "live", "")
	}
	f.grows("back", "ticks", "whole")
	if why := f.seats[0].stands("dealt", "failed", "dealt_otherwise"); !strings.Contains(why, "nothing is changed") {
		f.t.Errorf("the older release says %q", why)
	}
	for n := range f.seats {
		if n == 0 {
			_ = f.seats[0].end(syscall.SIGKILL)
		}
		f.seats[n].runs = ""
		f.seats[n].start()
	}
	f.grows("and forth", "ticks", "whole", "dealt")
	f.seats[1].stands("dealt", "live", "")
}

// countTicks holds that each number is there once, and none is left out.
func (f *fleet) countTicks() {
	f.t.Helper()
	if err := f.ask("POST", "/v1/graphs/ticks/pause", "", nil); err != nil {
		f.t.Error(err)
	}
	var rows, numbers, due int64
	if err := f.db.QueryRow(f.t.Context(), "select count(*), count(distinct n), max(n) - min(n) + 1 from ticks").
		Scan(&rows, &numbers, &due); err != nil || rows != due || numbers != due || due < 100 {
		f.t.Errorf("ticks: %d rows, %d numbers, of %d, %v", rows, numbers, due, err)
	}
	f.t.Logf("ticks: %d rows", rows)
}

// harmless holds that no graph was quarantined, nor has lost its state; that one was refused is told.
func (f *fleet) harmless(names ...string) {
	f.t.Helper()
	for _, name := range names {
		var events api.Page[api.RecoveryEvent]
		if err := f.ask("GET", "/v1/graphs/"+name+"/recovery-events", "", &events); err != nil {
			f.t.Error(err)
		}
		kinds := map[string]int{}
		for _, ev := range events.Items {
			kinds[ev.Kind]++
			if ev.Kind == "gave_up" && name == "dealt" && strings.Contains(ev.Reason, "another number of shards") {
				continue
			}
			switch ev.Kind {
			case "quarantined", "gave_up", "state_dropped", "source_data_lost", "gap_skipped", "update_failed":
				f.t.Errorf("%s: %+v", name, ev)
			}
		}
		f.t.Logf("%s: recovery events %v", name, kinds)
	}
}

// M55: an embedded store of the older release is brought forward with its data, and then the older release runs what
// it can read and refuses what is dealt.
func TestOlderStoreGoesForwardAndBack(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds an older release")
	}
	program := older(t)
	dir := declare(t, "whole", fmt.Sprintf(journaled, "whole"))
	text := "graph: dealt\ndurability: { mode: journal }\naccumulators: { a: { emit: { k: event.k, n: event.n }, " +
		"strategy: sequential } }\nreactor: { key: k, shards: 8, strategy: sequential }\n" +
		"nodes: { total: { expr: '{ \"k\": key, \"n\": a.n }' } }\n" +
		"outputs: { o: { from: total, sink: { drop: {} } } }\n"
	sent, applied := int64(0), false
	life := func(program string, dealt string) {
		t.Helper()
		p, err := launchOf(t, program, nil, dir)
		if err != nil {
			t.Fatal(err)
		}
		if !applied {
			if err := p.do("PUT", "/v1/graphs/dealt", text, nil); err != nil {
				t.Fatal(err)
			}
			applied = true
		}
		names := []string{"whole", "dealt"}
		if dealt != "" {
			names = names[:1]
			var s summary
			p.until("it refuses what is dealt", stuck, func() bool {
				s = p.summary("dealt")
				return s.Health == "failed" && s.HealthReason.Code == dealt
			})
			t.Log(s.HealthReason.Detail)
		}
		for _, name := range names {
			p.until(name+" is live", stuck, func() bool { return p.summary(name).Health == "live" })
		}
		for range 20 {
			for _, name := range names {
				body := fmt.Sprintf(`[{"k":"k%d","n":%d},{"k":"other","n":1}]`, sent, sent)
				if err := p.do("POST", "/v1/graphs/"+name+"/accumulators/a/events", body, nil); err != nil {
					t.Fatal(err)
				}
			}
			sent += 2
		}
		p.until("all are consumed", stuck, func() bool {
			return p.summary("whole").Counters.Consumed == sent
		})
		if err := p.stop(); err != nil {
			t.Fatal(err)
		}
	}
	life(program, "")
	life(binary(), "")
	life(program, "dealt_otherwise")
	life(binary(), "")
	p := start(t, dir)
	defer p.kill()
	p.until("all shards are live", stuck, func() bool { return p.summary("dealt").Health == "live" })
	whole, dealt := p.summary("whole"), p.summary("dealt")
	if whole.Counters.Consumed != sent || dealt.Counters.Consumed != sent-40 || whole.balanced() != nil ||
		dealt.balanced() != nil {
		t.Errorf("of %d events: %+v; all but 40: %+v", sent, whole.Counters, dealt.Counters)
	}
	// The way back of a graph that is dealt: to one shard, by the newer release.
	if err := p.do("PUT", "/v1/graphs/dealt", strings.Replace(text, "shards: 8", "shards: 1", 1), nil); err != nil {
		t.Fatal(err)
	}
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	if p, err := launchOf(t, program, nil, dir); err != nil {
		t.Fatal(err)
	} else {
		p.until("it runs", stuck, func() bool { return p.summary("dealt").Health == "live" })
		if s := p.summary("dealt"); s.Counters.Consumed != dealt.Counters.Consumed || s.balanced() != nil {
			t.Errorf("the older release goes on from %+v, and not from %+v", s.Counters, dealt.Counters)
		}
	}
}
