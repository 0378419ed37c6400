package compile

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary/partitioner"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/trait"
)

// checkShards checks that every input can be dealt where the keys are dealt to shards: that the key of what it
// hands over follows from one event (M49).
func (u *Unit) checkShards() (ds spec.Diagnostics) {
	if u.Spec.Reactor.Shards <= 1 {
		return nil
	}
	for i, p := range u.Programs {
		a := &u.Spec.Accumulators[i]
		why := p.Undealt()
		if a.Joins() {
			why = u.joinUndealt(a, p)
		}
		if why == "" && u.DealtBy() != partitioner.Own && slices.Contains(p.KeyTimes(), true) {
			why = "its key is a time, and how a producer writes one as a record's key is not known: let the key be " +
				"the text that the record has, or leave partitioned out"
		}
		if why != "" {
			ds = append(ds, spec.Diagnostic{File: u.Spec.File, Line: a.Pos.Line, Column: a.Pos.Column,
				Path: a.Pos.Path, Code: spec.CodeCannotShard,
				Text: a.Name + " cannot be dealt to shards: " + why + "; or leave shards out"})
		}
	}
	return ds
}

// ShardsBy says in words how the keys are dealt, and what runs the shards; "" where there is one.
func (u *Unit) ShardsBy() string {
	n := u.Spec.Reactor.Shards
	if n <= 1 {
		return ""
	}
	if why := u.OneCore(); why != "" {
		return fmt.Sprintf("%d shards by key, run as one in graphd run and live, since %s", n, why)
	}
	run, live := u.OneRun(true), u.OneLive()
	switch {
	case run != "" && live != "":
		return fmt.Sprintf("%d shards by key, run as one in graphd run, since %s, and live, since %s", n, run, live)
	case run != "":
		return fmt.Sprintf("%d shards by key, beside each other live, and as one in graphd run, since %s", n, run)
	case live != "":
		return fmt.Sprintf("%d shards by key, beside each other in graphd run, and as one live, since %s", n, live)
	}
	return fmt.Sprintf("%d shards by key, beside each other", n)
}

// DealtBy is the function that the keys are dealt to shards by.
func (u *Unit) DealtBy() partitioner.Function {
	f, _ := partitioner.Named(u.Spec.DealtBy())
	return f
}

// DealtOn names what events have as their keys, by input; see [Rekeyed]. It does so of a graph that is declared without
// shards too, for its keys may be dealt to some yet.
func (u *Unit) DealtOn() string { return u.dealtOn }

func (u *Unit) findDealtOn() string {
	var names []string
	for i := range u.Spec.Accumulators {
		if a := &u.Spec.Accumulators[i]; !a.Joins() && !u.Shared(i) && u.Spec.Keyed() {
			names = append(names, a.Name+"="+u.keyOf(a))
		}
	}
	return strings.Join(names, " ")
}

// Rekeyed reports whether events of an input that two declarations have, of which was and is are [Unit.DealtOn], have
// another key by the one than by the other.
func Rekeyed(was, is string) bool {
	before := map[string]string{}
	for part := range strings.FieldsSeq(was) {
		name, key, _ := strings.Cut(part, "=")
		before[name] = key
	}
	for part := range strings.FieldsSeq(is) {
		name, key, _ := strings.Cut(part, "=")
		if had, both := before[name]; both && had != key {
			return true
		}
	}
	return false
}

// Partitioned says that a shard finds its keys of input i in the partitions of its number alone.
func (u *Unit) Partitioned(i int) bool { return u.Spec.Accumulators[i].Partitioned != "" }

// Shared says that what input i has is for all keys. What a side of a join has is the join's, and of one key.
func (u *Unit) Shared(i int) bool { return u.inputs[i].Global && u.Spec.Accumulators[i].JoinedBy == "" }

// Dealer makes what finds the shards of input i's events; nil where what it has is for all keys.
func (u *Unit) Dealer(i int) func() *accumulator.Dealer {
	if u.Shared(i) {
		return nil
	}
	return func() *accumulator.Dealer { return accumulator.NewDealer(u.Programs[i], accumulator.Limits{}) }
}

var readsEpoch = regexp.MustCompile(`\bepoch\b`)

