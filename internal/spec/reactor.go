package spec

import (
	"time"

	"github.com/graphd/graphd/internal/spec/decode"
)

var (
	criteria       = decode.Words("any", "all")
	strategies     = decode.Words("latest", "sequential", "burst")
	onWarmTimeouts = decode.Words("fire_anyway", "fail")
	onExhausteds   = decode.Words("fail", "degrade")
	onEvicts       = decode.Words("dead_letter", "drop")
)

// minCadence keeps a slip of the pen from firing a graph a million times a second.
const minCadence = time.Millisecond

var reactorFields = []decode.Field[draft]{
	{Name: "when", Alone: true, Also: []string{"trigger", "fire_on"}, Read: readWhen},
	{Name: "strategy", Read: func(d *decoder, v value, g *draft) {
		g.links.strategy = v
		d.Pick(v, strategies, &g.Reactor.Strategy)
	}},
	{Name: "key", Also: []string{"key_by", "group_by", "partition_by"}, Read: func(d *decoder, v value, g *draft) {
		g.Reactor.Keys = d.Exprs(v)
	}},
	{Name: "ttl", Read: func(d *decoder, v value, g *draft) { g.ofKeys(v); d.Duration(v, 1, &g.Reactor.TTL) }},
	{Name: "max_keys", Read: func(d *decoder, v value, g *draft) {
		g.ofKeys(v)
		d.Count(v, 1, maxKeys, &g.Reactor.MaxKeys)
	}},
	{Name: "shards", Read: func(d *decoder, v value, g *draft) {
		g.ofKeys(v)
		d.Count(v, 1, maxShards, &g.Reactor.Shards)
	}},
	{Name: "max_waiting", Read: func(d *decoder, v value, g *draft) {
		g.ofKeys(v)
		d.Count(v, 1, maxCapacity, &g.Reactor.MaxWaiting)
	}},
	{Name: "max_waiting_bytes", Read: func(d *decoder, v value, g *draft) {
		g.ofKeys(v)
		if n, ok := d.Integer(v, 1, maxCapacityBytes); ok {
			g.Reactor.MaxWaitingBytes = n
		}
	}},
	{Name: "on_evict", Read: func(d *decoder, v value, g *draft) {
		g.ofKeys(v)
		d.Pick(v, onEvicts, &g.Reactor.OnEvict)
	}},
	{Name: "guard", Read: func(d *decoder, v value, g *draft) { g.Reactor.Guard = d.Expr(v) }},
	{Name: "debounce", Read: func(d *decoder, v value, g *draft) { d.Duration(v, 0, &g.Reactor.Debounce) }},
	{Name: "rate_limit", Read: func(d *decoder, v value, g *draft) { d.Duration(v, 0, &g.Reactor.RateLimit) }},
	{Name: "every", Also: []string{"interval"}, Read: func(d *decoder, v value, g *draft) {
		d.Duration(v, minCadence, &g.Reactor.Every)
	}},
	{Name: "max_wait", Read: func(d *decoder, v value, g *draft) {
		g.links.maxWait = v
		d.Duration(v, 1, &g.Reactor.MaxWait)
	}},
	{Name: "warm_timeout", Read: func(d *decoder, v value, g *draft) { d.Duration(v, 1, &g.Reactor.WarmTimeout) }},
	{Name: "on_warm_timeout", Read: func(d *decoder, v value, g *draft) {
		d.Pick(v, onWarmTimeouts, &g.Reactor.OnWarmTimeout)
	}},
	{Name: "epoch_timeout", Read: func(d *decoder, v value, g *draft) { d.Duration(v, 1, &g.Reactor.EpochTimeout) }},
	{Name: "budget", Read: func(d *decoder, v value, g *draft) { d.Duration(v, 1, &g.Reactor.Budget) }},
	{Name: "on_overrun", Read: func(d *decoder, v value, g *draft) { d.Pick(v, onOverruns, &g.Reactor.OnOverrun) }},
	{Name: "restart", Read: readRestart},
}

func readReactor(d *decoder, v value, g *draft) {
	g.Reactor.Pos = v.Whole().Pos()
	got, _ := decode.Object(d, v, "the reactor", reactorFields, g)
	switch r := g.Reactor; {
	case r.Budget > 0 && r.OnOverrun == "":
		r.OnOverrun = onOverruns.Default()
	case got["on_overrun"].Given() && !got["budget"].Given():
		d.Report(got["on_overrun"].Name(), decode.CodeNoEffect, "", "on_overrun says what follows when an epoch takes "+
			"longer than its budget, and it has none; give the reactor a budget, or remove this")
	}
}

// whenFields are the two criteria over a subset of the inputs.
var whenFields = []decode.Field[draft]{
	{Name: "any", Read: readSubset},
	{Name: "all", Read: readSubset},
}

func readWhen(d *decoder, v value, g *draft) {
	if !v.IsMapping() {
		if v.IsList() {
			d.WrongType(v, "any, all, { any: [names] } or { all: [names] }")
			return
		}
		d.Pick(v, criteria, &g.Reactor.When)
		return
	}
	if kind, ok := decode.One(d, v, "when", whenFields, g); ok {
		g.Reactor.When = kind.Key()
	}
}

func readSubset(d *decoder, v value, g *draft) {
	const want = "a list of accumulators"
	if !d.List(v, want) {
		return
	}
	if v.IsEmpty() {
		d.Report(v.Here(), decode.CodeEmptyValue, "",
			"expected %s, found an empty list; name at least one, or write when: %s", want, v.Key())
		return
	}
	if n := len(v.Items()); n > decode.MaxEntries {
		d.Report(v.Here(), decode.CodeTooMany, "",
			"the list has %d names, more than the %d allowed; shorten it", n, decode.MaxEntries)
		return
	}
	seen := make(map[string]bool)
	for _, item := range v.Items() {
		name, ok := d.Text(item, "the name of an accumulator")
		if !ok {
			continue
		}
		if seen[name] {
			d.Report(item.Here(), decode.CodeDuplicateEntry, "", "%s is named twice; remove one", item.Shown())
			continue
		}
		seen[name] = true
		g.Reactor.Names = append(g.Reactor.Names, name)
		g.links.subset = append(g.links.subset, item)
	}
}

var restartFields = []decode.Field[Restart]{
	{Name: "attempts", Read: func(d *decoder, v value, r *Restart) { d.Count(v, 0, maxCount, &r.Attempts) }},
	{Name: "base", Read: func(d *decoder, v value, r *Restart) { d.Duration(v, 1, &r.Base) }},
	{Name: "max", Read: func(d *decoder, v value, r *Restart) { d.Duration(v, 1, &r.Max) }},
	{Name: "reset", Read: func(d *decoder, v value, r *Restart) { d.Duration(v, 1, &r.Reset) }},
	{Name: "on_exhausted", Read: func(d *decoder, v value, r *Restart) { d.Pick(v, onExhausteds, &r.OnExhausted) }},
}

func readRestart(d *decoder, v value, g *draft) {
	got, ok := decode.Object(d, v, "restart", restartFields, &g.Reactor.Restart)
	if !ok || g.Reactor.Restart.Base <= g.Reactor.Restart.Max {
		return
	}
	// Report whichever of the two was written; the other may be a default.
	at, said := got["base"]
	if v, ok := got["max"]; ok {
		at, said = v, true
	}
	if said {
		d.Report(at.Here(), decode.CodeOutOfRange, "",
			"the delay would start at base (default 1s) and be at most max (default 60s); "+
				"make max at least as long as base")
	}
}
