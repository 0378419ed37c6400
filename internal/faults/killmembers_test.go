package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/testbed"
)

const (
	shards = 64
	// dealtGraph reads a topic, and writes each event by the commit of its shard and from its outbox.
	dealtGraph = `graph: dealt
accumulators:
  events:
    source: { kafka: { brokers: [%s], topic: %s, group: dealt } }
    emit: { k: event.k, n: event.n }
reactor: { key: k, shards: 64, strategy: sequential }
nodes:
  row: { expr: '{ "k": key, "n": events.n }' }
outputs:
  rows: { from: row, sink: { postgres: { table: dealt, columns: [k, n] } } }
  sent: { from: row, sink: { kafka: { brokers: [%s], topic: %s } }, delivery: outbox }
durability: { interval: 200ms }
`
	// pushedGraph is pushed to at any daemon, and answers when what was pushed is durable.
	pushedGraph = `graph: pushed
accumulators:
  events: { emit: { k: event.k, n: event.n } }
reactor: { key: k, shards: 16, strategy: sequential }
nodes:
  row: { expr: '{ "k": key, "n": events.n }' }
outputs:
  rows: { from: row, sink: { postgres: { table: pushed, columns: [k, n] } } }
durability: { mode: journal }
`
	// wholeGraph is one that is not dealt, with an outbox to a receiver that drops ids it has seen.
	wholeGraph = `graph: whole%d
accumulators:
  ticks: { source: { generator: { every: 20ms, expr: '{ "n": i }' } }, strategy: sequential }
nodes:
  n: { expr: ticks }
  row: { expr: '{ "g": "whole%d", "n": ticks.n, "epoch": epoch() }' }
outputs:
  rows: { from: row, sink: { postgres: { table: whole, columns: [g, n, epoch] } } }
  hook: { from: n, sink: { http: { url: %q } }, delivery: outbox }
durability: { interval: 100ms }
`
)

var memberTables = []string{
	"create table dealt (pos bigserial, k text not null, n bigint not null, at timestamptz not null default " +
		"clock_timestamp(), by text not null default current_setting('application_name'))",
	"create table pushed (pos bigserial, k text not null, n bigint not null)",
	"create table whole (pos bigserial, g text not null, n bigint not null, epoch bigint not null)",
}

// memberFaults is how many faults are dealt, and by which seed.
func memberFaults(t *testing.T) (n int, seed uint64) {
	t.Helper()
	n, seed = 3, 1
	for name, into := range map[string]func(uint64){
		"GRAPHD_MEMBER_FAULTS": func(v uint64) { n = int(v) }, "GRAPHD_MEMBER_SEED": func(v uint64) { seed = v },
	} {
		if s := os.Getenv(name); s != "" {
			v, err := strconv.ParseUint(s, 10, 31)
			if err != nil {
				t.Fatalf("%s is %q, not a number", name, s)
			}
			into(v)
		}
	}
	return n, seed
}

// full says that faults were asked for at length, on a machine that has time for them.
func full() bool { return os.Getenv("GRAPHD_MEMBER_FAULTS") != "" }

const wholes = 3

