package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/graphd/graphd/bench/seen"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/testbed/server"
)

// declaration folds what comes of each of many keys: an epoch and a value of a node for every record. What is put in
// is the topic, what is said of how it is partitioned, and the number of shards.
const declaration = `graph: totals
accumulators:
  ticks:
    source: { kafka: { topic: %s } }%s
    fold: { key: event.symbol, init: { n: 0, sum: 0 }, step: { n: state.n + 1, sum: state.sum + event.ask } }
reactor: { key: symbol, shards: %d, strategy: sequential }
durability: { mode: checkpoint }
nodes:
  mean: { expr: 'ticks.sum / ticks.n' }
outputs:
  means: { from: mean, sink: { drop: {} } }
`

const (
	// patience is how long a contender may take, and interval how often it is asked how far it is.
	patience, interval = 15 * time.Minute, 200 * time.Millisecond
	// restFor is how long a graph that has nothing more to read is looked at, settle how long after its last event.
	restFor, settle = 5 * time.Second, 3 * time.Second
)

// contender is one way to read the topic.
type contender struct {
	name        string
	capacities  []int // of its members
	partitioned bool
}

func contenders() []contender {
	return []contender{
		{"one", []int{1}, false},
		{"two", []int{1, 1}, false},
		{"one, partitioned", []int{1}, true},
		{"two, partitioned", []int{1, 1}, true},
		{"1:16", []int{1, 16}, false},
	}
}

// taken is what a contender took once.
type taken struct {
	wall         time.Duration // until the last record, from when all members could read
	first        time.Duration // before that: from the broker's going on until each of them had read something
	ahead        int64         // records that had been read by then
	cpu          []time.Duration
	broker, base time.Duration
	own          []int64         // records of each member's own shards
	rest         []time.Duration // processor time of each member in restFor
}

// world is what the contenders share.
type world struct {
	c                  *config
	kafka              *server.Kafka
	pg                 *server.Postgres
	dir, secret        string
	databases          int
	plain, partitioned dealt
}

// database makes one of its own for a contender, with the schema in it.
func (w *world) database(ctx context.Context) (string, error) {
	w.databases++
	name := fmt.Sprintf("run%d", w.databases)
	conn, err := pgx.Connect(ctx, w.pg.DSN())
	if err != nil {
		return "", fmt.Errorf("connect to the database: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "create database "+name); err != nil {
		return "", fmt.Errorf("make a database: %w", err)
	}
	dsn := strings.Replace(w.pg.DSN(), "/postgres?", "/"+name+"?", 1)
	if out, err := exec.CommandContext(ctx, w.c.graphd, "migrate", "--store", dsn).CombinedOutput(); err != nil {
		return "", fmt.Errorf("migrate: %w: %s", err, out)
	}
	w.secret = filepath.Join(w.dir, "secret")
	return dsn, os.WriteFile(w.secret, []byte(strings.Repeat("s3cret-", 8)), 0o600)
}

// read has a contender read its topic.
func (w *world) read(ctx context.Context, c *contender) (t taken, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	dsn, err := w.database(ctx)
	if err != nil {
		return t, err
	}
	var all []*daemon
	defer func() {
		for _, d := range all {
			d.stop()
			if err != nil {
				err = fmt.Errorf("%w\n%s", err, d.log.String())
			}
		}
	}()
	for n, capacity := range c.capacities {
		d, err := w.start(ctx, dsn, n, capacity)
		if err != nil {
			return t, err
		}
		all = append(all, d)
	}
	if err := until(ctx, func() (bool, error) { // the members know of each other
		for _, d := range all {
			members, err := d.members(ctx)
			if err != nil || len(members) != len(all) {
				return false, err
			}
		}
		return true, nil
	}); err != nil {
		return t, err
	}
	said, by := "", &w.plain
	if c.partitioned {
		said, by = "\n    partitioned: murmur2", &w.partitioned
	}
	// The broker answers when each member has its shards: what they take to come there is no matter of reading.
	if err := w.kafka.Pause(0); err != nil {
		return t, fmt.Errorf("stop the broker: %w", err)
	}
	defer func() { _ = w.kafka.Resume(0) }()
	text := fmt.Sprintf(declaration, topic, said, shards)
	if err := all[0].ask(ctx, "PUT", "/v1/graphs/totals", text, nil); err != nil {
		return t, err
	}
	if err := until(ctx, func() (bool, error) { return w.placed(ctx, all, by, &t) }); err != nil {
		return t, err
	}
	if err := w.connect(ctx, all, &t); err != nil {
		return t, err
	}
	err = w.time(ctx, all, by, c.name, &t)
	return t, err
}

// connect has the broker go on, and waits until each member has read something of the graph, which does not fire yet.
// Members that have asked a broker in vain ask again after a while, each after another one: that is no matter of
// reading either. What they read meanwhile has room in front of the shards, 1,024 records of each at most.
func (w *world) connect(ctx context.Context, all []*daemon, t *taken) error {
	if err := all[0].ask(ctx, "POST", "/v1/graphs/totals/pause", "", nil); err != nil {
		return err
	}
	began := time.Now()
	if err := w.kafka.Resume(0); err != nil {
		return fmt.Errorf("have the broker go on: %w", err)
	}
	for _, d := range all {
		if err := until(ctx, func() (bool, error) {
			n, err := d.received(ctx)
			return n > 0, err
		}); err != nil {
			return err
		}
	}
	t.first = time.Since(began)
	return nil
}

// time takes how long the members read, what it takes of the processors, and what they take afterwards.
func (w *world) time(ctx context.Context, all []*daemon, by *dealt, name string, t *taken) error {
	before, err := w.used(all)
	if err != nil {
		return err
	}
	for _, d := range all {
		n, err := d.received(ctx)
		if err != nil {
			return err
		}
		t.ahead += n
	}
	began := time.Now()
	if err := all[0].ask(ctx, "POST", "/v1/graphs/totals/resume", "", nil); err != nil {
		return err
	}
	recorded := make(chan error, 1)
	go func() { recorded <- w.record(ctx, all[0], name) }() // awaited below
	if err := until(ctx, func() (bool, error) { return all[0].through(ctx, int64(w.c.events)) }); err != nil {
		return err
	}
	t.wall = time.Since(began)
	if err := <-recorded; err != nil {
		return err
	}
	after, err := w.used(all)
	if err != nil {
		return err
	}
	for i := range all {
		t.cpu = append(t.cpu, after.cpu[i]-before.cpu[i])
	}
	t.broker, t.base = after.broker-before.broker, after.base-before.base
	if after, err = w.later(ctx, all, settle); err != nil { // the last of it is committed
		return err
	}
	end, err := w.later(ctx, all, restFor)
	if err != nil {
		return err
	}
	for i := range all {
		t.rest = append(t.rest, end.cpu[i]-after.cpu[i])
	}
	had := slices.Clone(t.own)
	if _, err := w.placed(ctx, all, by, t); err != nil || !slices.Equal(had, t.own) {
		return fmt.Errorf("shards have moved meanwhile: measure again, %w", err)
	}
	return nil
}

// later is what they have used so far, after a while.
func (w *world) later(ctx context.Context, all []*daemon, while time.Duration) (taken, error) {
	select {
	case <-ctx.Done():
		return taken{}, ctx.Err()
	case <-time.After(while):
		return w.used(all)
	}
}

// recordFor is how many seconds a profile is of.
const recordFor = 5

// record writes a profile of a member where profiles are asked for.
func (w *world) record(ctx context.Context, d *daemon, name string) error {
	if w.c.profiles == "" {
		return nil
	}
	address := strings.TrimPrefix(d.url, "http://")
	return seen.Record(ctx, address, recordFor, filepath.Join(w.c.profiles, name+".prof"))
}

// until asks again and again, until it is so or never will be, or ctx is done.
func until(ctx context.Context, so func() (bool, error)) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		done, err := so()
		if done {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it did not come as far as it should: %w, %w", ctx.Err(), err)
		case <-tick.C:
		}
	}
}

