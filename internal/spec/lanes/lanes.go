// Package lanes is what a declaration says of how its nodes are executed: [Lane], and [Use], the lane that a node
// names.
package lanes

import (
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
)

// The kinds of lanes.
const (
	// EventLoop runs its nodes inline, one after the other, as without a lane.
	EventLoop = "event_loop"
	// Pool runs its nodes on workers of its own.
	Pool = "pool"
)

// What becomes of the runs that a pool has no room for.
const (
	Block      = "block"
	DropOldest = "drop_oldest"
	DropNewest = "drop_newest"
	Reject     = "reject"
	FailFast   = "fail_fast"
)

const (
	defaultThreads  = 4
	defaultCapacity = 1024
	maxThreads      = 256
	maxCapacity     = 10_000 // as many as a graph may have nodes
	maxReentrant    = 64
)

// Lane is how nodes are executed that name it.
type Lane struct {
	Name string
	Pos  decode.Pos
	// Kind is "event_loop" or "pool"; "" in a declaration that is wrong.
	Kind string
	// MaxThreads is how many nodes of a pool are computed at one time: 1 to 256, default 4.
	MaxThreads int
	// QueueCapacity is how many nodes an epoch may give to a pool at once: 1 to 10,000, default 1,024. Overflow is
	// what becomes of more: "block" (default), "drop_oldest", "drop_newest", "reject" or "fail_fast".
	QueueCapacity int
	Overflow      string
	// Reentrant is how many runs of one node of a pool may be under way, of epochs that have been given up: 1 to 64,
	// default 1.
	Reentrant int
}

// Use is the lane that a node names; "" for none.
type Use struct {
	Name string
	Pos  decode.Pos
}

var (
	overflows = decode.Words(Block, DropOldest, DropNewest, Reject, FailFast)

	poolFields = []decode.Field[Lane]{
		{Name: "max_threads", Read: func(d *decode.Decoder, v decode.Value, l *Lane) {
			d.Count(v, 1, maxThreads, &l.MaxThreads)
		}},
		{Name: "queue_capacity", Read: func(d *decode.Decoder, v decode.Value, l *Lane) {
			d.Count(v, 1, maxCapacity, &l.QueueCapacity)
		}},
		{Name: "overflow", Read: func(d *decode.Decoder, v decode.Value, l *Lane) {
			d.Pick(v, overflows, &l.Overflow)
		}},
		{Name: "reentrant", Read: func(d *decode.Decoder, v decode.Value, l *Lane) {
			d.Count(v, 1, maxReentrant, &l.Reentrant)
		}},
	}

	kinds = []decode.Field[Lane]{
		{Name: Pool, Also: []string{"thread_pool", "threads", "workers"},
			Read: func(d *decode.Decoder, v decode.Value, l *Lane) {
				decode.Object(d, v, "a pool", poolFields, l)
			}},
		{Name: EventLoop, Also: []string{"inline"}, Read: decode.Nothing[Lane]("the lane event_loop")},
		{Name: "fixed_rate", Instead: "give the reactor an every: all of its nodes then have that cadence"},
	}
)

// Read reads a mapping from names to lanes.
func Read(d *decode.Decoder, v decode.Value) (list []Lane) {
	for _, p := range d.Names(v, "lane") {
		l := Lane{Name: p.Key(), Pos: p.Name().Pos(), MaxThreads: defaultThreads, QueueCapacity: defaultCapacity,
			Overflow: overflows.Default(), Reentrant: 1}
		if kind, ok := decode.One(d, p.Value, "a lane", kinds, &l); ok {
			l.Kind = kind.Key()
		}
		list = append(list, l)
	}
	return list
}

// ReadUse reads the name of a lane. Whether it is there is for who knows all of them.
func ReadUse(d *decode.Decoder, v decode.Value) Use {
	return Use{Name: d.NameOf(v, "lane"), Pos: v.Here().Pos()}
}

// Mappings are the mappings of the declaration that are read here.
func Mappings() []decode.Mapping {
	return []decode.Mapping{
		decode.MappingOf("lane", kinds, nil),
		decode.MappingOf("lane_pool", poolFields, decode.Choices{"overflow": overflows}),
	}
}

// Canonical writes the lanes, whose order means nothing.
func Canonical(t *meaning.Tree, list []Lane) {
	if len(list) == 0 {
		return
	}
	all := t.Branch("lanes")
	byName := func(a, b Lane) int { return strings.Compare(a.Name, b.Name) }
	for _, l := range slices.SortedFunc(slices.Values(list), byName) {
		b := all.Branch(l.Name).Branch(l.Kind)
		if l.Kind == Pool {
			b.Number("max_threads", int64(l.MaxThreads))
			b.Number("queue_capacity", int64(l.QueueCapacity))
			b.Text("overflow", l.Overflow)
			b.Number("reentrant", int64(l.Reentrant))
		}
	}
}
