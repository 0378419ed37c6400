package trace

import (
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/boundary/traced"
)

// Names are those of a graph in its spans.
type Names struct {
	Tenant, Graph string
	// Instance and Shard say which graph it is: no other has epochs of the same traces.
	Instance [16]byte
	Shard    int
	Nodes    []string
}

// Graph traces the epochs of one graph, or of a shard of it. Nil traces nothing. The trace of an epoch follows from
// its number, so that a value which is delivered later, or again after a restart, names the same.
//
// Plain, Samples and Epoch are for one goroutine, the rest for any.
type Graph struct {
	t      *Tracer
	names  Names
	hi, lo uint64 // from the instance
	same   []byte // the attributes of all of its spans, encoded
	last   int64  // the incarnation that lastHi is of; for chosen alone
	lastHi uint64

	mu sync.Mutex
	// kept are the newest epochs that are recorded for their cause; where the ratio chooses nobody asks.
	kept  [maxKept]epoch
	nkept int
	// newest is the last epoch that was recorded, and committed the last that a commit was told with.
	newest, committed epoch
}

// maxKept is how many epochs are known to be recorded for their cause. A value that is delivered behind so many
// others has its sink's span left out.
const maxKept = 256

type epoch struct{ incarnation, number int64 }

// Graph makes the tracing of a graph; nil where nothing is traced.
func (t *Tracer) Graph(names Names) *Graph {
	if t == nil {
		return nil
	}
	g := &Graph{t: t, names: names, hi: binary.BigEndian.Uint64(names.Instance[:8]),
		lo: mix(binary.BigEndian.Uint64(names.Instance[8:]) + uint64(names.Shard))}
	for _, a := range []attr{{"graphd.tenant", names.Tenant, 0}, {"graphd.graph", names.Graph, 0}} {
		g.same = a.append(g.same, 9)
	}
	g.lastHi = g.high(0)
	return g
}

// mix spreads the bits of a number over all of them.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// ids are the trace of an epoch in two halves.
func (g *Graph) ids(e epoch) (hi, lo uint64) {
	hi = g.high(e.incarnation)
	return hi, g.low(hi, e.number)
}

func (g *Graph) high(incarnation int64) uint64 { return mix(g.hi ^ mix(uint64(incarnation))) }

// low is not zero, as no id may be.
func (g *Graph) low(hi uint64, number int64) uint64 { return mix(hi^g.lo^uint64(number)) | 1 }

// The spans of a trace have ids that follow from it, each kind in a range of its own.
const (
	epochSpan = 1 << 32
	nodeSpan  = 2 << 32
	sinkSpan  = 3 << 32
)

func of(lo, span uint64) uint64 { return mix(lo+span) | 1 }

func spanID(id uint64) (b [8]byte) {
	binary.BigEndian.PutUint64(b[:], id)
	return b
}

func contextOf(hi, lo, span uint64, sampled bool) (c traced.Context) {
	binary.BigEndian.PutUint64(c.Trace[:8], hi)
	binary.BigEndian.PutUint64(c.Trace[8:], lo)
	c.Span, c.Sampled = spanID(span), sampled
	return c
}

// chosen says whether the ratio has a trace recorded.
func (t *Tracer) chosen(lo uint64) bool { return lo>>1 < t.below }

// Epoch is one that has run.
type Epoch struct {
	Incarnation, Number int64
	// Cause is why it ran, Code why it failed, where it Failed.
	Cause, Code string
	Failed      bool
	// Forced says that somebody has asked for it.
	Forced bool
	// Took is how long it ran until End.
	Took   time.Duration
	End    time.Time
	Events int64
	// Links are the spans of the events that went in, input by input.
	Links []*traced.Links
	// Nodes are those that ran.
	Nodes []Node
}

// Node is one that ran in an epoch.
type Node struct {
	Index int
	Took  time.Duration
	// Failed says that it did, with Code.
	Failed bool
	Code   string
}

// Plain says, in no time, that neither its number nor how long it took has an epoch recorded. What is left to look at
// is the rest of what Samples does.
func (g *Graph) Plain(incarnation, number int64, took time.Duration) bool {
	return !g.chosen(incarnation, number) && took < g.t.cfg.Slow
}

func (g *Graph) chosen(incarnation, number int64) bool {
	if incarnation != g.last {
		g.last, g.lastHi = incarnation, g.high(incarnation)
	}
	return g.t.chosen(g.low(g.lastHi, number))
}