// through says whether a graph has consumed so many events, and each of them once, and runs in all of its shards.
func (d *daemon) through(ctx context.Context, events int64) (bool, error) {
	var g api.GraphSummary
	if err := d.ask(ctx, "GET", "/v1/graphs/totals", "", &g); err != nil {
		return false, err
	}
	if g.Health == "failed" || g.Counters.DeadLettered > 0 || g.Counters.Consumed > events {
		return true, fmt.Errorf("the graph is %s, its books %+v, of %d events", g.Health, g.Counters, events)
	}
	if g.Health != "live" || g.Counters.Consumed < events {
		return false, fmt.Errorf("the graph is %s, its books %+v, of %d events", g.Health, g.Counters, events)
	}
	return true, nil
}

func (d *daemon) members(ctx context.Context) ([]api.Member, error) {
	var page api.Page[api.Member]
	err := d.ask(ctx, "GET", "/v1/members", "", &page)
	return page.Items, err
}

// used is what the daemons, the broker and the database have used so far.
func (w *world) used(all []*daemon) (t taken, err error) {
	for _, d := range all {
		cpu, err := d.used()
		if err != nil {
			return t, err
		}
		t.cpu = append(t.cpu, cpu)
	}
	for _, id := range w.kafka.Processes() {
		cpu, err := seen.Family(id)
		if err != nil {
			return t, err
		}
		t.broker += cpu
	}
	t.base, err = seen.Family(w.pg.Process())
	return t, err
}

// placed says whether each shard is at the member that it belongs to, and has how many records each member has of its
// own shards be told.
func (w *world) placed(ctx context.Context, all []*daemon, by *dealt, t *taken) (bool, error) {
	t.own = nil
	n := 0
	for _, d := range all {
		members, err := d.members(ctx)
		if err != nil {
			return false, err
		}
		own := int64(0)
		for i := range members {
			for _, placed := range members[i].Graphs {
				if members[i].Self && placed.Rank == 1 {
					own += by[placed.Shard]
					n++
				}
			}
		}
		t.own = append(t.own, own)
	}
	if n != shards {
		return false, fmt.Errorf("%d of %d shards are where they belong", n, shards)
	}
	return true, nil
}
