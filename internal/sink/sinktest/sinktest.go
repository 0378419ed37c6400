// Package sinktest is the conformance suite of [sink.Sink]: every sink runs it in
// its own tests, beside what is particular to it.
//
//	func TestConformance(t *testing.T) {
//		sinktest.Run(t, func(t *testing.T) sinktest.Place { … })
//	}
//
// It starts goroutines only inside a test, which joins them.
package sinktest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/sink"
)

// Place is somewhere values go, fresh for one test.
type Place struct {
	// Open makes another sink to the place.
	Open func(t *testing.T) sink.Sink
	// Arrived reads what has arrived, in order. Nil when the place keeps nothing.
	Arrived func(t *testing.T) []Arrival
}

// Arrival is one value as it came out on the other side.
type Arrival struct {
	Epoch  int64           `json:"epoch"`
	Key    json.RawMessage `json:"key"`
	Output string          `json:"output"`
	Value  json.RawMessage `json:"value"`
}

func (a Arrival) String() string {
	return fmt.Sprintf("%s %d %s %s", a.Output, a.Epoch, a.Key, a.Value)
}

// ParseLines reads arrivals from lines of JSON documents, the last of which must be ended.
func ParseLines(t *testing.T, text []byte) []Arrival {
	t.Helper()
	var all []Arrival
	for line := range strings.Lines(string(text)) {
		var a Arrival
		if !strings.HasSuffix(line, "\n") {
			t.Fatalf("the last line is not ended: %.100q", line)
		}
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatalf("a line is not JSON: %v: %.100q", err, line)
		}
		all = append(all, a)
	}
	return all
}

// Message is a message of one output with a value, as a reactor would make it.
func Message(output string, epoch int64, value boundary.Value) sink.Message {
	return sink.Message{
		Instance:    uuid.MustParse("6ba7b811-9dad-11d1-80b4-00c04fd430c8"),
		Incarnation: 3,
		Epoch:       epoch,
		Output:      output,
		Value:       value,
		At:          time.Date(2026, 11, 20, 10, 0, 0, 123_000_000, time.UTC),
	}
}

// Run runs the suite; each of its tests asks for a fresh place.
func Run(t *testing.T, fresh func(t *testing.T) Place) {
	t.Run("values", func(t *testing.T) { values(t, fresh(t)) })
	t.Run("order", func(t *testing.T) { order(t, fresh(t)) })
	t.Run("batch is the caller's again", func(t *testing.T) { ownership(t, fresh(t)) })
	t.Run("cancelled", func(t *testing.T) { cancelled(t, fresh(t)) })
	t.Run("shared place", func(t *testing.T) { shared(t, fresh(t)) })
	t.Run("close", func(t *testing.T) { closing(t, fresh(t)) })
}

// values sends every kind of value, with and without a key, and one that is larger
// than any buffer.
func values(t *testing.T, p Place) {
	shape := boundary.NewShape("side", "edge")
	big := strings.Repeat("x", 3<<20)
	batch := []sink.Message{
		Message("out", 1, boundary.Null()),
		Message("out", 2, boundary.Bool(true)),
		Message("out", 3, boundary.Int(-7)),
		Message("out", 4, boundary.Float(0.1)),
		Message("out", 5, boundary.String("a \"quoted\"\nline <&> ✓\u2028")),
		Message("out", 6, boundary.List([]boundary.Value{boundary.Int(1), boundary.String("b")})),
		Message("out", 7, boundary.Object(shape, []boundary.Value{boundary.String("buy"), boundary.Float(1.5)})),
		Message("out", 8, boundary.String(big)),
		Message("out", 9, boundary.Time(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))),
	}
	batch[1].Key = `"AAPL"`
	batch[2].Key = `["AAPL",3]`
	deliver(t, open(t, p), batch)
	want := make([]string, len(batch))
	for i, m := range batch {
		key := string(m.Key)
		if key == "" {
			key = "null"
		}
		want[i] = fmt.Sprintf("out %d %s %s", m.Epoch, key, m.Value.AppendJSON(nil))
	}
	check(t, p, want)
}

