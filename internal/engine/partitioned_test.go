package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary/partitioner"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/compile"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/kafkanet"
	"github.com/graphd/graphd/internal/sink/stdout"
	kafkasource "github.com/graphd/graphd/internal/source/kafka"
	"github.com/graphd/graphd/internal/testbed"
)

const partitionedGraph = `graph: g
accumulators:
  a:
    source: { kafka: { topic: %q, brokers: [%s] } }
    where: event.x != nil && event.x >= 0
    fold:
      key: event.id
      init: { n: 0, h: 7 }
      step: { n: state.n + 1, h: (state.h * 31 + event.x) %% 1000003 }
    strategy: sequential
%sreactor: { key: id, shards: %d }
nodes: { n: { expr: '[key, a.n, a.h]' } }
outputs: { o: { from: n, sink: { drop: {} } } }
durability: { interval: 100ms }
`

// partitionedWorld is a topic whose records were dealt by a client of its own, and what a program makes of them.
type partitionedWorld struct {
	t      *testing.T
	addrs  []string
	topic  string
	sent   int
	folded map[string][2]int // by key as JSON: how many, and their hash
}

func newPartitioned(t *testing.T, partitions int) *partitionedWorld {
	w := &partitionedWorld{t: t, addrs: testbed.Kafka(t), folded: map[string][2]int{}}
	w.topic = testbed.Topic(t, w.addrs, partitions)
	return w
}

func (w *partitionedWorld) document(partitioned bool, shards int) string {
	by := ""
	if partitioned {
		by = "    partitioned: murmur2\n"
	}
	return fmt.Sprintf(partitionedGraph, w.topic, strings.Join(w.addrs, ", "), by, shards)
}

