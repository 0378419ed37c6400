package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/graphd/graphd/bench/seen"
	brokers "github.com/graphd/graphd/internal/testbed/server"
)

// kafkaGraph is an epoch and an output for every record.
const kafkaGraph = `graph: through
accumulators:
  ticks: { source: { kafka: { topic: in } } }
reactor: { strategy: sequential }
outputs:
  out: { from: ticks, sink: { kafka: { topic: %q } } }
`

// maxRecords bounds the input: the broker keeps all runs' outputs.
const maxRecords = 500_000

// copied is what one copy of the topic took.
type copied struct {
	wall time.Duration // from the start of the process to the last record in the output topic
	seen.Usage
}

// throughKafka is Kafka to epoch to Kafka beside the library's own consume and produce, over
// one real broker.
func throughKafka(ctx context.Context, c *config, w io.Writer) (err error) {
	k, err := brokers.StartKafka(ctx, brokers.KafkaConfig{})
	if errors.Is(err, brokers.ErrMissing) {
		fmt.Fprintf(w, "\nkafka: left out: %v\n", err)
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.Close()) }()
	n := min(c.lines, maxRecords)
	addr := k.Addrs()[0]
	if err := fillTopic(ctx, addr, n); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the own binary: %w", err)
	}
	names := []string{"kafka-go Reader and Writer (floor)", "graphd, an epoch per record"}
	starts := []func(out string) (*server, error){
		func(out string) (*server, error) {
			return startServer(ctx, self, "floor", "kafka", addr, out, strconv.Itoa(n))
		},
		func(out string) (*server, error) {
			return startGraphd(ctx, c, map[string]string{"through": fmt.Sprintf(kafkaGraph, out)}, "--kafka-brokers",
				addr)
		},
	}
	results := make([][]copied, len(names))
	for run := range c.runs {
		for i, start := range starts {
			r, err := copyOnce(ctx, addr, fmt.Sprintf("out-%d-%d", i, run), n, start)
			if err != nil {
				return fmt.Errorf("%s: %w", names[i], err)
			}
			results[i] = append(results[i], r)
		}
	}
	return printCopies(w, n, names, results)
}

func printCopies(w io.Writer, n int, names []string, results [][]copied) error {
	fmt.Fprintf(w, "\nKafka to Kafka, %d records of 65 bytes, one partition, all replicas acknowledge; from the "+
		"start of the process\n", n)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\trecords/s\tlow…high\tx floor (time)\tCPU-s/M\tx floor (CPU)\tpeak MiB\t")
	var floor, floorCPU float64
	for i, list := range results {
		slices.SortFunc(list, func(a, b copied) int { return cmp.Compare(a.wall, b.wall) })
		mid, rate := list[len(list)/2], func(r copied) float64 { return float64(n) / r.wall.Seconds() }
		cpu := mid.CPU.Seconds() * 1e6 / float64(n)
		if i == 0 {
			floor, floorCPU = rate(mid), cpu
		}
		fmt.Fprintf(t, "%s\t%.0f\t%.0f…%.0f\t%.2f\t%.2f\t%.2f\t%d\t\n", names[i], rate(mid), rate(list[len(list)-1]),
			rate(list[0]),
			floor/rate(mid), cpu, cpu/floorCPU, mid.Peak>>20)
	}
	return t.Flush()
}

