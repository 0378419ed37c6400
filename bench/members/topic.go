package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/segmentio/kafka-go"
)

const (
	// shards are those of the graph, and the partitions of the topic.
	shards = 64
	// symbols are the keys.
	symbols = 10_000
	// topic has the events.
	topic = "ticks"
	// batch is how many records are written at a time.
	batch = 10_000
)

// dealt are how many of the topic's records each shard is to have.
type dealt [shards]int64

// symbol is the key of a record.
func symbol(i int) string { return fmt.Sprintf("SYM%05d", i%symbols) }

// fill makes the topics and writes the records, each to the partition that murmur2 gives its key.
func (w *world) fill(ctx context.Context) error {
	addr := w.kafka.Addrs()[0]
	client := &kafka.Client{Addr: kafka.TCP(addr), Transport: &kafka.Transport{MetadataTTL: 100 * time.Millisecond}}
	if err := create(ctx, client, topic); err != nil {
		return err
	}
	all := make([]int, shards)
	for p := range all {
		all[p] = p
	}
	balancer := kafka.Murmur2Balancer{Consistent: true}
	parts, owners := make([]int, symbols), make([]int, symbols)
	for i := range symbols {
		text, err := json.Marshal(symbol(i))
		if err != nil {
			return err
		}
		parts[i] = balancer.Balance(kafka.Message{Key: []byte(symbol(i))}, all...)
		owners[i] = int(xxhash.Sum64(text) % shards)
	}
	out := &kafka.Writer{Addr: kafka.TCP(addr), Topic: topic, RequiredAcks: kafka.RequireAll, Balancer: balancer,
		BatchSize: batch, BatchTimeout: time.Millisecond}
	defer out.Close()
	list := make([]kafka.Message, 0, batch)
	for i := range w.c.events {
		w.partitioned[parts[i%symbols]]++
		w.plain[owners[i%symbols]]++
		list = append(list, kafka.Message{Key: []byte(symbol(i)), Value: fmt.Appendf(nil,
			`{"symbol":"%s","bid":%d.125,"ask":%d.250,"ts":%d}`, symbol(i), 1000+i%9000, 1000+i%9000,
			1_700_000_000_000+i)})
		if len(list) < batch && i < w.c.events-1 {
			continue
		}
		if err := out.WriteMessages(ctx, list...); err != nil {
			return fmt.Errorf("fill the topic: %w", err)
		}
		list = list[:0]
		if i+1 == w.c.events {
			fmt.Fprintf(os.Stderr, "%d records are written\n", i+1)
		}
	}
	return nil
}

// create makes a topic, and waits until its leaders know of it.
func create(ctx context.Context, client *kafka.Client, name string) error {
	made, err := client.CreateTopics(ctx, &kafka.CreateTopicsRequest{
		Topics: []kafka.TopicConfig{{Topic: name, NumPartitions: shards, ReplicationFactor: 1}},
	})
	if err == nil {
		err = made.Errors[name]
	}
	if err != nil {
		return fmt.Errorf("create topic %s: %w", name, err)
	}
	var asked []kafka.OffsetRequest
	for p := range shards {
		asked = append(asked, kafka.LastOffsetOf(p))
	}
	for {
		res, err := client.ListOffsets(ctx, &kafka.ListOffsetsRequest{
			Topics: map[string][]kafka.OffsetRequest{name: asked},
		})
		ready := err == nil && len(res.Topics[name]) == shards
		for i := 0; ready && i < shards; i++ {
			ready = res.Topics[name][i].Error == nil
		}
		if ready {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}
