package stdout

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/sink/sinktest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	sinktest.Run(t, func(*testing.T) sinktest.Place {
		var mu sync.Mutex
		var text bytes.Buffer
		out := NewOutput(writerFunc(func(b []byte) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			return text.Write(b)
		}))
		return sinktest.Place{
			Open: func(*testing.T) sink.Sink { return out.Sink() },
			Arrived: func(t *testing.T) []sinktest.Arrival {
				mu.Lock()
				defer mu.Unlock()
				return sinktest.ParseLines(t, bytes.Clone(text.Bytes()))
			},
		}
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func value() boundary.Value {
	return boundary.Object(boundary.NewShape("side", "edge"), []boundary.Value{
		boundary.String("buy"), boundary.Float(0.9),
	})
}

// M10: the line's form, and that a degraded epoch says so.
func TestLine(t *testing.T) {
	t.Parallel()
	plain := sinktest.Message("signals", 7, value())
	keyed := plain
	keyed.Key = `["A",1]`
	keyed.Degraded = []string{"book", "checkpoint"}
	for _, tc := range []struct {
		m    sink.Message
		want string
	}{
		{plain, `{"epoch":7,"key":null,"output":"signals","value":{"edge":0.9,"side":"buy"}}` + "\n"},
		{keyed, `{"degraded":["book","checkpoint"],"epoch":7,"key":["A",1],"output":"signals","value":{"edge":0.9,` +
			`"side":"buy"}}` + "\n"},
	} {
		var got bytes.Buffer
		if err := NewOutput(&got).Sink().Deliver(t.Context(), []sink.Message{tc.m}); err != nil {
			t.Fatal(err)
		}
		if got.String() != tc.want {
			t.Errorf("got  %s want %s", got.String(), tc.want)
		}
	}
}

// A write that ended inside a line spoils that line alone.
func TestTornLine(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	room := 20
	errFull := errors.New("full")
	out := NewOutput(writerFunc(func(b []byte) (int, error) {
		if len(b) > room {
			text.Write(b[:room])
			return room, errFull
		}
		return text.Write(b)
	}))
	batch := []sink.Message{sinktest.Message("signals", 7, boundary.Int(1))}
	s := out.Sink()
	err := s.Deliver(t.Context(), batch)
	if _, refused := errors.AsType[*sink.PermanentError](err); !errors.Is(err, errFull) || refused {
		t.Errorf("got %v, want full, not refused for good", err)
	}
	room = 0
	if err := s.Deliver(t.Context(), batch); !errors.Is(err, errFull) {
		t.Errorf("got %v, want full", err)
	}
	room = 1000
	// Another sink of the same output heals the line as well.
	if err := out.Sink().Deliver(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	want := `{"epoch":7,"key":nul` + "\n" + `{"epoch":7,"key":null,"output":"signals","value":1}` + "\n"
	if text.String() != want {
		t.Errorf("got  %s want %s", text.String(), want)
	}
}

// A reader that stopped reading holds up the output; those who wait for their turn
// still hear their context.
func TestStuckWriter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		out := NewOutput(w)
		batch := []sink.Message{sinktest.Message("signals", 1, boundary.Int(1))}
		first := make(chan error, 1)
		go func() { first <- out.Sink().Deliver(t.Context(), batch) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := out.Sink().Deliver(ctx, batch); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the deadline", err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-first; !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("got %v, want a closed pipe", err)
		}
	})
}

// A huge value does not hold its size for ever.
func TestBufferIsBounded(t *testing.T) {
	t.Parallel()
	s := NewOutput(io.Discard).Sink()
	big := boundary.String(string(bytes.Repeat([]byte("x"), 2*maxKept)))
	if err := s.Deliver(t.Context(), []sink.Message{sinktest.Message("o", 1, big)}); err != nil {
		t.Fatal(err)
	}
	if cap(s.buf) > maxKept {
		t.Errorf("keeps %d bytes, want at most %d", cap(s.buf), maxKept)
	}
}

func BenchmarkDeliver(b *testing.B) {
	s := NewOutput(io.Discard).Sink()
	batch := make([]sink.Message, 100)
	for i := range batch {
		batch[i] = sinktest.Message("signals", int64(i), value())
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Deliver(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
}
