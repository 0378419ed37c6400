package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/compile"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/job"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/sink/stdout"
	"github.com/graphd/graphd/internal/source/file"
	kafkasource "github.com/graphd/graphd/internal/source/kafka"
	"github.com/graphd/graphd/internal/testbed"
)

// What the graph folds of a key depends on the order of its events. A tombstone is filtered.
const kafkaShards = `graph: g
accumulators:
  a:
    source: { kafka: { topic: %q, brokers: [%s] } }
    where: event != nil
    fold:
      key: event.id
      init: { n: 0, h: 7 }
      step: { n: state.n + 1, h: (state.h * 31 + event.x) %% 1000003 }
    strategy: sequential
reactor: { key: id, shards: 4 }
nodes: { n: { expr: '[key, a.n, a.h]' } }
outputs: { o: { from: n, sink: { drop: {} } } }
durability: { interval: 100ms }
`

// countedKafka counts how often its topic is being read at once, and how often at most.
type countedKafka struct {
	*kafkasource.Source
	now, most *atomic.Int64
}

// Run implements [accumulator.Source].
func (c countedKafka) Run(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
	defer c.now.Add(-1)
	if n := c.now.Add(1); n > c.most.Load() {
		c.most.Store(n)
	}
	return c.Source.Run(ctx, from, out)
}

// losesCommits is a store that does not answer one commit of shard 1 when it is told to.
type losesCommits struct {
	checkpoint.Store
	next atomic.Bool
}

// Commit implements [checkpoint.Store].
func (s *losesCommits) Commit(ctx context.Context, c *checkpoint.Commit) error {
	if c.ID.Shard == 1 && s.next.CompareAndSwap(true, false) {
		return checkpoint.ErrUnknownOutcome
	}
	return s.Store.Commit(ctx, c)
}

// kafkaWorld is a topic, a graph of four shards that reads it, and a program that reads it too.
type kafkaWorld struct {
	t          *testing.T
	addrs      []string
	topic      string
	partitions int
	written    int      // the last number that was written
	before     []string // the lines of topics that had the name
	store      *losesCommits
	now, most  atomic.Int64
	b          *bed
}

// start begins a process on the store.
func (w *kafkaWorld) start() {
	w.t.Helper()
	own := &builtin.Kinds{}
	kinds := &scripted{source: func(string) accumulator.Source { return nil }}
	kinds.declared = func(u *compile.Unit, i int) accumulator.Source {
		src, err := own.Source(u, i)
		if err != nil {
			w.t.Error(err)
			return nil
		}
		return countedKafka{src.(*kafkasource.Source), &w.now, &w.most}
	}
	w.b = newShardedOf(w.t, w.store, kinds)
}

func (w *kafkaWorld) document() string {
	return fmt.Sprintf(kafkaShards, w.topic, strings.Join(w.addrs, ", "))
}

// until waits until the summary is as it should be.
func (w *kafkaWorld) until(what string, holds func(s *api.GraphSummary) bool) api.GraphSummary {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; <-time.After(20 * time.Millisecond) {
		s := w.b.summary("g")
		if holds(&s) {
			return s
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("waited for %s: %s %+v, %+v, %+v", what, s.Health, s.HealthReason, s.Counters, s.Shards)
		}
	}
}

// holds compares the graph with a program that folds the lines, and with a bounded run over them.
func (w *kafkaWorld) holds(what string) {
	w.t.Helper()
	type folded struct{ n, h int }
	lines, want, tombstones := w.lines(), map[string]folded{}, int64(0)
	for _, line := range lines {
		if line == "null" {
			tombstones++
			continue
		}
		var ev struct {
			ID string
			X  int
		}
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			w.t.Fatal(err)
		}
		f, ok := want[ev.ID]
		if !ok {
			f.h = 7
		}
		want[ev.ID] = folded{f.n + 1, (f.h*31 + ev.X) % 1000003}
	}
	s := w.until(what, func(s *api.GraphSummary) bool {
		return s.Health == "live" && s.Counters.Received >= int64(len(lines)) && s.Counters.Queued == 0
	})
	c := s.Counters
	if c.Received != int64(len(lines)) || c.Filtered != tombstones || c.Consumed != c.Received-tombstones ||
		s.Keys.Count != len(want) || s.Keys.ShardsRunning != 4 {
		w.t.Errorf("%s: %d lines, %d tombstones and %d keys: %+v, %+v", what, len(lines), tombstones, len(want), c,
			s.Keys)
	}
	run := w.run(lines)
	for id, f := range want {
		key, value := fmt.Sprintf("%q", id), fmt.Sprintf("[%q,%d,%d]", id, f.n, f.h)
		if live := w.b.node(key); live != value || run[key] != value {
			w.t.Errorf("%s: the graph has %s, a run %s, want %s", what, live, run[key], value)
		}
	}
}

