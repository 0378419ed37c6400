package trace

import (
	"math/bits"
	"sync"
	"time"
)

// Exemplar is something that took so long, with the trace in which it is told of.
type Exemplar struct {
	Took  time.Duration
	Trace [16]byte
	At    time.Time
}

// Exemplars are those of one graph, the oldest of each list first.
type Exemplars struct {
	// Epochs are of recorded epochs, Commits of commits that one of these was in.
	Epochs, Commits []Exemplar
	// Outputs are of deliveries, by output.
	Outputs map[string][]Exemplar
}

const (
	// maxExemplars bounds the graphs that there are exemplars of; where there are more, those go that nothing was
	// recorded of for longest.
	maxExemplars = 1024
	// maxOutputs bounds the outputs of one of them.
	maxOutputs = 64
)

// exemplars are the newest of each series for each power of two of a duration: more than one for each bucket of a
// histogram, and few. The zero value is none.
type exemplars struct {
	mu     sync.Mutex
	graphs map[[2]string]*kept // by tenant and graph
}

type kept struct {
	epochs, commits slots
	outputs         map[string]*slots
	at              time.Time
}

// slots are by the length of a duration's number.
type slots []Exemplar

func (s *slots) put(x Exemplar) {
	for i := range *s {
		if bits.Len64(uint64((*s)[i].Took)) == bits.Len64(uint64(x.Took)) {
			*s = append(append((*s)[:i:i], (*s)[i+1:]...), x) // the newest is the last
			return
		}
	}
	*s = append(*s, x)
}

// note keeps an exemplar in the series that of names.
func (e *exemplars) note(n *Names, x Exemplar, of func(*kept) *slots) {
	key := [2]string{n.Tenant, n.Graph}
	e.mu.Lock()
	defer e.mu.Unlock()
	k := e.graphs[key]
	if k == nil {
		k = &kept{}
		e.make(key, k)
	}
	k.at = x.At
	if s := of(k); s != nil {
		s.put(x)
	}
}

// make has a place for a graph, that of the one which is longest without where there is none.
func (e *exemplars) make(key [2]string, k *kept) {
	if e.graphs == nil {
		e.graphs = map[[2]string]*kept{}
	}
	if len(e.graphs) >= maxExemplars {
		var oldest [2]string
		var at time.Time
		for other, o := range e.graphs {
			if at.IsZero() || o.at.Before(at) {
				oldest, at = other, o.at
			}
		}
		delete(e.graphs, oldest)
	}
	e.graphs[key] = k
}

func (k *kept) output(name string) *slots {
	s := k.outputs[name]
	if s == nil && len(k.outputs) < maxOutputs {
		if k.outputs == nil {
			k.outputs = map[string]*slots{}
		}
		s = &slots{}
		k.outputs[name] = s
	}
	return s
}

// Exemplars are those of a graph; none where nothing is traced. Safe for concurrent use.
func (t *Tracer) Exemplars(tenant, graph string) (list Exemplars) {
	if t == nil {
		return list
	}
	t.exemplars.mu.Lock()
	defer t.exemplars.mu.Unlock()
	k := t.exemplars.graphs[[2]string{tenant, graph}]
	if k == nil {
		return list
	}
	list.Epochs, list.Commits = append(list.Epochs, k.epochs...), append(list.Commits, k.commits...)
	list.Outputs = make(map[string][]Exemplar, len(k.outputs))
	for name, s := range k.outputs {
		list.Outputs[name] = append([]Exemplar(nil), *s...)
	}
	return list
}

// Committed tells how long it took to commit all up to an epoch. It may be called from any goroutine.
func (g *Graph) Committed(incarnation, number int64, took time.Duration) {
	g.mu.Lock()
	last := g.newest
	fresh := last.incarnation == incarnation && last.number <= number && last != g.committed
	if fresh {
		g.committed = last
	}
	g.mu.Unlock()
	if fresh {
		hi, lo := g.ids(last)
		g.t.exemplars.note(&g.names, exemplar(took, time.Now(), contextOf(hi, lo, 0, true).Trace),
			func(k *kept) *slots { return &k.commits })
	}
}

func exemplar(took time.Duration, at time.Time, of [16]byte) Exemplar {
	return Exemplar{max(0, took), of, at}
}