// TestKillMembers deals faults to four daemons that share a database, a dealt graph under load and a few others
// (M48–M53): members are killed, suspended, drained, stopped, added, and cut from the store and from each other, and
// the database is restarted. Afterwards it counts, apart from them: each event of each key once and in order in the
// table that the commits write, nothing lost or doubled at the receivers of the outboxes once ids that were seen are
// dropped, what was acknowledged there, books that balance over all shards, and no graph that has failed.
func TestKillMembers(t *testing.T) {
	n, seed := memberFaults(t)
	brokers := testbed.Kafka(t)
	in, out := testbed.Topic(t, brokers, partitions), testbed.Topic(t, brokers, 8)
	const lease = 3 * time.Second
	eachSecond := 2500
	if !full() {
		eachSecond = 1000 // others have tests beside this one
	}
	f := newFleet(t, 5, []string{"--rebalance-after", "3s", "--connections", "store=store"}, memberTables...)
	for _, s := range f.seats[:4] {
		s.start()
	}
	quoted := `"` + strings.Join(brokers, `", "`) + `"`
	f.apply("dealt", fmt.Sprintf(dealtGraph, quoted, in, quoted, out))
	f.apply("pushed", pushedGraph)
	var hooks []*effects
	for i := range wholes {
		hooks = append(hooks, receive(t))
		f.apply(fmt.Sprintf("whole%d", i), fmt.Sprintf(wholeGraph, i, i, hooks[i].server.URL))
	}
	f.rowsByCommit("dealt", "pushed", "whole0")
	feed := feedKeyed(t, brokers, in, eachSecond)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	defer cancel()
	bases := make([]string, 0, 4)
	for _, s := range f.seats[:4] {
		bases = append(bases, "http://"+s.api)
	}
	push := startKeyedPush(ctx, "pushed", 4, func() []string { return bases })
	f.until("all graphs fire", stuck, func() bool {
		return f.one("select count(*) from dealt") > 0 && f.one("select count(distinct g) from whole") == wholes &&
			f.one("select count(*) from pushed") > 0
	})

	d := &dealer{f: f, graph: "dealt", lease: lease, rng: rand.New(rand.NewPCG(seed, 7))}
	d.dealAll(n)
	took := f.until("everything runs where it belongs", stuck, func() bool { return f.settled() })
	t.Logf("seed %d: %d faults; everything where it belongs %v after the last was undone", seed, n,
		took.Round(time.Millisecond))

	cancel()
	push.wg.Wait()
	next, total, rate := feed.end(t)
	f.until("everything is through", slack*time.Minute, func() bool { return f.through("dealt", total) })
	if full() && rate < 2000 {
		t.Errorf("the test is void: the load was %.0f events/s, below 2,000", rate)
	}
	t.Logf("%d events at %.0f events/s", total, rate)
	f.books("dealt", total)
	f.unharmed("dealt", "pushed", "whole0", "whole1", "whole2")
	f.spread("dealt")
	f.countPushed(push, "pushed")
	f.countWhole(hooks)
	for _, s := range f.seats[:4] {
		if err := s.end(syscall.SIGTERM); err != nil {
			t.Errorf("daemon %d did not stop cleanly: %v", s.n, err)
		}
	}
	at := f.countRows("dealt", shards, next)
	sent := countTopic(t, brokers, out, 8, shards, next)
	t.Logf("outbox: %d delivered, %d of them again", len(sent.ids)+sent.again, sent.again)
	d.tellSilences(at)
}

func (f *fleet) apply(name, doc string) {
	f.t.Helper()
	if err := f.ask("PUT", "/v1/graphs/"+name, doc, nil); err != nil {
		f.t.Fatal(err)
	}
}

// settled says that all four know of each other, that each graph and shard is live, and with the member that it ranks
// first. What is not so yet is kept for who waits in vain.
func (f *fleet) settled() bool {
	f.lacks = f.unsettled()
	return f.lacks == ""
}

func (f *fleet) unsettled() string {
	list, err := f.members()
	if err != nil {
		return err.Error()
	}
	owned := map[string]int{}
	for i := range list {
		if list[i].State != "live" {
			return fmt.Sprintf("member %s is %s", list[i].ID, list[i].State)
		}
		for _, g := range list[i].Graphs {
			if g.Rank != 1 {
				return fmt.Sprintf("shard %d of %s is at %s, where it ranks %d", g.Shard, g.Graph, list[i].ID, g.Rank)
			}
			owned[g.Graph]++
		}
	}
	if len(list) != 4 || len(owned) != 2+wholes {
		return fmt.Sprintf("%d members run %v", len(list), owned)
	}
	for name, n := range owned {
		// Asked where it is not, the answer comes from who has it, or not at all.
		var s api.GraphSummary
		if err := f.ask("GET", "/v1/graphs/"+name, "", &s); err != nil {
			return err.Error()
		}
		if s.Health != "live" || n != max(1, len(s.Shards)) {
			return fmt.Sprintf("graph %s is %s (%+v), %d of its %d shards run", name, s.Health, s.HealthReason, n,
				len(s.Shards))
		}
	}
	return ""
}

// through says that a graph has taken all events in, and that nothing is left in its outboxes.
func (f *fleet) through(name string, total int64) bool {
	var s summary
	if f.ask("GET", "/v1/graphs/"+name, "", &s) != nil || s.Counters.Consumed < total {
		return false
	}
	for _, o := range s.Outputs {
		if o.Pending > 0 {
			return false
		}
	}
	return true
}
