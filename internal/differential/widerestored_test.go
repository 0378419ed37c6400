package differential

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/job"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/sink/stdout"
	"github.com/graphd/graphd/internal/virtual"
)

// restored is what a graph under virtual time says that is sealed and gone on from at random instants.
func (w *wide) restored(t *testing.T, doc tree, seed uint64, _ *spoken) (*spoken, error) {
	return w.virtually(t, doc, rand.New(rand.NewPCG(seed, 6)))
}

// virtually is what a graph under virtual time says. It is sealed and gone on from where r, if there is one, says so.
func (w *wide) virtually(t *testing.T, doc tree, r *rand.Rand) (*spoken, error) {
	instants := w.instants()
	if w.arrival {
		instants = w.turns()
	}
	return w.virtuallyAt(t, doc, r, instants)
}

// virtuallyAt is that with these instants.
func (w *wide) virtuallyAt(t *testing.T, doc tree, r *rand.Rand, instants []instantOf) (*spoken, error) {
	u, err := w.compile(doc)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	to, sinks := stdout.NewOutput(&out), []sink.Sink{}
	for range u.Spec.Outputs {
		sinks = append(sinks, to.Sink())
	}
	release := func(batch []sink.Message) error {
		for i := range batch {
			if err := sinks[batch[i].To].Deliver(t.Context(), batch[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	}
	at := map[string]int{}
	for i := range u.Spec.Accumulators {
		at[u.Spec.Accumulators[i].Name] = i
	}
	first, begin := zero, time.Time{}
	if w.arrival {
		first, begin = job.Start(), job.Start()
	}
	g := virtual.New(u, begin, nil)
	g.Release = release
	for _, in := range instants {
		if r != nil && r.IntN(4) == 0 {
			cp, err := g.Seal()
			if err != nil {
				return nil, err
			}
			if g, _, err = virtual.Restore(u, cp, nil); err != nil {
				return nil, err
			}
			g.Release = release
			if err := g.Quiesce(); err != nil { // it is at rest between two instants, as a daemon that has started
				return nil, err
			}
		}
		err := g.AdvanceTo(first.Add(time.Duration(in.at) * time.Millisecond))
		for i, name := range in.inputs {
			for _, e := range in.events[i] {
				g.Add(at[name], &boundary.Event{Raw: []byte(e), At: g.Now()}, true)
			}
		}
		if err := errors.Join(err, g.Quiesce()); err != nil {
			return nil, err
		}
	}
	s := newSpoken()
	v := g.Core().Look()
	for i := range v.Inputs {
		b := &v.Inputs[i].Books
		s.books[u.Spec.Accumulators[i].Name] = books{b.Received, b.Filtered, b.Conflated, b.DeadLettered + b.Rejected,
			b.Consumed, b.Queued}
		l, _ := g.LateDrops(i) // of those too that were not dropped
		s.gone.late += l.Events
	}
	s.gone.evicted, s.gone.overflowed = v.Evicted, v.Overflowed
	return s, s.values(out.Bytes())
}
