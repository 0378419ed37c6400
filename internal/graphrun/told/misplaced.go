package told

import (
	"fmt"
	"sync"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/spec"
)

// misplacedMost is how many of the last events of an input may be in a partition of another shard than their key's
// before health tells, where they are more than half of these; misplacedOf is how many the last are: at least so many,
// where there are, and at most twice as many.
const (
	misplacedMost = 20
	misplacedOf   = 200
)

// Misplaced is how many of the last events of a run were in partitions of other shards than their keys'. What came
// before them does not count: the topic may be dealt otherwise since. It has one writer, Sample, and any number of
// readers. The zero value is ready for use.
type Misplaced struct {
	mu     sync.Mutex
	inputs []recent
}

// recent are the counts of one input: at the beginning of two spans, and now.
type recent struct{ before, last, now misplacedCount }

type misplacedCount struct{ misplaced, received int64 }

// Sample takes the counts of the inputs; it comes with each view of the run, and before its first event.
func (m *Misplaced) Sample(inputs []reactor.InputView, declared []spec.Accumulator) {
	m.mu.Lock()
	defer m.mu.Unlock()
	begins := m.inputs == nil
	if begins {
		m.inputs = make([]recent, len(inputs))
	}
	for i := range inputs {
		if declared[i].Partitioned == "" {
			continue
		}
		r := &m.inputs[i]
		r.now = misplacedCount{inputs[i].Reasons["key_misplaced"], inputs[i].Books.Received}
		switch {
		case begins:
			r.before, r.last = r.now, r.now
		case r.now.received-r.last.received >= misplacedOf:
			r.before, r.last = r.last, r.now
		}
	}
}

// Of is how many of the last events of an input were misplaced, and how many these are.
func (m *Misplaced) Of(i int) (misplaced, events int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i >= len(m.inputs) {
		return 0, 0
	}
	r := &m.inputs[i]
	return r.now.misplaced - r.before.misplaced, r.now.received - r.before.received
}

// misplaced degrades a graph whose topic is dealt otherwise than its declaration says: most of its events are dead
// letters.
func (k *Known) misplaced(s *api.GraphSummary, life Life) {
	for i := range s.Accumulators {
		a, by := &s.Accumulators[i], k.Spec.Accumulators[i].Partitioned
		n, of := life.Misplaced(i)
		if by == "" || n < misplacedMost || 2*n <= of || s.Health != string(reactor.HealthLive) {
			continue
		}
		s.Health = string(reactor.HealthDegraded)
		s.HealthReason = api.ReasonOf("keys_misplaced", fmt.Sprintf("%d of the last %d events of %s are in partitions "+
			"of other shards than their keys', by %s, and are dead letters: see by which function and by which key "+
			"the topic's producer deals them, and apply the graph under another name with that", n, of, a.Name, by))
	}
}
