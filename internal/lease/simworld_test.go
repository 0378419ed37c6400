package lease

import (
	"container/heap"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/placement"
)

const (
	simTTL      = 3 * time.Second
	simPatience = 5 * time.Second
)

// plant is a mistake that the simulation is to find.
type plant string

const (
	plantNone    plant = ""
	plantFence   plant = "the store takes writes of every fence"
	plantAnswer  plant = "a term counts from the answer to a renewal"
	plantBlind   plant = "an effect is sent without a look at the term"
	plantGreedy  plant = "a taking does not look whether the owner lives"
	plantEarly   plant = "a graph is given up before it has stopped"
	plantForever plant = "what a member that died has owned stays its own"
)

// world is a store, members and time, in one goroutine: the same seed is the same run.
type world struct {
	rng   *rand.Rand
	plant plant
	now   time.Duration
	queue events
	seq   int
	trace uint64
	wrong []string

	step    time.Duration // of the store's clock against time
	stepped time.Duration // when it was last set
	leases  map[string]*simLease
	owners  map[checkpoint.ID]string // lease names
	fences  map[checkpoint.ID]int64
	units   []checkpoint.ID
	members []*simMember
	claimed string // the lease under which the keys of the dealt graph are dealt anew; "" or gone where nobody does
	deals   int
	born    int
	moves   int
	input   *simInput
	healed  bool // nothing goes wrong any more, nor does what was to
	quick   bool // the network is well
	byRank  bool // the shards are placed each by its rank
	calm    bool // nothing is written any more: it is placement alone that is looked at
}

type simLease struct {
	member  string
	expires time.Duration // on the store's clock
	leaving bool
}

type event struct {
	at  time.Duration
	seq int
	do  func()
}

type events []event

func (q events) Len() int { return len(q) }
func (q events) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].seq < q[j].seq
}
func (q events) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *events) Push(x any)   { *q = append(*q, x.(event)) }
func (q *events) Pop() any {
	old := *q
	last := old[len(old)-1]
	*q = old[:len(old)-1]
	return last
}

func newWorld(seed uint64, p plant) *world {
	w := &world{rng: rand.New(rand.NewPCG(seed, 52)), plant: p, leases: map[string]*simLease{},
		owners: map[checkpoint.ID]string{}, fences: map[checkpoint.ID]int64{}, stepped: -time.Hour,
		byRank: slices.Contains(placedByRank(), seed)}
	for n := range 1 + w.rng.IntN(24) {
		w.units = append(w.units, checkpoint.ID{Tenant: "t", Graph: fmt.Sprintf("g%d", n)})
	}
	w.deal(1 + w.rng.IntN(1<<w.rng.IntN(9)))
	return w
}

func (w *world) after(d time.Duration, do func()) {
	w.seq++
	heap.Push(&w.queue, event{w.now + d, w.seq, do})
}

func (w *world) until(end time.Duration) {
	for len(w.queue) > 0 && w.queue[0].at <= end {
		e := heap.Pop(&w.queue).(event)
		w.now = e.at
		e.do()
	}
	w.now = end
}

func (w *world) log(format string, args ...any) {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %d ", w.trace, w.now)
	fmt.Fprintf(h, format, args...)
	w.trace = h.Sum64()
}

func (w *world) fault(format string, args ...any) {
	w.wrong = append(w.wrong, fmt.Sprintf("%v: ", w.now)+fmt.Sprintf(format, args...))
}

func (w *world) clock() time.Duration { return w.now + w.step }

// delay is how long a message is on its way.
func (w *world) delay() time.Duration {
	if !w.quick && w.rng.IntN(100) == 0 {
		return time.Duration(w.rng.Int64N(int64(2 * time.Second)))
	}
	if w.rng.IntN(20) == 0 {
		return time.Duration(w.rng.Int64N(int64(400 * time.Millisecond)))
	}
	return time.Duration(1 + w.rng.Int64N(int64(5*time.Millisecond)))
}

// notify tells all members that hear that something has changed.
func (w *world) notify() {
	for _, m := range w.members {
		w.after(w.delay(), func() {
			if m.connected() {
				m.look()
			}
		})
	}
}

// roster is what the store answers.
func (w *world) roster() checkpoint.Roster {
	r := checkpoint.Roster{Owners: map[checkpoint.ID]string{}, Dealers: map[checkpoint.ID]string{}}
	switch l := w.leases[w.claimed]; {
	case l != nil && w.plant != plantUnheard:
		r.Dealers[dealt] = l.member
	case w.claimed != "" && w.plant == plantOutlives:
		r.Dealers[dealt] = w.memberOf(w.claimed)
	}
	for _, name := range slices.Sorted(keysOf(w.leases)) {
		l := w.leases[name]
		r.Members = append(r.Members, checkpoint.Member{ID: l.member, Name: name, Peer: name, Capacity: 1,
			Leaving: l.leaving,
			Expired: l.expires <= w.clock()})
	}
	for id, name := range w.owners {
		if l := w.leases[name]; l != nil {
			r.Owners[id] = l.member
		} else if w.plant == plantForever && name != "" {
			r.Owners[id] = name
		}
	}
	return r
}

func keysOf[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// placedByRank are seeds that found something while shards were placed each by its rank, and find it so alone: the last
// one a claim whose answer was lost and that is not given up.
func placedByRank() []uint64 { return append(onceFailed(), 180) }

// places have the shards of the dealt graph spread, and dealt evenly but for what was found before they were.
func (w *world) places() placement.Places {
	p := placement.Places{Spread: true}
	if !w.byRank {
		p.Shards = map[checkpoint.ID]int{{Tenant: "t", Graph: "dealt"}: w.input.shards}
	}
	return p
}

// placedRight says that every unit runs where it ranks first of those that live.
func (w *world) placedRight() (where string, right bool) {
	var live []checkpoint.Member
	for _, m := range w.members {
		if !m.dead {
			live = append(live, checkpoint.Member{ID: m.id, Peer: m.id, Capacity: 1})
		}
	}
	order := placement.OrderOf(w.places(), live)
	for _, id := range w.units {
		owner := ""
		for _, m := range w.members {
			if m.dead {
				continue
			}
			if g := m.graphs[id]; g.state == "running" && g.term.Holds() {
				owner = m.id
			}
		}
		if owner != order.First(id) {
			return fmt.Sprintf("%s is at %q", id, owner), false
		}
	}
	return "", true
}

// orphans are units that run nowhere, and have not since a time: what is being handed over counts as run.
func (w *world) orphans(since time.Duration) (ids []string) {
	for _, id := range w.units {
		if !slices.ContainsFunc(w.members, func(m *simMember) bool {
			g := m.graphs[id]
			return !m.dead && (g.term != nil && g.term.Holds() || g.ran > since)
		}) {
			ids = append(ids, id.String())
		}
	}
	return ids
}
