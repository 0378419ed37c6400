package kafka

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/kafkanet"
	"github.com/graphd/graphd/internal/source/sourcetest"
	"github.com/graphd/graphd/internal/testbed"
)

// each runs a test against an in-process broker, and against the real one of the test bed.
func each(t *testing.T, run func(t *testing.T, addrs []string)) {
	t.Run("kfake", func(t *testing.T) { run(t, fake(t).ListenAddrs()) })
	t.Run("kafka", func(t *testing.T) { run(t, testbed.Kafka(t)) })
}

// fake starts an in-process cluster of one broker.
func fake(t *testing.T, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// client is another client library than the one under test.
func client(t *testing.T, addrs []string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(addrs...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MetadataMinAge(50 * time.Millisecond), kgo.ManualFlushing(), kgo.MaxBufferedRecords(1 << 20),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// put writes records to one partition, in one batch where they fit: nothing is sent before all are there.
func put(t *testing.T, c *kgo.Client, topic string, partition int, values ...string) {
	t.Helper()
	records := make([]*kgo.Record, len(values))
	for i, v := range values {
		records[i] = &kgo.Record{Topic: topic, Partition: int32(partition), Value: []byte(v)}
	}
	putRecords(t, c, records...)
}

func putRecords(t *testing.T, c *kgo.Client, records ...*kgo.Record) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testPatience)
	defer cancel()
	failed := make(chan error, len(records))
	for _, r := range records {
		c.Produce(ctx, r, func(_ *kgo.Record, err error) { failed <- err })
	}
	if err := c.Flush(ctx); err != nil {
		t.Fatalf("flush: %v", err)
	}
	for range records { // a promise may be kept a moment after the flush
		if err := <-failed; err != nil {
			t.Fatalf("produce: %v", err)
		}
	}
}

// numbers are the texts of the numbers from a up to, but without, b.
func numbers(a, b int) []string {
	var out []string
	for i := a; i < b; i++ {
		out = append(out, fmt.Sprint(i))
	}
	return out
}

func config(addrs []string, topics ...string) Config {
	return Config{Config: kafkanet.Config{Brokers: addrs}, Topics: topics}
}

func newSource(t *testing.T, cfg Config) *Source {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s.behind, s.every = 200*time.Millisecond, 50*time.Millisecond // the brokers of tests agree with one another
	return s
}

// reading is a source that runs.
type reading struct {
	*receiver
	src  *Source
	stop context.CancelFunc
	done chan error
}

// receiver is a [sourcetest.Receiver] that one can wait at, and that keeps what events know.
type receiver struct {
	sourcetest.Receiver
	mu      sync.Mutex
	metas   []*boundary.Meta
	bad     []string
	details []string
	changed chan struct{} // capacity 1
	gate    chan struct{} // nil, or Emit takes nothing until it is closed
}

func (r *receiver) poke() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

func (r *receiver) Emit(ctx context.Context, batch []boundary.Event) error {
	if r.gate != nil {
		select {
		case <-r.gate:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r.mu.Lock()
	for i := range batch {
		r.metas = append(r.metas, batch[i].Meta)
	}
	r.mu.Unlock()
	defer r.poke()
	return r.Receiver.Emit(ctx, batch)
}

func (r *receiver) Refuse(ctx context.Context, ev boundary.Event, bad *accumulator.BadEvent) error {
	r.mu.Lock()
	r.metas = append(r.metas, ev.Meta)
	r.bad = append(r.bad, bad.Text)
	r.mu.Unlock()
	defer r.poke()
	return r.Receiver.Refuse(ctx, ev, bad)
}

func (r *receiver) Advance(ctx context.Context, p boundary.Position) error {
	defer r.poke()
	return r.Receiver.Advance(ctx, p)
}

func (r *receiver) Health(h accumulator.Health, detail string) {
	r.mu.Lock()
	r.details = append(r.details, detail)
	r.mu.Unlock()
	defer r.poke()
	r.Receiver.Health(h, detail)
}

func read(t *testing.T, cfg Config, from ...boundary.Position) *reading {
	t.Helper()
	return readSource(t, newSource(t, cfg), &receiver{}, from...)
}

func readSource(t *testing.T, src *Source, r *receiver, from ...boundary.Position) *reading {
	t.Helper()
	r.changed = make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(t.Context())
	f := &reading{receiver: r, src: src, stop: cancel, done: make(chan error, 1)}
	go func() { f.done <- src.Run(ctx, from, f.receiver) }()
	t.Cleanup(func() { cancel(); f.end() })
	return f
}

// end stops the source and answers how it ended.
func (f *reading) end() error {
	f.stop()
	err := <-f.done
	f.done <- err
	return err
}

// patience is how long a test waits for what should be there soon.
const testPatience = time.Minute

// until waits until the condition holds.
func (f *reading) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	timeout := time.After(testPatience)
	for !holds() {
		select {
		case <-f.changed:
		case <-time.After(10 * time.Millisecond): // a receiver that blocks cannot say so
		case err := <-f.done:
			f.done <- err
			if !holds() {
				t.Fatalf("the source ended before %s: %v", what, err)
			}
		case <-timeout:
			f.mu.Lock()
			details := slices.Clone(f.details)
			f.mu.Unlock()
			t.Fatalf("waited for %s; %d events, said %v %q, at %v", what, len(f.Items()), f.Said(), details,
				f.positions())
		}
	}
}

// ends waits for the source to end by itself.
func (f *reading) ends(t *testing.T) error {
	t.Helper()
	select {
	case err := <-f.done:
		f.done <- err
		return err
	case <-time.After(testPatience):
		t.Fatal("the source did not end")
		return nil
	}
}

// count waits for n events.
func (f *reading) count(t *testing.T, n int) {
	t.Helper()
	f.until(t, fmt.Sprint(n, " events"), func() bool { return len(f.Items()) >= n })
}

// said is how often the source has told a health.
func (f *reading) said(h accumulator.Health) (n int) {
	for _, s := range f.Said() {
		if s == h {
			n++
		}
	}
	return n
}

// says waits until the source has told a health so often.
func (f *reading) says(t *testing.T, h accumulator.Health, times int) {
	t.Helper()
	f.until(t, string(h), func() bool { return f.said(h) >= times })
}

func (f *reading) texts() []string {
	var out []string
	for _, it := range f.Items() {
		out = append(out, strings.TrimSpace(it.Bad+" "+it.Raw))
	}
	return out
}

// of are the events of one stream.
func (f *reading) of(stream string) []string {
	var out []string
	for _, it := range f.Items() {
		if plain(it.Pos) == stream {
			out = append(out, it.Raw)
		}
	}
	return out
}

// plain is a position's stream without its generation.
func plain(p boundary.Position) string {
	stream, _, _ := strings.Cut(p.Stream, "#")
	return stream
}

func wantTexts(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %d: %.500q\nwant %d: %.500q", len(got), got, len(want), want)
	}
}

// positions are where a reader stands: the last of each stream.
func (f *reading) positions() []boundary.Position {
	last := map[string]boundary.Position{}
	for _, p := range f.Advanced() {
		last[plain(p)] = p
	}
	for _, it := range f.Items() {
		if it.Pos.Offset > last[plain(it.Pos)].Offset {
			last[plain(it.Pos)] = it.Pos
		}
	}
	var out []boundary.Position
	for _, p := range last {
		out = append(out, p)
	}
	return out
}
