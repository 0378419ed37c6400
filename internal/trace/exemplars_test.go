package trace

import (
	"fmt"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/trace/tracetest"
)

// TestExemplars: recorded epochs, the commits that they are in, and their deliveries are exemplars with the trace of
// the epoch; the newest of about the same length takes the place of the one before.
func TestExemplars(t *testing.T) {
	t.Parallel()
	c := tracetest.Start(t, nil)
	tr := newTracer(t, Config{Endpoint: c.URL, Ratio: 1})
	g := tr.Graph(names())
	end := time.Unix(1_000, 0)
	g.Committed(3, 6, 1) // before any is recorded
	for i, took := range []time.Duration{100, 120, time.Second} {
		g.Epoch(&Epoch{Incarnation: 3, Number: int64(7 + i), Took: took, End: end.Add(time.Duration(i))})
	}
	g.Committed(3, 8, 50) // not yet the last that was recorded
	g.Committed(3, 9, 40)
	g.Committed(3, 9, 900) // told already
	o := g.Output(0, "out", true)
	at := o.Of(3, 7)
	o.Settled(at, 3, 7, end, end.Add(10), "")
	o.Settled(at, 3, 7, end, end.Add(20), "http_404")
	got := tr.Exemplars("acme", "g")
	if len(got.Epochs) != 2 || got.Epochs[0].Took != 120 || got.Epochs[1].Took != time.Second {
		t.Errorf("epochs %+v", got.Epochs)
	}
	if len(got.Commits) != 1 || got.Commits[0].Took != 40 || got.Commits[0].Trace != got.Epochs[1].Trace {
		t.Errorf("commits %+v", got.Commits)
	}
	if d := got.Outputs["out"]; len(d) != 1 || d[0].Took != 10 || d[0].Trace != at.Trace {
		t.Errorf("deliveries %+v, of the trace %x", d, at.Trace)
	}
	if other := tr.Exemplars("beta", "g"); len(other.Epochs) > 0 {
		t.Errorf("another tenant's graph of that name has %+v", other)
	}
	if none := (*Tracer)(nil).Exemplars("acme", "g"); len(none.Epochs) > 0 {
		t.Errorf("without traces there is %+v", none)
	}
}

// TestExemplarsAreBounded: of too many graphs those are forgotten that nothing was recorded of for longest, and of too
// many outputs those that come last.
func TestExemplarsAreBounded(t *testing.T) {
	t.Parallel()
	c := tracetest.Start(t, nil)
	tr := newTracer(t, Config{Endpoint: c.URL, Ratio: 1})
	for i := range maxExemplars + 5 {
		n := names()
		n.Graph = fmt.Sprint("g", i)
		tr.Graph(n).Epoch(&Epoch{Number: 1, Took: 1, End: time.Unix(int64(i), 0)})
	}
	if n := len(tr.exemplars.graphs); n != maxExemplars {
		t.Errorf("there are %d", n)
	}
	if len(tr.Exemplars("acme", "g4").Epochs) > 0 || len(tr.Exemplars("acme", "g5").Epochs) == 0 {
		t.Error("another than the oldest is gone")
	}
	g := tr.Graph(names())
	for i := range maxOutputs + 5 {
		o := g.Output(i, fmt.Sprint("o", i), true)
		o.Settled(o.Of(1, 1), 1, 1, time.Unix(1, 0), time.Unix(2, 0), "")
	}
	if n := len(tr.Exemplars("acme", "g").Outputs); n != maxOutputs {
		t.Errorf("there are %d outputs", n)
	}
}
