package daemon

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/internal/testbed"
	"github.com/graphd/graphd/internal/testbed/server"
)

const kafkaToKafka = `graph: through
accumulators:
  orders:
    source: { kafka: { topic: %q, group: lag-tools } }
    emit: { n: event.n, partition: meta.partition }
reactor: { strategy: sequential }
nodes:
  doubled: { expr: '{"n": orders.n, "twice": orders.n * 2}' }
outputs:
  out: { from: doubled, sink: { kafka: { topic: %q, key: value.n %% 10, compression: lz4 } } }
`

// kafkaClient is another client library than the one under test.
func kafkaClient(t *testing.T, addrs []string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(addrs...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MetadataMinAge(50 * time.Millisecond)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// produceNumbers writes the orders from a up to, but without, b; some are no JSON.
func produceNumbers(t *testing.T, c *kgo.Client, topic string, a, b int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	var list []*kgo.Record
	for n := a; n < b; n++ {
		text := fmt.Sprintf(`{"n":%d}`, n)
		if n%100 == 99 {
			text = "poison"
		}
		list = append(list, &kgo.Record{Topic: topic, Partition: int32(n % 3), Value: []byte(text)})
	}
	if err := c.ProduceSync(ctx, list...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// consumed reads the output until every n up to most is there, and answers how often each is.
func consumed(t *testing.T, addrs []string, topic string, most int) map[string]int {
	t.Helper()
	c := kafkaClient(t, addrs, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	seen := map[string]int{}
	for len(seen) < most {
		f := c.PollFetches(ctx)
		if err := f.Err0(); err != nil {
			t.Fatalf("%d of %d values came out: %v", len(seen), most, err)
		}
		for _, r := range f.Records() {
			seen[string(r.Value)]++
		}
	}
	return seen
}

// F21, M29, M42: from topic to topic through a daemon that is stopped and started, over a
// broker that is stopped and killed under it: every event is in the state once, every value
// comes out, the books balance after each, and the group's offsets follow the checkpoint.
func TestKafkaToKafka(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a broker three times")
	}
	k := testbed.OwnKafka(t, server.KafkaConfig{})
	addrs := k.Addrs()
	in, out := testbed.Topic(t, addrs, 3), testbed.Topic(t, addrs, 3)
	c := kafkaClient(t, addrs)
	data := t.TempDir()
	config := graphd.Config{Data: data, KafkaBrokers: addrs}
	d := startDaemon(t, config)
	d.do("PUT", "/v1/graphs/through", fmt.Sprintf(kafkaToKafka, in, out), 201, nil)
	const round = 600
	total := 0
	reach := func() {
		t.Helper()
		d.until("all is consumed", func() bool {
			s := d.summary("through")
			return s.Counters.Received == int64(total) && s.Counters.Queued == 0
		})
		s := d.summary("through")
		if err := s.balanced(); err != nil || s.Counters.DeadLettered != int64(total/100) ||
			s.Counters.Consumed != int64(total-total/100) {
			t.Fatalf("after %d: %v %+v", total, err, s.Counters)
		}
	}
	faults := []func(){
		func() {},
		func() { restart(t, k, func() { _ = k.Stop(0) }) },
		func() { restart(t, k, func() { k.Kill(0) }) },
		func() {
			d.stop()
			d = startDaemon(t, config)
		},
	}
	for _, fault := range faults {
		produceNumbers(t, c, in, total, total+round/2)
		fault()
		produceNumbers(t, c, in, total+round/2, total+round)
		total += round
		reach()
	}
	seen := consumed(t, addrs, out, total-total/100)
	for n := range total {
		if v := fmt.Sprintf(`{"n":%d,"twice":%d}`, n, 2*n); n%100 != 99 && seen[v] == 0 {
			t.Fatalf("%s is not in the topic", v)
		}
	}
	d.do("POST", "/v1/graphs/through/checkpoint", "", 200, nil)
	deadline := time.Now().Add(time.Minute)
	for groupTotal(t, c, "lag-tools", in) != int64(total) {
		if time.Now().After(deadline) {
			t.Fatalf("the group is at %d of %d", groupTotal(t, c, "lag-tools", in), total)
		}
		<-time.After(50 * time.Millisecond)
	}
	d.until("the lag is told", func() bool {
		text := d.metrics()
		return strings.Contains(text, `graphd_source_lag{accumulator="orders",graph="through",tenant="default"} 0`)
	})

	// M44: records of one partition are gone before they were read.
	d.stop()
	produceNumbers(t, c, in, total, total+90)
	deleteUpTo(t, c, in, 0, int64(total/3+30))
	d = startDaemon(t, config)
	d.until("the graph has halted", func() bool {
		s := d.summary("through")
		return s.Health == "halted" && s.HealthReason.Code == "source_data_lost"
	})
	d.do("POST", "/v1/graphs/through/skip-lost", `{"accumulator":"orders"}`, 200, nil)
	d.until("the other partitions are read", func() bool {
		s := d.summary("through")
		return s.Health == "live" && s.Counters.Received == int64(total+60) && s.Counters.Queued == 0
	})
	if s := d.summary("through"); s.balanced() != nil {
		t.Errorf("%+v", s.Counters)
	}
}

// deleteUpTo removes a partition's records before an offset, as retention does.
func deleteUpTo(t *testing.T, c *kgo.Client, topic string, partition int32, offset int64) {
	t.Helper()
	req := kmsg.NewPtrDeleteRecordsRequest()
	rt := kmsg.NewDeleteRecordsRequestTopic()
	rp := kmsg.NewDeleteRecordsRequestTopicPartition()
	rt.Topic, rp.Partition, rp.Offset = topic, partition, offset
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics, req.TimeoutMillis = append(req.Topics, rt), 5000
	for _, shard := range c.RequestSharded(t.Context(), req) {
		if shard.Err != nil {
			t.Fatal(shard.Err)
		}
		for _, rt := range shard.Resp.(*kmsg.DeleteRecordsResponse).Topics {
			for _, rp := range rt.Partitions {
				if rp.ErrorCode != 0 {
					t.Fatalf("delete records: code %d", rp.ErrorCode)
				}
			}
		}
	}
}

func restart(t *testing.T, k *server.Kafka, end func()) {
	t.Helper()
	end()
	if err := k.Start(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
}

func (d *daemon) metrics() string {
	d.t.Helper()
	res, err := http.Get(d.base + "/metrics")
	if err != nil {
		d.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return string(text)
}

// groupTotal is the sum of a group's committed offsets in a topic.
func groupTotal(t *testing.T, c *kgo.Client, group, topic string) (sum int64) {
	t.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	g := kmsg.NewOffsetFetchRequestGroup()
	req.Group, g.Group = group, group
	req.Groups = append(req.Groups, g)
	res, err := req.RequestWith(t.Context(), c)
	if err != nil {
		return -1 // the coordinator is not there yet
	}
	for _, g := range res.Groups {
		for _, rt := range g.Topics {
			for _, p := range rt.Partitions {
				if rt.Topic == topic {
					sum += max(p.Offset, 0)
				}
			}
		}
	}
	return sum
}