// Samples says whether an epoch is to be recorded: one that failed, was forced or slow, or that follows from one of
// this daemon's that is; of the others the ratio. Nodes need not be known for it.
func (g *Graph) Samples(e *Epoch) bool {
	if g.chosen(e.Incarnation, e.Number) {
		return true
	}
	if !e.Failed && !e.Forced && e.Took < g.t.cfg.Slow && !follows(e.Links) {
		return false
	}
	g.mu.Lock()
	g.kept[g.nkept%maxKept] = epoch{e.Incarnation, e.Number}
	g.nkept++
	g.mu.Unlock()
	return true
}

func follows(links []*traced.Links) bool {
	for _, from := range links {
		for l := range from.All() {
			if l.Own && l.Sampled {
				return true
			}
		}
	}
	return false
}

// sampled says what Samples has said.
func (g *Graph) sampled(at epoch, lo uint64) bool {
	if g.t.chosen(lo) {
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range min(g.nkept, maxKept) {
		if g.kept[i] == at {
			return true
		}
	}
	return false
}

// Epoch records one. Nodes have run one after the other, and where each began is not measured: their spans follow each
// other from the beginning.
func (g *Graph) Epoch(e *Epoch) {
	at := epoch{e.Incarnation, e.Number}
	hi, lo := g.ids(at)
	root := of(lo, epochSpan)
	began := e.End.Add(-e.Took)
	c := contextOf(hi, lo, root, true)
	g.mu.Lock()
	g.newest = at
	g.mu.Unlock()
	g.t.exemplars.note(&g.names, exemplar(e.Took, e.End, c.Trace), func(k *kept) *slots { return &k.epochs })
	g.t.add(&span{Context: c, verb: "epoch ", name: g.names.Graph, kind: kindConsumer,
		start: began, end: e.End, links: e.Links, failed: e.Failed, code: e.Code,
		same: g.same, attrs: []attr{{"graphd.incarnation", "", e.Incarnation}, {"graphd.epoch", "", e.Number},
			{"graphd.cause", e.Cause, 0}, {"graphd.events", "", e.Events}}})
	for i := range e.Nodes {
		n := &e.Nodes[i]
		name := g.names.Nodes[n.Index]
		g.t.add(&span{Context: contextOf(hi, lo, of(lo, nodeSpan+uint64(n.Index)), true), parent: root,
			verb: "node ", name: name, kind: kindInternal, start: began, end: began.Add(n.Took), failed: n.Failed,
			code: n.Code, attrs: []attr{{"graphd.node", name, 0}}})
		began = began.Add(n.Took)
	}
}

// Output traces the values of one output on their way to its sink. Nil traces nothing.
type Output struct {
	g     *Graph
	index int
	name  string
	// carries says that the sink sends on where a value comes from.
	carries bool
}

// Output is the tracing of an output; carries says that its sink sends on where a value comes from.
func (g *Graph) Output(index int, name string, carries bool) *Output {
	if g == nil {
		return nil
	}
	return &Output{g, index, name, carries}
}

// Of names the span of a value's delivery. It is nil where nobody would have any use for it.
func (o *Output) Of(incarnation, number int64) *traced.Context {
	at := epoch{incarnation, number}
	hi, lo := o.g.ids(at)
	sampled := o.g.sampled(at, lo)
	if !sampled && !o.carries {
		return nil
	}
	c := contextOf(hi, lo, of(lo, sinkSpan+uint64(o.index)), sampled)
	return &c
}

// Tried records one try to deliver a value. c is what Of has said.
func (o *Output) Tried(c *traced.Context, began, ended time.Time, failed bool, code string) {
	call := *c
	call.Span = spanID(rand.Uint64() | 1)
	o.g.t.add(&span{Context: call, parent: binary.BigEndian.Uint64(c.Span[:]), verb: "call ", name: o.name,
		kind: kindClient, start: began, end: ended, failed: failed, code: code,
		attrs: []attr{{"graphd.output", o.name, 0}}})
}

// Settled records that a value is through, or with a code that it was given up. emitted is when the epoch ran, zero
// where that is not known any more.
func (o *Output) Settled(c *traced.Context, incarnation, number int64, emitted, ended time.Time, code string) {
	if emitted.IsZero() || emitted.After(ended) {
		emitted = ended
	}
	if code == "" {
		o.g.t.exemplars.note(&o.g.names, exemplar(ended.Sub(emitted), ended, c.Trace),
			func(k *kept) *slots { return k.output(o.name) })
	}
	lo := binary.BigEndian.Uint64(c.Trace[8:])
	o.g.t.add(&span{Context: *c, parent: of(lo, epochSpan), verb: "sink ", name: o.name, kind: kindProducer,
		start: emitted, end: ended, failed: code != "", code: code,
		same: o.g.same, attrs: []attr{{"graphd.incarnation", "", incarnation}, {"graphd.epoch", "", number},
			{"graphd.output", o.name, 0}}})
}