// order sends batches of every size, one of none among them. They are there when
// Deliver returns, not only when the sink is closed.
func order(t *testing.T, p Place) {
	s := open(t, p)
	var want []string
	epoch := int64(0)
	for _, size := range []int{1, 0, 1000, 1, 7} {
		var batch []sink.Message
		for range size {
			epoch++
			batch = append(batch, Message("out", epoch, boundary.Int(epoch*10)))
			want = append(want, fmt.Sprintf("out %d null %d", epoch, epoch*10))
		}
		deliver(t, s, batch)
		check(t, p, want)
	}
}

// ownership reuses the batch as soon as Deliver has returned.
func ownership(t *testing.T, p Place) {
	s := open(t, p)
	batch := make([]sink.Message, 1)
	var want []string
	for epoch := int64(1); epoch <= 3; epoch++ {
		batch[0] = Message("out", epoch, boundary.Int(epoch))
		deliver(t, s, batch)
		want = append(want, fmt.Sprintf("out %d null %d", epoch, epoch))
	}
	clear(batch)
	check(t, p, want)
}

// cancelled delivers under a context that is done: an error, and nothing arrives; the
// sink works afterwards.
func cancelled(t *testing.T, p Place) {
	s := open(t, p)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	batch := []sink.Message{Message("out", 1, boundary.Int(1))}
	err := s.Deliver(ctx, batch)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context canceled", err)
	}
	if _, ok := errors.AsType[*sink.PermanentError](err); ok {
		t.Error("a cancelled delivery is refused for good")
	}
	check(t, p, nil)
	deliver(t, s, batch)
	check(t, p, []string{"out 1 null 1"})
}

// shared writes through several sinks at a time: every line arrives whole, each
// output's in order.
func shared(t *testing.T, p Place) {
	const outputs, batches, size = 4, 20, 25
	var wg sync.WaitGroup
	for o := range outputs {
		s := open(t, p)
		wg.Go(func() {
			epoch := int64(0)
			for range batches {
				batch := make([]sink.Message, size)
				for i := range batch {
					epoch++
					batch[i] = Message(fmt.Sprintf("out%d", o), epoch,
						boundary.String(strings.Repeat("v", int(epoch%50))))
				}
				if err := s.Deliver(t.Context(), batch); err != nil {
					t.Errorf("deliver: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	if p.Arrived == nil {
		return
	}
	next := make(map[string]int64)
	for _, a := range p.Arrived(t) {
		if next[a.Output]++; a.Epoch != next[a.Output] {
			t.Fatalf("%s: got epoch %d, want %d", a.Output, a.Epoch, next[a.Output])
		}
	}
	for o := range outputs {
		if got := next[fmt.Sprintf("out%d", o)]; got != batches*size {
			t.Errorf("out%d: %d arrived, want %d", o, got, batches*size)
		}
	}
}

// closing closes twice; what was delivered stays, and another sink goes on behind it.
func closing(t *testing.T, p Place) {
	s := p.Open(t)
	deliver(t, s, []sink.Message{Message("out", 1, boundary.Int(1))})
	for range 2 {
		if err := s.Close(t.Context()); err != nil {
			t.Fatalf("close: %v", err)
		}
	}
	deliver(t, open(t, p), []sink.Message{Message("out", 2, boundary.Int(2))})
	check(t, p, []string{"out 1 null 1", "out 2 null 2"})
}

// open makes a sink that is closed with the test.
func open(t *testing.T, p Place) sink.Sink {
	t.Helper()
	s := p.Open(t)
	t.Cleanup(func() {
		if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func deliver(t *testing.T, s sink.Sink, batch []sink.Message) {
	t.Helper()
	if err := s.Deliver(t.Context(), batch); err != nil {
		t.Fatalf("deliver: %v", err)
	}
}

func check(t *testing.T, p Place, want []string) {
	t.Helper()
	if p.Arrived == nil {
		return
	}
	var got []string
	for _, a := range p.Arrived(t) {
		got = append(got, a.String())
	}
	if !slices.Equal(got, want) {
		t.Errorf("arrived:\n%.2000s\nwant:\n%.2000s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
