package spec

import (
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/graphd/graphd/internal/spec/internal/document"
)

var (
	criteria       = choice{built: []string{"any", "all"}}
	strategies     = choice{built: []string{"latest", "sequential", "burst"}}
	onWarmTimeouts = choice{built: []string{"fire_anyway", "fail"}}
	onExhausteds   = choice{built: []string{"fail", "degrade"}}
	onEvicts       = choice{built: []string{"dead_letter", "drop"}}
)

// minCadence keeps a slip of the pen from firing a graph a million times a second.
const minCadence = time.Millisecond

var reactorFields = []field[Reactor]{
	{name: "when", read: readWhen},
	{name: "strategy", read: func(d *decoder, v value, r *Reactor) { d.pick(v, strategies, &r.Strategy) }},
	{name: "key", read: func(d *decoder, v value, r *Reactor) { r.Keys = d.keys(v) }},
	{name: "ttl", read: func(d *decoder, v value, r *Reactor) { d.ofKeys(v); d.duration(v, 1, &r.TTL) }},
	{name: "max_keys", read: func(d *decoder, v value, r *Reactor) { d.ofKeys(v); d.count(v, 1, maxKeys, &r.MaxKeys) }},
	{name: "on_evict", read: func(d *decoder, v value, r *Reactor) { d.ofKeys(v); d.pick(v, onEvicts, &r.OnEvict) }},
	{name: "guard", read: func(d *decoder, v value, r *Reactor) { r.Guard = d.expr(v) }},
	{name: "debounce", read: func(d *decoder, v value, r *Reactor) { d.duration(v, 0, &r.Debounce) }},
	{name: "rate_limit", read: func(d *decoder, v value, r *Reactor) { d.duration(v, 0, &r.RateLimit) }},
	{name: "every", read: func(d *decoder, v value, r *Reactor) { d.duration(v, minCadence, &r.Every) }},
	{name: "max_wait", read: func(d *decoder, v value, r *Reactor) { d.links.maxWait = v; d.duration(v, 1, &r.MaxWait) }},
	{name: "warm_timeout", read: func(d *decoder, v value, r *Reactor) { d.duration(v, 1, &r.WarmTimeout) }},
	{name: "on_warm_timeout", read: func(d *decoder, v value, r *Reactor) { d.pick(v, onWarmTimeouts, &r.OnWarmTimeout) }},
	{name: "epoch_timeout", read: func(d *decoder, v value, r *Reactor) { d.duration(v, 1, &r.EpochTimeout) }},
	{name: "restart", read: readRestart},
}

func readReactor(d *decoder, v value, g *Graph) {
	g.Reactor.Pos = d.pos(v.anchor(), v.at)
	readObject(d, v, "the reactor", reactorFields, &g.Reactor)
}

// whenFields are the two criteria over a subset of the inputs.
var whenFields = []field[Reactor]{
	{name: "any", read: readSubset},
	{name: "all", read: readSubset},
}

func readWhen(d *decoder, v value, r *Reactor) {
	if v.node.Kind != yaml.MappingNode {
		if v.node.Kind == yaml.SequenceNode {
			d.wrongType(v, "any, all, { any: [names] } or { all: [names] }")
			return
		}
		d.pick(v, criteria, &r.When)
		return
	}
	if kind, ok := readOne(d, v, "when", whenFields, r); ok {
		r.When = kind.key.Value
	}
}

func readSubset(d *decoder, v value, r *Reactor) {
	const want = "a list of accumulators"
	if !d.kind(v, yaml.SequenceNode, want) {
		return
	}
	if len(v.node.Content) == 0 {
		d.report(v.node, v.at, CodeEmptyValue, "", "expected %s, found an empty list; name at least one, or write when: %s", want, v.key.Value)
		return
	}
	if len(v.node.Content) > maxEntries {
		d.report(v.node, v.at, CodeTooMany, "", "the list has %d names, more than the %d allowed; shorten it", len(v.node.Content), maxEntries)
		return
	}
	seen := make(map[string]bool, len(v.node.Content))
	for i := range v.node.Content {
		item := v.item(i)
		name, ok := d.text(item, "the name of an accumulator")
		if !ok {
			continue
		}
		if seen[name] {
			d.report(item.node, item.at, CodeDuplicateEntry, "", "%s is named twice; remove one", document.Quote(item.node.Value))
			continue
		}
		seen[name] = true
		r.Names = append(r.Names, name)
		d.links.subset = append(d.links.subset, item)
	}
}

var restartFields = []field[Restart]{
	{name: "attempts", read: func(d *decoder, v value, r *Restart) { d.count(v, 0, maxCount, &r.Attempts) }},
	{name: "base", read: func(d *decoder, v value, r *Restart) { d.duration(v, 1, &r.Base) }},
	{name: "max", read: func(d *decoder, v value, r *Restart) { d.duration(v, 1, &r.Max) }},
	{name: "reset", read: func(d *decoder, v value, r *Restart) { d.duration(v, 1, &r.Reset) }},
	{name: "on_exhausted", read: func(d *decoder, v value, r *Restart) { d.pick(v, onExhausteds, &r.OnExhausted) }},
}

func readRestart(d *decoder, v value, r *Reactor) {
	got, ok := readObject(d, v, "restart", restartFields, &r.Restart)
	if !ok || r.Restart.Base <= r.Restart.Max {
		return
	}
	// Report whichever of the two was written; the other may be a default.
	at, said := got["base"]
	if v, ok := got["max"]; ok {
		at, said = v, true
	}
	if said {
		d.report(at.node, at.at, CodeOutOfRange, "", "the delay would start at base (default 1s) and be at most max (default 60s); make max at least as long as base")
	}
}
