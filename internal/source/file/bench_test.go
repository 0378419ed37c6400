package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/spec"
)

// ticks writes n 65-byte ticks to a file and returns its path.
func ticks(b *testing.B, n int) string {
	b.Helper()
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, `{"symbol":"SYM%03d","bid":%d.125,"ask":%d.250,"ts":%d}`+"\n", i%1000, 1000+i%9000,
			1000+i%9000, 1700000000000+i)
	}
	path := filepath.Join(b.TempDir(), "ticks.ndjson")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(text.Len() / n))
	return path
}

func shapeTicks(b *testing.B) *accumulator.Program {
	b.Helper()
	x := func(s string) spec.Expr { return spec.Expr{Text: s} }
	a := spec.Accumulator{
		Name: "ticks", Kind: "passthrough", Where: x("event.ask - event.bid > 0.015"),
		Emit: []spec.Field{
			{Name: "symbol", Expr: x("event.symbol")}, {Name: "mid", Expr: x("(event.bid + event.ask) / 2")},
			{Name: "spread", Expr: x("event.ask - event.bid")}, {Name: "ts", Expr: x("event.ts")},
		},
	}
	p, ds := accumulator.Compile(&a, accumulator.CompileOptions{VarsType: expression.Any()})
	if len(ds) > 0 {
		b.Fatal(ds)
	}
	p.Project([]string{"symbol", "mid", "spread", "ts"}, true)
	return p
}

const benchEvents = 200_000

// cpu reports the processor time of the process per event, which a busy machine
// changes less than the time on the clock.
func cpu(b *testing.B) {
	used := func() int64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return u.Utime.Nano() + u.Stime.Nano()
	}
	begin := used()
	b.Cleanup(func() { b.ReportMetric(float64(used()-begin)/float64(b.N), "cpu-ns/op") })
}

// BenchmarkReader cuts a file into events. Figures are per event.
func BenchmarkReader(b *testing.B) {
	f, err := os.Open(ticks(b, benchEvents))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	var ev boundary.Event
	b.ReportAllocs()
	cpu(b)
	b.ResetTimer()
	for n := 0; n < b.N; {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			b.Fatal(err)
		}
		r, _ := NewReader(f, ReaderConfig{Format: "ndjson"})
		for n < b.N {
			if err := r.Next(&ev); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				b.Fatal(err)
			}
			n++
		}
	}
}

// BenchmarkFileToBoundary is the whole way in one goroutine, as a bounded run goes it:
// read, decode, filter, shape, hand over. Figures are per event.
func BenchmarkFileToBoundary(b *testing.B) {
	f, err := os.Open(ticks(b, benchEvents))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	core := accumulator.NewCore(shapeTicks(b), accumulator.Limits{})
	now := time.Now()
	var ev boundary.Event
	b.ReportAllocs()
	cpu(b)
	b.ResetTimer()
	for n := 0; n < b.N; {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			b.Fatal(err)
		}
		r, _ := NewReader(f, ReaderConfig{Format: "ndjson"})
		for n < b.N {
			if err = r.Next(&ev); errors.Is(err, io.EOF) {
				break
			}
			ev.At = now
			if o := core.Add(now, &ev, true); o.Status != accumulator.Accepted {
				b.Fatalf("%+v", o)
			}
			if n++; n%256 == 0 {
				core.Drain(&accumulator.Handoff{}) // the receiver keeps it
			}
		}
	}
}

// drop takes everything and keeps nothing.
type drop struct {
	n    int
	done chan struct{}
}

func (d *drop) Put(_ context.Context, h *accumulator.Handoff) error {
	d.n += len(h.Boundaries)
	return nil
}

func (d *drop) Health(h accumulator.Health, _, _ string) {
	if h == accumulator.Ended {
		close(d.done)
	}
}

// BenchmarkUnit is the whole way live: source goroutine, channel, fold, port. Figures are per event.
func BenchmarkUnit(b *testing.B) {
	src, err := New(Config{Path: ticks(b, benchEvents), ReaderConfig: ReaderConfig{Format: "ndjson"}})
	if err != nil {
		b.Fatal(err)
	}
	p := shapeTicks(b)
	b.ReportAllocs()
	cpu(b)
	b.ResetTimer()
	for n := 0; n < b.N; {
		d := &drop{done: make(chan struct{})}
		box := pump.NewMailbox(0, 0)
		u := pump.New(pump.Config{
			Name: "ticks", Core: accumulator.NewCore(p, accumulator.Limits{}), Source: src, Mailbox: box, Port: d,
		})
		ctx, cancel := context.WithCancel(b.Context())
		ended := make(chan error, 1)
		go func() { ended <- u.Run(ctx) }()
		<-d.done
		cancel()
		if err := <-ended; err != nil || d.n != benchEvents {
			b.Fatalf("%d boundaries, %v", d.n, err)
		}
		n += d.n
	}
}
