package spec

import (
	"slices"

	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/trait"
)

// Keyed reports whether the graph has keys: the reactor's, or one of an accumulator.
func (g *Graph) Keyed() bool {
	keyed := func(a Accumulator) bool { return a.Keys != nil }
	return g.Reactor.Keys != nil || slices.ContainsFunc(g.Accumulators, keyed)
}

// KeyParts is how many values make a key; 0 in a graph without keys.
func (g *Graph) KeyParts() int {
	if g.Reactor.Keys != nil {
		return len(g.Reactor.Keys)
	}
	for i := range g.Accumulators {
		if n := len(g.Accumulators[i].Keys); n > 0 {
			return n
		}
	}
	return 0
}

func readKey(d *decoder, v value, a *inputDraft) {
	a.Keys = d.Exprs(v)
	a.at.key = v
}

// ofKeys notes a field that has a meaning only where there are keys.
func (d *draft) ofKeys(v value) { d.links.ofKeys = append(d.links.ofKeys, v) }

// checkKeys checks that in a keyed graph every input that is not global has a key, all of
// the same number of parts, and that elsewhere nobody speaks of keys.
func (d *draft) checkKeys() {
	g := d.Graph
	if !g.Keyed() {
		for _, v := range d.links.ofKeys {
			d.Report(v.Name(), decode.CodeNoKey, "",
				"%s is about keys, and this graph has none; give reactor.key, or remove it", v.Key())
		}
		return
	}
	parts := g.KeyParts()
	d.checkStagesOfShards()
	d.checkPartitioned()
	for i := range g.Accumulators {
		a, at := &g.Accumulators[i], d.links.accumulators[i]
		shown, made := decode.Quote(a.Name), a.Folding()
		switch {
		case a.JoinedBy != "": // what it hands over is the join's
		case a.Global && a.Keys != nil:
			d.Report(at.key.Name(), decode.CodeConflict, "",
				"%s is global: one value for all keys, so it has no key; remove one of the two", shown)
		case a.Global:
		case made.Grouped && a.Keys != nil:
			d.Report(at.key.Name(), decode.CodeConflict, "",
				"%s is %s, and what it hands over is of many events: group them by %s.key, "+
					"and let reactor.key name a field of the result; remove key", shown, decode.Article(a.Kind), a.Kind)
		case made.Grouped && g.Reactor.Keys == nil && made.Keys != nil:
			if len(made.Keys) != parts {
				d.Report(at.Name(), decode.CodeKeyParts, "",
					"the key of the %s has %d parts, the others have %d; keys are equal only part by part",
					a.Kind, len(made.Keys), parts)
			}
		case a.Keys == nil && g.Reactor.Keys == nil:
			d.Report(at.Name(), decode.CodeNoKey, "",
				"the graph has keys, and %s has none; give it a key, give reactor.key, or make it global", shown)
		case len(a.Keys) > 0 && parts > 0 && len(a.Keys) != parts:
			d.Report(at.key.Here(), decode.CodeKeyParts, "",
				"the key has %d parts, the others have %d; keys are equal only part by part", len(a.Keys), parts)
		case made.Hands == trait.NewEvents:
			d.Report(at.Name(), decode.CodeNoKey, "", "the graph has keys, and %s makes one list of the events of "+
				"all: give it a list for each key with %s.key, such as key: event.id, or make it global", shown, a.Kind)
		case made.Hands != trait.OneValue:
			d.Report(at.Name(), decode.CodeNotYetSupported, "",
				"%s hands over lists of events, "+
					"which may be of many keys: a %s per key is not supported by this version yet; make it global, "+
					"keep them with a fold or a window that collects, or use a graph without keys", shown, a.Kind)
		}
	}
}

// checkStagesOfShards refuses stages where the keys are dealt to shards: a stage may key anew, and what it hands
// on would have to go to another shard (M56).
func (d *draft) checkStagesOfShards() {
	for i := range d.Accumulators {
		if a := &d.Accumulators[i]; a.From != "" && d.Reactor.Shards > 1 {
			d.Report(d.links.accumulators[i].Name(), decode.CodeCannotShard, "",
				"the node %s feeds %s in the same graph, and shards hand nothing to each other: make the stage a "+
					"graph of its own that this one feeds, or leave shards out",
				decode.Quote(a.From), decode.Quote(a.Name))
		}
	}
}

// DealtBy is the function that the keys are dealt to shards by; "" is graphd's own (M49).
func (g *Graph) DealtBy() string {
	for i := range g.Accumulators {
		if by := g.Accumulators[i].Partitioned; by != "" {
			return by
		}
	}
	return ""
}

// checkPartitioned checks that keys can have been dealt as is said: that there are partitions, that a key is one value,
// as that of a record is, and that all say the same.
func (d *draft) checkPartitioned() {
	var first *Accumulator
	for i := range d.Accumulators {
		a, v := &d.Accumulators[i], d.links.accumulators[i].partitioned
		shown := decode.Quote(a.Name)
		switch {
		case a.Partitioned == "":
			continue
		case a.Fed() || !a.Source.Origin().Partitioned():
			d.Report(v.Name(), decode.CodeCannotShard, "", "%s has no partitions that keys could be dealt to: "+
				"partitioned is for a source that reads a topic; remove it", shown)
		case a.Global:
			d.Report(v.Name(), decode.CodeCannotShard, "", "%s is global: every shard reads all of it; remove one of "+
				"the two", shown)
		case d.KeyParts() > 1:
			d.Report(v.Name(), decode.CodeCannotShard, "", "a record's key is one value, and the keys of this graph "+
				"have %d parts: make one text of them as the producer does, such as key: a + \"|\" + b, or leave "+
				"partitioned out", d.KeyParts())
		case first != nil && first.Partitioned != a.Partitioned:
			d.Report(v.Here(), decode.CodeCannotShard, "", "the keys of %s are dealt by %s and those of %s by %s, and "+
				"a key has one shard: produce both by one function, or leave partitioned out of one of them",
				decode.Quote(first.Name), first.Partitioned, shown, a.Partitioned)
		}
		if first == nil {
			first = a
		}
	}
}