// OneCore says why the shards of a bounded run are run as one; "" when they run beside each other. What it names
// would be told otherwise by several than by one, in value or in order.
func (u *Unit) OneCore() string {
	g, r := u.Spec, u.Spec.Reactor
	waits := r.When == "all" || !r.Guard.IsZero() || r.Debounce > 0 || r.RateLimit > 0 || r.Every > 0
	switch {
	case g.Durability.OnFailure == "halt":
		return "a failed epoch halts all of them"
	case u.Plan.Cuts() != nil:
		return "an output puts out cuts, which have the number of the epoch"
	case u.readsEpoch():
		return "an expression reads the number of the epoch"
	case g.AsOf():
		return "rows are looked up as of the event"
	case r.TTL > 0 && r.OnEvict == "dead_letter" && waits:
		return "what a key leaves at its ttl becomes dead letters"
	case u.Plan.RunsForeign():
		return "a node runs the program's own code"
	}
	timers := 0
	for i, p := range u.Programs {
		if a := &g.Accumulators[i]; a.Joins() {
			if a.JoinedBy != "" {
				return "what " + p.Name() + " hands over is joined again"
			}
			if r.Debounce > 0 || r.RateLimit > 0 || r.Every > 0 || r.MaxWait > 0 {
				return "what " + p.Name() + " hands over at the end waits for the timers of all keys"
			}
			continue
		}
		ticks, together := p.Ticks()
		if why := u.sharedApart(i, ticks); why != "" {
			return why
		}
		if together {
			return "when " + p.Name() + " hands over early results of one key depends on the others"
		}
		if ticks {
			timers++
		}
	}
	if timers > 1 {
		return "several inputs go by the clock"
	}
	return ""
}

// OneRun is [Unit.OneCore] of a run that flushes at its end, or does not. Where several inputs hold open what time
// alone completes then, those of one moment take turns, and the graph is at rest in between: a shard that has nothing
// of the first would be at the second already.
func (u *Unit) OneRun(flushes bool) string {
	why := u.OneCore()
	if why != "" || !flushes {
		return why
	}
	waits := 0
	for _, p := range u.Programs {
		if p.Lasts() {
			waits++
		}
	}
	if waits > 1 {
		return "time completes what several inputs hold open at its end"
	}
	return ""
}

// OneLive says why the shards of a live graph are run as one; "" when each can run by itself. What [Unit.OneCore]
// names is run as one here too; besides, a source has to give again what it
// gave, for a shard that begins again, and each shard writes its outputs itself.
func (u *Unit) OneLive() string {
	if why := u.OneCore(); why != "" {
		return why
	}
	for i := range u.Spec.Accumulators {
		a := &u.Spec.Accumulators[i]
		origin := a.Source.Origin()
		if _, _, fed := origin.Graph(); fed {
			return a.Name + " is fed by another graph"
		}
		if origin.Pulls() && origin.After() != trait.Again {
			return "what the source of " + a.Name + " gives it gives once"
		}
	}
	for i := range u.Spec.Outputs {
		o := &u.Spec.Outputs[i]
		to := o.Sink.Target()
		if _, _, feeds := to.Graph(); feeds {
			return "output " + o.Name + " feeds another graph"
		}
		if to.Followers() {
			return "output " + o.Name + " is for other graphs that follow"
		}
		if to.File() != "" {
			return "output " + o.Name + " is written to a file"
		}
	}
	return ""
}

// OnlyShards reports whether two declarations differ in the number of shards at most.
func OnlyShards(a, b *Unit) bool {
	diff := len(spec.Diff(a.Spec, b.Spec))
	return diff == 0 || diff == 1 && a.Spec.Reactor.Shards != b.Spec.Reactor.Shards
}

// sharedApart says why what input i has for all keys cannot be folded once for all shards; "" when it can.
func (u *Unit) sharedApart(i int, ticks bool) string {
	in, p := &u.inputs[i], u.Programs[i]
	switch {
	case !u.Shared(i):
		return ""
	case ticks:
		return in.Name + " is shared by all keys and goes by the clock"
	case in.Table == nil && !p.Passes():
		return in.Name + " is shared by all keys and folds"
	}
	return ""
}

// readsEpoch says that some expression asks for the epoch's number.
func (u *Unit) readsEpoch() bool {
	g := u.Spec
	reads := func(e spec.Expr) bool { return readsEpoch.MatchString(e.Text) }
	for i := range g.Nodes {
		for _, t := range g.Nodes[i].Reads().Terms() {
			if reads(t.Expr) {
				return true
			}
		}
	}
	return reads(g.Reactor.Guard) || slices.ContainsFunc(g.Outputs, func(o spec.Output) bool { return reads(o.Where) })
}