// produce writes n events by a client with the Java client's function, the way it does it by itself. One key in ten is
// a number, which the record has as its digits. partition, where it is not negative, is that of all of them.
func (w *partitionedWorld) produce(n, keys, partition, pad int) {
	w.t.Helper()
	opts := []kgo.Opt{kgo.SeedBrokers(w.addrs...), kgo.MetadataMinAge(50 * time.Millisecond),
		kgo.ProducerBatchCompression(kgo.NoCompression())}
	if partition >= 0 {
		opts = append(opts, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	}
	c, err := kgo.NewClient(opts...)
	if err != nil {
		w.t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	var all []*kgo.Record
	for range n {
		w.sent++
		k := w.sent % keys
		id, name := fmt.Sprintf("%q", fmt.Sprintf("k%d", k)), fmt.Sprintf("k%d", k)
		if k%10 == 3 {
			id, name = strconv.Itoa(k), strconv.Itoa(k)
		}
		all = append(all, &kgo.Record{Topic: w.topic, Key: []byte(name), Partition: int32(partition),
			Value: fmt.Appendf(nil, `{"id":%s,"x":%d,"pad":%q}`, id, w.sent, strings.Repeat("p", pad))})
		if partition < 0 {
			w.fold(id, w.sent)
		}
	}
	if err := c.ProduceSync(ctx, all...).FirstErr(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *partitionedWorld) fold(id string, x int) {
	f, ok := w.folded[id]
	if !ok {
		f[1] = 7
	}
	w.folded[id] = [2]int{f[0] + 1, (f[1]*31 + x) % 1000003}
}

func (w *partitionedWorld) start(store checkpoint.Store) *bed {
	w.t.Helper()
	kinds := &scripted{source: func(string) accumulator.Source { return nil }}
	kinds.declared = func(*compile.Unit, int) accumulator.Source { return w.source(nil) }
	kinds.Stdout = stdout.NewOutput(os.Stderr)
	e := New(Config{Store: store, Kinds: kinds, Log: slog.New(slog.DiscardHandler)})
	if err := e.Open(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	return &bed{w.t, e, store}
}

func (w *partitionedWorld) apply(b *bed, doc string) {
	w.t.Helper()
	if _, err := b.e.Apply(w.t.Context(), shardedRef, []byte(doc), api.Change{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *partitionedWorld) push(b *bed, events ...string) {
	w.t.Helper()
	var raw []json.RawMessage
	for _, ev := range events {
		raw = append(raw, json.RawMessage(ev))
	}
	if res, err := b.e.Push(w.t.Context(), shardedRef, "a", raw); err != nil || res.Accepted != len(events) {
		w.t.Fatalf("push: %+v, %v", res, err)
	}
}

// source reads the topic; read, if not nil, counts the bytes that come from brokers.
func (w *partitionedWorld) source(read *atomic.Int64) accumulator.Source {
	cfg := kafkasource.Config{Topics: []string{w.topic}, Config: kafkanet.Config{Brokers: w.addrs}}
	if read != nil {
		cfg.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, addr)
			return countedConn{c, read}, err
		}
	}
	s, err := kafkasource.New(cfg)
	if err != nil {
		w.t.Error(err)
		return nil
	}
	return s
}

type countedConn struct {
	net.Conn
	read *atomic.Int64
}

func (c countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.read.Add(int64(n))
	return n, err
}

func (w *partitionedWorld) until(b *bed, what string, holds func(s *api.GraphSummary) bool) api.GraphSummary {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; <-time.After(20 * time.Millisecond) {
		s := b.summary("g")
		if holds(&s) {
			return s
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("waited for %s: %s %+v, %+v, %+v", what, s.Health, s.HealthReason, s.Counters, s.Shards)
		}
	}
}

// holds compares the graph with the program. order: what comes of a key depends on its events' order, which is said.
func (w *partitionedWorld) holds(b *bed, what string, dead int64, order bool) {
	w.t.Helper()
	s := w.until(b, what, func(s *api.GraphSummary) bool {
		return s.Health == "live" && s.Counters.Received >= int64(w.sent) && s.Counters.Queued == 0
	})
	sum := int64(0)
	for _, f := range w.folded {
		sum += int64(f[0])
	}
	if c := s.Counters; c.Consumed != sum || c.DeadLettered != dead || c.Received != sum+dead ||
		s.Keys.Count != len(w.folded) {
		w.t.Errorf("%s: want %d keys and %d events: %+v, %+v", what, len(w.folded), sum, c, s.Keys)
	}
	for id, f := range w.folded {
		want, got := fmt.Sprintf(`[%s,%d,%d]`, id, f[0], f[1]), b.node(id)
		if !order {
			want = want[:strings.LastIndexByte(want, ',')]
			got = got[:max(strings.LastIndexByte(got, ','), 0)]
		}
		if got != want {
			w.t.Errorf("%s: the graph has %s, want %s", what, got, want)
		}
	}
}

var ofPartition = regexp.MustCompile(`/(\d+)(?:#[^@,]*)?@`)

// inputs is what is shown of the inputs of a shard.
func (w *partitionedWorld) inputs(b *bed, n int) string {
	w.t.Helper()
	sum, err := b.e.Shard(w.t.Context(), shardedRef, n)
	if err != nil {
		w.t.Fatal(err)
	}
	text, err := json.Marshal(sum.Accumulators)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

// own holds that each shard has positions of its own partitions, and of all of them.
func (w *partitionedWorld) own(b *bed, shards, partitions int) {
	w.t.Helper()
	seen := map[int]bool{}
	for n := range shards {
		for _, m := range ofPartition.FindAllStringSubmatch(w.inputs(b, n), -1) {
			p, _ := strconv.Atoi(m[1])
			if seen[p] = true; p%shards != n {
				w.t.Errorf("shard %d has a position of partition %d", n, p)
			}
		}
	}
	if len(seen) != partitions {
		w.t.Errorf("the shards have positions of %d partitions, want %d", len(seen), partitions)
	}
}

// M49: a topic that the client of another library has dealt by key: four shards read it each its own partitions, and
// what comes of each key is what one graph and a program have. A record in another partition than its key's is a dead
// letter, and replayed it is taken in where its key is. Partitions that are added are read as long as they are a
// multiple of the shards, and no key moves.
func TestM49PartitionedByTheProducer(t *testing.T) {
	w := newPartitioned(t, 16)
	w.produce(3000, 150, -1, 0)
	one := w.start(memstore.New())
	defer one.close()
	w.apply(one, w.document(false, 1))
	w.holds(one, "one graph", 0, true)

	store := memstore.New()
	b := w.start(store)
	defer func() { b.close() }()
	w.apply(b, w.document(true, 4))
	w.holds(b, "four shards", 0, true)
	w.own(b, 4, 16)
	for id := range w.folded {
		if got, want := b.node(id), one.node(id); got != want {
			t.Errorf("four shards have %s, one %s", got, want)
		}
	}

	w.push(b, `{"id":"k1","x":5}`, `{"id":13,"x":6}`)
	w.sent += 2
	w.fold(`"k1"`, 5)
	w.fold(`13`, 6)
	w.holds(b, "pushed", 0, true)
	home := partitioner.Murmur2.Shard([]byte(`"k1"`), 4)

	w.misplace(b, home)

	b.close()
	w.produce(300, 150, -1, 0)
	b = w.start(store)
	w.holds(b, "another process", 1, false)

	testbed.GrowTopic(t, w.addrs, w.topic, 32)
	w.until(b, "the new partitions", func(*api.GraphSummary) bool { return w.positions(b, 4) == 32 })
	w.produce(300, 150, -1, 0)
	w.holds(b, "32 partitions", 1, false)
	w.own(b, 4, 32)

	testbed.GrowTopic(t, w.addrs, w.topic, 34)
	s := w.until(b, "the odd number", func(s *api.GraphSummary) bool {
		r := s.HealthReason // a broker may be out of reach for a moment: that is another one
		return s.Health == "degraded" && r != nil && strings.Contains(r.Code+r.Detail, "partitions_changed")
	})
	if r := s.HealthReason; !strings.Contains(r.Detail, "until it has 36") {
		t.Errorf("34 partitions: %+v", r)
	}
	before := w.sent
	w.produce(300, 150, -1, 0)
	testbed.GrowTopic(t, w.addrs, w.topic, 36)
	w.produce(300, 150, -1, 0)
	s = w.until(b, "36 partitions", func(s *api.GraphSummary) bool {
		return s.Health == "live" && s.Counters.Received >= int64(w.sent) && s.Counters.Queued == 0
	})
	// Of the first half those whose partition of 34 is not of their shard.
	if dead := s.Counters.DeadLettered - 1; dead == 0 || dead > int64(w.sent-before)/2 {
		t.Errorf("%d of %d events are dead letters", dead, w.sent-before)
	}
	w.replay(b)
	w.holds(b, "replayed", s.Counters.DeadLettered, false)
}

// misplace writes an event into a partition of another shard than home, its key's, and replays the letter.
func (w *partitionedWorld) misplace(b *bed, home int) {
	w.t.Helper()
	before := b.node(`"k1"`)
	for w.sent%150 != 0 {
		w.produce(1, 150, -1, 0)
	}
	w.produce(1, 150, (home+1)%4, 0) // of k1
	w.until(b, "the letter", func(s *api.GraphSummary) bool { return s.Counters.DeadLettered == 1 })
	letters := b.letters("g")
	if len(letters) != 1 || letters[0].Code != "key_misplaced" || letters[0].Shard != (home+1)%4 {
		w.t.Fatalf("%+v", letters)
	}
	if after := b.node(`"k1"`); !strings.HasPrefix(after, before[:strings.LastIndexByte(before, ',')]) {
		w.t.Errorf("%s before, and %s after an event that is misplaced", before, after)
	}
	w.fold(`"k1"`, w.sent)
	w.replay(b)
	w.holds(b, "the letter replayed", 1, true)
}

// replay replays all letters: each is a new event, and was counted once.
func (w *partitionedWorld) replay(b *bed) {
	w.t.Helper()
	for page := b.letters("g"); len(page) > 0; page = b.letters("g") {
		for _, l := range page {
			if res, err := b.e.ReplayDeadLetter(w.t.Context(), shardedRef, l.ID); err != nil || res.Accepted != 1 {
				w.t.Fatalf("replay %+v: %+v, %v", l, res, err)
			}
			w.sent++
		}
	}
}

// positions is of how many partitions the shards have positions.
func (w *partitionedWorld) positions(b *bed, shards int) (n int) {
	for k := range shards {
		n += len(ofPartition.FindAllString(w.inputs(b, k), -1))
	}
	return n
}