// copyOnce runs one program until the output topic has as many records as the input.
func copyOnce(ctx context.Context, addr, out string, n int, start func(out string) (*server, error)) (
	r copied, err error) {
	client := &kafka.Client{Addr: kafka.TCP(addr), Transport: &kafka.Transport{MetadataTTL: 100 * time.Millisecond}}
	if err := createTopic(ctx, client, out); err != nil {
		return r, err
	}
	began := time.Now()
	s, err := start(out)
	if err != nil {
		return r, err
	}
	defer s.stop()
	deadline := began.Add(5 * time.Minute)
	for {
		end, err := endOf(ctx, client, out)
		if err != nil {
			return r, err
		}
		if end >= int64(n) {
			r.wall = time.Since(began)
			if r.Usage, err = s.usage(); end > int64(n) {
				return r, fmt.Errorf("%d records came out of %d", end, n)
			}
			return r, err
		}
		if time.Now().After(deadline) {
			return r, fmt.Errorf("%d of %d records came out", end, n)
		}
		select {
		case <-ctx.Done():
			return r, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func createTopic(ctx context.Context, client *kafka.Client, name string) error {
	res, err := client.CreateTopics(ctx, &kafka.CreateTopicsRequest{
		Topics: []kafka.TopicConfig{{Topic: name, NumPartitions: 1, ReplicationFactor: 1}},
	})
	if err == nil {
		err = res.Errors[name]
	}
	if err != nil {
		return fmt.Errorf("create topic %s: %w", name, err)
	}
	for { // its leader learns of it a little later
		if _, err := endOf(ctx, client, name); err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// endOf is how many records a topic of one partition has.
func endOf(ctx context.Context, client *kafka.Client, topic string) (int64, error) {
	res, err := client.ListOffsets(ctx, &kafka.ListOffsetsRequest{
		Topics: map[string][]kafka.OffsetRequest{topic: {kafka.LastOffsetOf(0)}},
	})
	if err != nil {
		return 0, fmt.Errorf("look at topic %s: %w", topic, err)
	}
	p := res.Topics[topic]
	if len(p) != 1 || p[0].Error != nil {
		return 0, fmt.Errorf("look at topic %s: %+v", topic, p)
	}
	return p[0].LastOffset, nil
}

// fillTopic writes the input: ticks of 65 bytes.
func fillTopic(ctx context.Context, addr string, n int) error {
	client := &kafka.Client{Addr: kafka.TCP(addr), Transport: &kafka.Transport{MetadataTTL: 100 * time.Millisecond}}
	if err := createTopic(ctx, client, "in"); err != nil {
		return err
	}
	w := kafkaWriter(addr, "in")
	defer w.Close()
	batch := make([]kafka.Message, 0, floorBatch)
	for i := range n {
		text := fmt.Sprintf(`{"symbol":"SYM%03d","bid":%d.125,"ask":%d.250,"ts":%d}`, i%1000, 1000+i%9000, 1000+i%9000,
			1700000000000+i)
		if batch = append(batch, kafka.Message{Value: []byte(text)}); len(batch) == cap(batch) || i == n-1 {
			if err := w.WriteMessages(ctx, batch...); err != nil {
				return fmt.Errorf("fill the input topic: %w", err)
			}
			batch = batch[:0]
		}
	}
	return nil
}

// floorBatch is how many records the floor reads before it writes them.
const floorBatch = 1000

func kafkaWriter(addr, topic string) *kafka.Writer {
	return &kafka.Writer{Addr: kafka.TCP(addr), Topic: topic, RequiredAcks: kafka.RequireAll, BatchSize: floorBatch,
		BatchTimeout: time.Millisecond}
}

// runKafkaFloor is `bench floor kafka BROKER OUTPUT N`: what a good programmer would write
// with the library's own Reader and Writer. It neither decodes, nor keeps, nor counts.
func runKafkaFloor(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("usage: bench floor kafka BROKER OUTPUT N, got %s", strings.Join(args, " "))
	}
	n, err := strconv.Atoi(args[2])
	if err != nil {
		return fmt.Errorf("read the number of records: %w", err)
	}
	ctx := context.Background()
	r := kafka.NewReader(kafka.ReaderConfig{
		Brokers: args[:1], Topic: "in", Partition: 0, MinBytes: 1, MaxBytes: 4 << 20, QueueCapacity: 4 * floorBatch,
	})
	w := kafkaWriter(args[0], args[1])
	fmt.Println(`{"listen":"-"}`)
	batch := make([]kafka.Message, 0, floorBatch)
	for i := range n {
		m, err := r.ReadMessage(ctx)
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		if batch = append(batch, kafka.Message{Key: m.Key, Value: m.Value}); len(batch) == cap(batch) || i == n-1 {
			if err := w.WriteMessages(ctx, batch...); err != nil {
				return fmt.Errorf("write: %w", err)
			}
			batch = batch[:0]
		}
	}
	// What was used is read while the process is there.
	time.Sleep(time.Second)
	return errors.Join(r.Close(), w.Close())
}
