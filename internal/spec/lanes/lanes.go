// Package lanes is what a declaration says of how its nodes are executed: [Lane], and [Use], the lane that a node
// names.
package lanes

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
)

// The kinds of lanes.
const (
	// EventLoop runs its nodes inline, one after the other, as without a lane.
	EventLoop = "event_loop"
	// Pool runs its nodes on workers of its own.
	Pool = "pool"
	// FixedRate runs its nodes at the ticks of a cadence.
	FixedRate = "fixed_rate"
)

// What becomes of the runs that a pool has no room for.
const (
	Block      = "block"
	DropOldest = "drop_oldest"
	DropNewest = "drop_newest"
	Reject     = "reject"
	FailFast   = "fail_fast"
)

// What becomes of the ticks that a fixed_rate comes too late for.
const (
	DropTick    = "drop_tick"
	SkipNext    = "skip_next"
	CatchUpOnce = "catch_up_once"
)

// MaxRates is how many lanes fixed_rate a graph may have: which of them tick in an epoch is a word.
const MaxRates = 64

const (
	// minPeriod keeps a slip of the pen from firing a graph a million times a second; beyond maxPeriod it is no rate.
	minPeriod = time.Millisecond
	maxPeriod = 365 * 24 * time.Hour

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
	// Kind is "event_loop", "pool" or "fixed_rate"; "" in a declaration that is wrong.
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
	// Period is the time from one tick of a fixed_rate to the next: a millisecond at least. OverrunPolicy is what
	// becomes of ticks that it comes too late for: "drop_tick" (default), "skip_next" or "catch_up_once".
	Period        time.Duration
	OverrunPolicy string
}

// Use is the lane that a node names; "" for none.
type Use struct {
	Name string
	Pos  decode.Pos
}

var (
	overflows = decode.Words(Block, DropOldest, DropNewest, Reject, FailFast)
	overruns  = decode.Words(DropTick, SkipNext, CatchUpOnce)

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

	rateFields = []decode.Field[Lane]{
		{Name: "period", Alone: true, Also: []string{"every", "interval", "period_ms"}, Read: readPeriod},
		{Name: "hz", Also: []string{"rate", "frequency"}, Read: readRate},
		{Name: "overrun_policy", Also: []string{"overrun", "on_overrun"},
			Read: func(d *decode.Decoder, v decode.Value, l *Lane) {
				d.Pick(v, overruns, &l.OverrunPolicy)
			}},
	}

	kinds = []decode.Field[Lane]{
		{Name: Pool, Also: []string{"thread_pool", "threads", "workers"},
			Read: func(d *decode.Decoder, v decode.Value, l *Lane) {
				decode.Object(d, v, "a pool", poolFields, l)
			}},
		{Name: EventLoop, Also: []string{"inline"}, Read: decode.Nothing[Lane]("the lane event_loop")},
		{Name: FixedRate, Also: []string{"cadence", "periodic"}, Read: readFixedRate},
	}
)

// Read reads a mapping from names to lanes.
func Read(d *decode.Decoder, v decode.Value) (list []Lane) {
	rates := 0
	for _, p := range d.Names(v, "lane") {
		l := Lane{Name: p.Key(), Pos: p.Name().Pos(), MaxThreads: defaultThreads, QueueCapacity: defaultCapacity,
			Overflow: overflows.Default(), Reentrant: 1, OverrunPolicy: overruns.Default()}
		if kind, ok := decode.One(d, p.Value, "a lane", kinds, &l); ok {
			if l.Kind = kind.Key(); l.Kind == FixedRate {
				rates++
			}
		}
		if list = append(list, l); rates == MaxRates+1 {
			d.Report(p.Name(), decode.CodeOutOfRange, "", "there are more than %d lanes of a fixed_rate; let nodes of "+
				"one period share a lane", MaxRates)
			rates = math.MinInt // once
		}
	}
	return list
}

func readPeriod(d *decode.Decoder, v decode.Value, l *Lane) {
	if d.Duration(v, minPeriod, &l.Period); l.Period > maxPeriod {
		d.Report(v.Here(), decode.CodeOutOfRange, "", "%s is more than a year; give at most %s", v.Subject(), maxPeriod)
	}
}

// readRate reads ticks per second and keeps them as the time between two.
func readRate(d *decode.Decoder, v decode.Value, l *Lane) {
	n, ok := d.Number(v, "a number of ticks per second")
	if !ok {
		return
	}
	const least, most = 1e-7, float64(time.Second / minPeriod)
	if !(n >= least && n <= most) {
		d.Report(v.Here(), decode.CodeOutOfRange, "", "%s is out of range; give ticks per second between %.7f and %g, "+
			"or a period", v.Subject(), least, most)
		return
	}
	l.Period = time.Duration(math.Round(float64(time.Second) / n))
}

func readFixedRate(d *decode.Decoder, v decode.Value, l *Lane) {
	got, ok := decode.Object(d, v, "a fixed_rate", rateFields, l)
	if !ok {
		return
	}
	period, hasPeriod := got["period"]
	hz, hasRate := got["hz"]
	switch {
	case hasPeriod && hasRate:
		d.Report(decode.Later(hz, period).Name(), decode.CodeConflict, "",
			"period and hz say the same thing in two ways; keep one of them")
	case !hasPeriod && !hasRate:
		d.Missing(v, "period", "a fixed_rate")
	case hasRate:
		d.Follow(v.Path()+".period", hz.Path(), "")
	}
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
		decode.MappingOf("lane_fixed_rate", rateFields, decode.Choices{"overrun_policy": overruns}),
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
		if l.Kind == FixedRate {
			b.Span("period", l.Period)
			b.Text("overrun_policy", l.OverrunPolicy)
		}
	}
}
