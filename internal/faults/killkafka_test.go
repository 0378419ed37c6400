package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/graphd/graphd/internal/testbed"
)

// One graph with every path: rows committed with the state, an outbox, and a topic that is
// written directly.
const kafkaGraph = `graph: effects
accumulators:
  events:
    source: { kafka: { brokers: [%s], topic: %s, group: %s, start: earliest } }
    emit: event.n
    strategy: sequential
nodes:
  n: { expr: '{ "n": events, "at": now() }' }
  row: { expr: '{ "n": events, "epoch": epoch() }' }
outputs:
  rows: { from: row, sink: { postgres: { table: effects } } }
  hook: { from: n, sink: { http: { url: %q } }, delivery: outbox }
  topic: { from: n, sink: { kafka: { brokers: [%s], topic: %s, key: string(value.n) } } }
durability: { interval: 50ms }
`

// feeder writes numbered events to a topic, their partitions by turns, until it is stopped.
type feeder struct {
	written atomic.Int64
	stop    context.CancelFunc
	done    chan error
}

func feed(t *testing.T, brokers []string, topic string) *feeder {
	ctx, stop := context.WithCancel(t.Context())
	f := &feeder{stop: stop, done: make(chan error, 1)}
	// The transport that all share may have asked for the topics of these brokers before this one was made.
	own := &kafka.Transport{}
	w := &kafka.Writer{Addr: kafka.TCP(brokers...), Topic: topic, RequiredAcks: kafka.RequireAll,
		BatchTimeout: time.Millisecond, Balancer: &kafka.RoundRobin{}, Transport: own}
	go func() { // ends with the context; done is read below
		defer own.CloseIdleConnections()
		ticker := time.NewTicker(20 * time.Millisecond)
		defer ticker.Stop()
		for began := time.Now(); ; {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				f.done <- w.Close()
				return
			}
			n := f.written.Load()
			due := int64(time.Since(began)/(20*time.Millisecond))*25 - n // by the clock: a slow broker makes it no less
			batch := make([]kafka.Message, min(due, 1000))
			for i := range batch {
				batch[i].Value = fmt.Appendf(nil, `{"n":%d}`, n+int64(i))
			}
			if err := w.WriteMessages(context.WithoutCancel(ctx), batch...); err != nil {
				f.done <- errors.Join(err, w.Close())
				return
			}
			f.written.Add(int64(len(batch)))
		}
	}()
	return f
}

// TestKillKafka kills the daemon at random moments and at failpoints while it reads a topic
// (M28, M30): what is committed with the state is there once, the outbox loses nothing and has
// one payload for each id, the direct path loses nothing, and the books balance. Two graphs share the kills, beside
// each other: most of a kill is that the next daemon waits.
func TestKillKafka(t *testing.T) {
	t.Parallel()
	n := kills(t, 2*fewKills)
	for half, kills := range []int{n / 2, n - n/2} {
		if kills > 0 {
			t.Run(fmt.Sprint(half), func(t *testing.T) {
				t.Parallel()
				killKafka(t, kills, rand.New(rand.NewPCG(9, uint64(10+half))))
			})
		}
	}
}

func killKafka(t *testing.T, n int, rng *rand.Rand) {
	t.Helper()
	brokers := testbed.Kafka(t)
	in, out := testbed.Topic(t, brokers, 3), testbed.Topic(t, brokers, 1)
	store, db := database(t, "create table effects (n bigint not null, epoch bigint not null)")
	hook := receive(t)
	quoted := `"` + strings.Join(brokers, `", "`) + `"`
	dir := declare(t, "effects", fmt.Sprintf(kafkaGraph, quoted, in, in, hook.server.URL, quoted, out))
	began := time.Now()
	f := feed(t, brokers, in)
	defer f.stop()
	var lives tally
	for i := range n {
		lives.add(killed(t, dir, i, kafkaPoints, rng, func(*process) {}, "--store", store, "--lease", "1500ms"))
	}
	rate := float64(f.written.Load()) / time.Since(began).Seconds()
	f.stop()
	if err := <-f.done; err != nil {
		t.Fatal(err)
	}
	total := f.written.Load()
	p := start(t, dir, "--store", store, "--lease", "2s")
	var s summary // a later one may be of a daemon that has lost its lease for a moment
	p.drains("events that are not through", func() int64 {
		s = p.summary("effects")
		return s.remains(total)
	})
	if err := s.balanced(); err != nil || s.Counters.Consumed != total {
		t.Errorf("%d events, %+v, %v", total, s, err)
	}
	if err := p.stop(); err != nil {
		t.Errorf("the daemon did not stop cleanly: %v\n%s", err, p.log)
	}
	lives.hold(t)
	var rows, numbers, epochs int64
	if err := db.QueryRow(t.Context(), "select count(*), count(distinct n), count(distinct epoch) from effects").Scan(
		&rows, &numbers, &epochs); err != nil {
		t.Fatal(err)
	}
	if rows != total || numbers != total || epochs != total {
		t.Errorf("co-transaction: %d events, %d rows, %d numbers, %d epochs", total, rows, numbers, epochs)
	}
	if problems := hook.verdict(upTo(total)); len(problems) > 0 {
		t.Error("outbox:", problems)
	}
	missing, doubled := readTopic(t, brokers, out, total)
	if missing > 0 {
		t.Errorf("direct path: %d of %d lost", missing, total)
	}
	t.Logf("%d kills at %.0f events/s: %d events; rows: %d lost, %d doubled; outbox: %d sent again; topic: %d lost, "+
		"%d more "+
		"than once", n, rate, total, total-numbers, rows-numbers, hook.again, missing, doubled)
}

// readTopic reads a topic of one partition to its end: how many of the numbers are missing,
// and how many there are more than once.
func readTopic(t *testing.T, brokers []string, topic string, total int64) (missing, doubled int) {
	t.Helper()
	conn, err := kafka.DialLeader(t.Context(), "tcp", brokers[0], topic, 0)
	if err != nil {
		t.Fatal(err)
	}
	end, err := conn.ReadLastOffset()
	if err := errors.Join(err, conn.Close()); err != nil {
		t.Fatal(err)
	}
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: brokers, Topic: topic})
	defer r.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	seen := make([]int, total)
	for at := int64(-1); at < end-1; {
		m, err := r.ReadMessage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		at = m.Offset
		var value struct{ N int64 }
		if err := json.Unmarshal(m.Value, &value); err != nil || value.N >= total {
			t.Fatalf("offset %d holds %q: %v", m.Offset, m.Value, err)
		}
		seen[value.N]++
	}
	for _, n := range seen {
		switch {
		case n == 0:
			missing++
		case n > 1:
			doubled++
		}
	}
	return missing, doubled
}
