package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/graphd/graphd/internal/testbed"
)

// client is another client library than the one under test.
func (w *kafkaWorld) client(opts ...kgo.Opt) *kgo.Client {
	w.t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(w.addrs...), kgo.MetadataMinAge(50 * time.Millisecond),
		kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts...)...)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// records are n events in each partition, which has keys of its own; one in ten is a tombstone.
func (w *kafkaWorld) records(n int) (all []*kgo.Record) {
	for i := range n * w.partitions {
		w.written++
		p := i % w.partitions
		id := fmt.Sprintf("k%d", p+100*(w.written%7))
		r := &kgo.Record{Topic: w.topic, Partition: int32(p), Key: []byte(id),
			Value: fmt.Appendf(nil, `{"id":%q,"x":%d}`, id, w.written)}
		if w.written%10 == 9 {
			r.Value = nil
		}
		all = append(all, r)
	}
	return all
}

// write writes a transaction that is aborted, one that is not, and what is in none.
func (w *kafkaWorld) write(n int) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	tx, plain := w.client(kgo.TransactionalID("tx-"+w.topic)), w.client()
	defer tx.Close()
	defer plain.Close()
	for _, end := range []kgo.TransactionEndTry{kgo.TryAbort, kgo.TryCommit} {
		if err := tx.BeginTransaction(); err != nil {
			w.t.Fatal(err)
		}
		if err := tx.ProduceSync(ctx, w.records(n)...).FirstErr(); err != nil {
			w.t.Fatal(err)
		}
		if err := tx.EndTransaction(ctx, end); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := plain.ProduceSync(ctx, w.records(n)...).FirstErr(); err != nil {
		w.t.Fatal(err)
	}
}

// ends are where the partitions end.
func (w *kafkaWorld) ends() map[int]int64 {
	w.t.Helper()
	var ask []kafka.OffsetRequest
	for p := range w.partitions {
		ask = append(ask, kafka.LastOffsetOf(p))
	}
	c := &kafka.Client{Addr: kafka.TCP(w.addrs...), Transport: &kafka.Transport{MetadataTTL: 50 * time.Millisecond}}
	res, err := c.ListOffsets(w.t.Context(),
		&kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{w.topic: ask}})
	if err != nil {
		w.t.Fatal(err)
	}
	ends := map[int]int64{}
	for _, p := range res.Topics[w.topic] {
		if p.Error != nil {
			w.t.Fatal(p.Error)
		}
		ends[p.Partition] = p.LastOffset
	}
	return ends
}

// lines are the values that another client reads in the topic, behind those of topics that had its name.
func (w *kafkaWorld) lines() []string {
	w.t.Helper()
	from := map[int32]kgo.Offset{}
	for p := range w.partitions {
		from[int32(p)] = kgo.NewOffset().AtStart()
	}
	// The mark that ends a transaction may be written behind what follows it, and then is last.
	c := w.client(kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{w.topic: from}))
	defer c.Close()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	lines := append([]string{}, w.before...)
	for ends := w.ends(); len(ends) > 0; {
		f := c.PollFetches(ctx)
		if err := f.Err0(); err != nil {
			w.t.Fatalf("reading up to %v: %v", ends, err)
		}
		for _, r := range f.Records() {
			switch {
			case r.Attrs.IsControl():
			case r.Value == nil:
				lines = append(lines, "null")
			default:
				lines = append(lines, string(r.Value))
			}
			if r.Offset+1 >= ends[int(r.Partition)] {
				delete(ends, int(r.Partition))
			}
		}
	}
	return lines
}

// compact writes until the broker has compacted the topic, and has it leave that.
func (w *kafkaWorld) compact() {
	w.t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); ; <-time.After(500 * time.Millisecond) {
		w.write(2)
		if len(w.lines()) < w.written*2/3-10 { // a third of what is written is aborted
			break
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("the broker has not compacted %d records", w.written)
		}
	}
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	res := kmsg.NewIncrementalAlterConfigsRequestResource()
	res.ResourceType, res.ResourceName = kmsg.ConfigResourceTypeTopic, w.topic
	cfg := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	cfg.Name, cfg.Value = "cleanup.policy", kmsg.StringPtr("delete")
	res.Configs = append(res.Configs, cfg)
	req.Resources = append(req.Resources, res)
	c := w.client()
	defer c.Close()
	done, err := req.RequestWith(w.t.Context(), c)
	if err != nil || done.Resources[0].ErrorCode != 0 {
		w.t.Fatalf("keep what is left: %v, %+v", err, done)
	}
}

// grow gives the topic more partitions.
func (w *kafkaWorld) grow(to int) {
	w.t.Helper()
	testbed.GrowTopic(w.t, w.addrs, w.topic, to)
	w.partitions = to
}