// run is the last value of each key in a bounded run over the lines.
func (w *kafkaWorld) run(lines []string) map[string]string {
	w.t.Helper()
	unit, diags := new(builtin.Kinds).Parse([]byte(w.document()), "")
	if err := diags.Err(); err != nil {
		w.t.Fatal(err)
	}
	in, err := file.NewReader(strings.NewReader(strings.Join(lines, "\n")), file.ReaderConfig{Format: "ndjson"})
	if err != nil {
		w.t.Fatal(err)
	}
	var out bytes.Buffer
	_, err = job.Run(w.t.Context(), job.Config{Unit: unit, Inputs: []job.Reader{in},
		Sinks: []sink.Sink{stdout.NewOutput(&out).Sink()}})
	if err != nil {
		w.t.Fatal(err)
	}
	last := map[string]string{}
	for line := range bytes.Lines(out.Bytes()) {
		var v struct{ Key, Value json.RawMessage }
		if err := json.Unmarshal(line, &v); err != nil {
			w.t.Fatal(err)
		}
		last[string(v.Key)] = string(v.Value)
	}
	return last
}

// M49, M44: four shards read a topic with transactions, compacted, once for all of them; one of them alone loses what
// it had and reads it again; partitions are added, the process is another, and the topic is made anew: each event is
// in the state of its key once, in the order of its partition, as a program and a bounded run have it.
func TestM49KafkaThroughTheOneReader(t *testing.T) {
	addrs := testbed.Kafka(t)
	w := &kafkaWorld{t: t, addrs: addrs, partitions: 3, store: &losesCommits{Store: memstore.New()},
		topic: testbed.Topic(t, addrs, 3, "cleanup.policy=compact", "segment.ms=100", "min.cleanable.dirty.ratio=0.01")}
	w.compact()
	w.start()
	defer func() { w.b.close() }()
	if _, err := w.b.e.Apply(t.Context(), shardedRef, []byte(w.document()), api.Change{}); err != nil {
		t.Fatal(err)
	}
	w.holds("compacted")

	before := w.b.summary("g").Shards
	w.store.next.Store(true)
	w.write(40)
	w.until("shard 1 alone", func(s *api.GraphSummary) bool {
		return len(s.Shards) == 4 && s.Shards[1].Incarnation > before[1].Incarnation
	})
	w.holds("after a restart of shard 1")
	for _, n := range []int{0, 2, 3} {
		if after := w.b.summary("g").Shards[n].Incarnation; after != before[n].Incarnation {
			t.Errorf("shard %d was restarted too", n)
		}
	}

	w.grow(6)
	w.write(20)
	w.holds("partitions added")

	w.b.close()
	w.write(20)
	w.start()
	w.holds("after a restart of the process")
	if most := w.most.Load(); most != 1 {
		t.Errorf("the topic was read %d times at once", most)
	}

	w.before = w.lines()
	testbed.DeleteTopic(t, addrs, w.topic)
	w.partitions = 2
	testbed.CreateTopic(t, addrs, kafka.TopicConfig{Topic: w.topic, NumPartitions: 2, ReplicationFactor: len(addrs)})
	w.write(10)
	w.until("the loss", func(s *api.GraphSummary) bool {
		return s.Health == "halted" && s.HealthReason.Code == "source_data_lost" && allHalted(s.Shards)
	})
	res, err := w.b.e.SkipLost(t.Context(), shardedRef, "a", "ann")
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Gaps) != 4*6 { // of each shard and partition
		t.Errorf("gaps: %+v", res.Gaps)
	}
	w.holds("made anew")
	w.write(10)
	w.holds("on in the new one")
}

func allHalted(shards []api.ShardSummary) bool {
	for _, s := range shards {
		if s.Health != "halted" {
			return false
		}
	}
	return true
}
