package compile

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/graph"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/cycles"
	"github.com/graphd/graphd/internal/spec/lanes"
)

// The codes of what [Lint] finds: no mistakes, but hardly meant. Each has its place in
// docs/diagnostics.md.
const (
	CodeUnusedNode      = "unused_node"
	CodeUnusedInput     = "unused_accumulator"
	CodeMixedStrategies = "mixed_strategies"
	CodeMayConflate     = "may_conflate"
	CodeNoSink          = "no_sink"
	CodeIdleGuard       = "guard_reads_nothing"
	CodeGuardNotBool    = "guard_not_bool"
	CodeNoSchema        = "no_schema"
	CodeMixedClock      = "mixed_clock"
	CodeMayFill         = "may_fill"
	CodeKeyOfEvent      = "key_of_event"
	CodeMayWait         = "may_wait"
	CodeIdleStage       = "idle_stage"
	CodeOneShard        = "one_shard"
	CodeIdlePartitioned = "idle_partitioned"
	CodeUndeclaredKey   = "undeclared_key"
	CodeOneLane         = "one_lane"
	CodeIdleLane        = "idle_lane"
	CodeShortPeriod     = "short_period"
	CodeNeverFresh      = "never_fresh"
	CodeStalePair       = "stale_pair"
	CodeCallsInTurn     = "calls_in_turn"
)

// oneShard says of a graph that is dealt to so many shards that it runs as one all the same.
func (l *linter) oneShard(shards int) {
	where := "graphd run and the daemon run"
	why := l.u.OneCore()
	if why == "" {
		where, why = "the daemon runs", l.u.OneLive()
	}
	if why != "" {
		l.add(l.g.Reactor.Pos, CodeOneShard, "the keys are dealt to %d shards, and %s them as one, since %s: the "+
			"results are the same, and no more than one core is used for them", shards, where, why)
	}
}

// Lint says what in a declaration is valid and hardly meant, in the order of the document.
func Lint(u *Unit) spec.Diagnostics {
	l := &linter{g: u.Spec, u: u}
	l.use()
	l.accumulators()
	l.reactor()
	l.nodes()
	l.inTurn()
	l.loops()
	l.lanes()
	l.outputs()
	return u.Spec.Noted(Merge(l.found))
}

type linter struct {
	g     *spec.Graph
	u     *Unit
	used  map[string]bool // inputs and nodes that something comes of
	reads map[string][]string
	found spec.Diagnostics
}

// node is the one of a name, nil for none.
func (l *linter) node(name string) *spec.Node {
	if i := slices.IndexFunc(l.g.Nodes, func(n spec.Node) bool { return n.Name == name }); i >= 0 {
		return &l.g.Nodes[i]
	}
	return nil
}

func (l *linter) add(p spec.Pos, code, format string, args ...any) {
	l.found = append(l.found, spec.Diagnostic{File: l.g.File, Line: p.Line, Column: p.Column, Path: p.Path, Code: code,
		Text: fmt.Sprintf(format, args...)})
}

// use goes from the outputs and the guard back along the edges.
func (l *linter) use() {
	l.used = make(map[string]bool)
	reads := make(map[string][]string)
	l.reads = reads
	l.u.Plan.Links(func(from, to string) { reads[to] = append(reads[to], from) })
	for i := range l.g.Accumulators {
		a := &l.g.Accumulators[i]
		if a.From != "" {
			reads[a.Name] = append(reads[a.Name], a.From)
		}
		reads[a.Name] = append(reads[a.Name], joinNames(a)...)
	}
	next := l.u.Plan.GuardReads()
	for i := range l.g.Outputs {
		next = append(append(next, l.g.Outputs[i].From), l.u.Plan.OutputReads(i)...)
	}
	if l.u.Plan.Cuts() != nil {
		for i := range l.g.Accumulators {
			next = append(next, l.g.Accumulators[i].Name)
		}
	}
	for len(next) > 0 {
		name := next[len(next)-1]
		next = next[:len(next)-1]
		if !l.used[name] {
			l.used[name] = true
			next = append(next, reads[name]...)
		}
	}
}

func (l *linter) accumulators() {
	for i := range l.g.Accumulators {
		a := &l.g.Accumulators[i]
		if !l.used[a.Name] {
			text := "nothing that comes out rests on %s; remove it, or read it"
			if a.Triggers(l.g.Reactor) {
				text = "%s fires the graph, but nothing that comes out rests on its value; remove it, or read it"
			}
			l.add(a.Pos, CodeUnusedInput, text, a.Name)
		}
		if declared, ok := a.Config.(fold.Declared); ok {
			at := kind.Place{File: l.g.File, Name: a.Name, Pos: a.KindPos, Vars: l.u.Vars}
			l.found = append(l.found, declared.Remarks(fold.Place{Place: at, Accumulator: a})...)
		}
		l.key(a)
		if l.g.EventClock() && a.Time.IsZero() && a.Triggers(l.g.Reactor) && a.Owner == "" && !a.Fed() {
			l.add(a.Pos, CodeMixedClock, "%s has no time and the graph goes by the times of events: what comes of it "+
				"happens whenever it comes; give it a time, make it passive, or write clock: arrival", a.Name)
		}
		if a.Partitioned != "" && (l.g.Reactor.Shards == 1 || l.u.OneLive() != "") {
			l.add(a.Pos, CodeIdlePartitioned, "partitioned is for a graph that is run as several shards, and all "+
				"partitions of %s are read by one: say shards above 1, or leave it out", a.Name)
		}
		if l.g.EventClock() && a.From != "" && !a.Time.IsZero() && a.Folding().Idle > 0 {
			l.add(a.KindPos, CodeIdleStage, "idle has no meaning for %s, whose windows close by how far the stages "+
				"before it have come; leave it out, and say idle for the whole graph if its inputs fall silent", a.Name)
		}
		if from, ok := a.Source.Config.(kind.Remarked); ok {
			at := kind.Place{File: l.g.File, Name: a.Name, Pos: a.Source.Pos, Vars: l.u.Vars}
			l.found = append(l.found, from.Remarks(at)...)
		}
		if a.Source.Origin().Foreign() && a.Schema == nil {
			l.add(a.Pos, CodeNoSchema, "%s reads from outside without a schema: what is not as expected is found "+
				"out by a node only, and fields cannot be checked; give it a schema", a.Name)
		}
	}
}

// key looks for fields that the key of a, or what a join goes by, reads and a schema or emit does not have.
func (l *linter) key(a *spec.Accumulator) {
	p, keys, what := l.u.program(a.Name), l.g.Reactor.Keys, "the reactor's key"
	if on := l.g.JoinedOn(a); on != nil {
		keys, what = on, "what "+a.Name+" is joined on"
	}
	if p == nil || a.Keys != nil {
		return
	}
	_, reads := p.Key()
	known := p.Type().Fields()
	for i := range reads {
		for _, field := range reads[i] {
			if slices.Contains(known, field) || len(known) == 0 {
				continue
			}
			l.add(keys[i].Pos, CodeUndeclaredKey, "%s reads %s, which is not among the fields that are known of what "+
				"%s hands over (%s): events without it are dead letters; correct the name, or declare the field in "+
				"schema", what, field, a.Name, strings.Join(known, ", "))
		}
	}
}

// reactor looks at how the inputs go together (M9).
func (l *linter) reactor() {
	var queued, newest *spec.Accumulator
	for i := range l.g.Accumulators {
		a := &l.g.Accumulators[i]
		switch {
		case a.SyncGroup != "" || a.From != "" || !a.Triggers(l.g.Reactor):
		case a.Strategy == "latest":
			newest = a
		case queued == nil:
			queued = a
		}
	}
	if queued != nil && newest != nil {
		l.add(newest.Pos, CodeMixedStrategies, "%s is %s and %s is latest: an epoch may see a newer %s than belongs "+
			"to its %s; put them into one sync_group, or say that it is meant by making %s passive",
			queued.Name, queued.Strategy, newest.Name, newest.Name, queued.Name, newest.Name)
	}
	for i := range l.g.Accumulators {
		a := &l.g.Accumulators[i]
		// Who says latest at the input itself has chosen.
		if by := l.u.Plan.Conflates(i); len(by) > 0 && a.StrategyFrom == "reactor" {
			l.add(a.Pos, CodeMayConflate, "%s is latest, as the reactor says: a value that is overwritten before an "+
				"epoch takes it is conflated, and never reaches %s, to which every value matters; say strategy: "+
				"sequential here, or strategy: latest if that is meant", a.Name, strings.Join(by, ", "))
		}
	}
	l.zip()
	if n := l.g.Reactor.Shards; n > 1 {
		l.oneShard(n)
	}
	for _, key := range l.g.Reactor.Keys {
		if field, ok := strings.CutPrefix(key.Text, "event."); ok {
			l.add(key.Pos, CodeKeyOfEvent, "the reactor's key reads what the accumulators hand over, by the bare "+
				"names of its fields, so this is the field %s of a field event: write %s, unless that is meant",
				field, field)
		}
	}
	l.guard()
}

// zip looks for inputs that wait for each other without end: in a graph without keys they fill, and
// in one with keys what is alone in its key waits until that goes.
func (l *linter) zip() {
	r := l.g.Reactor
	if r.When != "all" || r.MaxWait > 0 || l.g.Keyed() && r.TTL > 0 {
		return
	}
	var first *spec.Accumulator
	for i := range l.g.Accumulators {
		a := &l.g.Accumulators[i]
		switch {
		case a.Strategy != "sequential" || a.From != "" || !a.Triggers(r):
		case first == nil:
			first = a
		case l.g.Keyed():
			l.add(a.Pos, CodeMayWait, "when: all takes one of %s with one of %s: what never gets its counterpart "+
				"waits for ever, until max_waiting_bytes gets rid of it; give the reactor a max_wait, or keys a ttl",
				first.Name, a.Name)
			return
		default:
			l.add(a.Pos, CodeMayFill, "when: all takes one of %s with one of %s: when more comes of one than of the "+
				"other it fills, stops its source and waits for ever; give the reactor a max_wait, or a key to join by",
				first.Name, a.Name)
			return
		}
	}
}

func (l *linter) nodes() {
	for i := range l.g.Nodes {
		n := &l.g.Nodes[i]
		if !l.used[n.Name] {
			l.add(n.Pos, CodeUnusedNode, "nothing that comes out rests on %s; remove it, or give it an output", n.Name)
		}
		for k := range l.u.nodes {
			if l.u.nodes[k].Name() == n.Kind {
				place := kind.Place{File: l.g.File, Name: n.Name, Pos: n.Pos, Vars: l.u.Vars}
				l.found = append(l.found, l.u.nodes[k].Remarks(n.Config, place)...)
			}
		}
	}
}

var asksFresh = regexp.MustCompile(`\bfresh\(`)

// loops looks for nodes that read what a loop comes to and what it rests on: where it does not end, it keeps what it
// had come to of something else.
func (l *linter) loops() {
	for k := range l.g.Loops {
		loop := &l.g.Loops[k]
		if loop.OnNoConvergence != "discard" {
			continue
		}
		inside, rests := map[string]bool{}, map[string]bool{}
		for _, n := range loop.Nodes {
			inside[n.Name] = true
		}
		for next := slices.Collect(maps.Keys(inside)); len(next) > 0; next = next[1:] {
			for _, name := range l.reads[next[0]] {
				if !rests[name] && !inside[name] {
					rests[name], next = true, append(next, name)
				}
			}
		}
		for i := range l.g.Nodes {
			if n := &l.g.Nodes[i]; l.used[n.Name] && !inside[n.Name] {
				l.pairs(n, loop.Name, inside, rests)
			}
		}
	}
}

// pairs says of a node behind a loop that it pairs what does not belong together, unless it asks what is new.
func (l *linter) pairs(n *spec.Node, loop string, inside, rests map[string]bool) {
	of, with := "", ""
	for _, name := range l.reads[n.Name] {
		switch {
		case slices.ContainsFunc(n.Delay, func(d cycles.Name) bool { return d.Name == name }):
		case inside[name]:
			of = name
		case rests[name] && !l.passive(name):
			with = name
		}
	}
	if of == "" || with == "" || slices.ContainsFunc(n.Reads().Terms(), func(t spec.Term) bool {
		return asksFresh.MatchString(t.Expr.Text)
	}) {
		return
	}
	l.add(n.Pos, CodeStalePair, "where the loop %s does not end, %s has the %s of an epoch before beside the %s of "+
		"this one; let it ask fresh(%s), or say on_no_convergence: fail", loop, n.Name, of, with, of)
}

// passive reports whether a name is that of an input that fires nothing.
func (l *linter) passive(name string) bool {
	return slices.ContainsFunc(l.g.Accumulators, func(a spec.Accumulator) bool {
		return a.Name == name && !a.Triggers(l.g.Reactor)
	})
}

// lanes looks for those that nothing comes of.
func (l *linter) lanes() {
	used := map[string]bool{}
	for i := range l.g.Nodes {
		used[l.g.Nodes[i].Lane.Name] = true
	}
	for i := range l.g.Lanes {
		lane := &l.g.Lanes[i]
		k := slices.IndexFunc(l.u.Plan.Lanes(), func(p graph.Lane) bool { return p.Name == lane.Name })
		switch {
		case !used[lane.Name]:
			l.add(lane.Pos, CodeIdleLane, "no node names the lane %s; remove it, or say lane: %s where it is meant",
				lane.Name, lane.Name)
		case k >= 0 && lane.Overflow != lanes.Block && !l.u.Plan.Overflows(k):
			l.add(lane.Pos, CodeIdleLane, "the lane %s always has room, for no rank of the plan has more than %d of "+
				"its nodes: lower queue_capacity, or leave overflow out", lane.Name, lane.QueueCapacity)
		}
		for n := range l.g.Nodes {
			if node := &l.g.Nodes[n]; node.Lane.Name == lane.Name && lane.Period > 0 && node.Budget > lane.Period {
				l.add(node.Pos, CodeShortPeriod, "%s may take %s, and its lane %s ticks every %s: ticks would come "+
					"too late; give it less budget, or the lane a longer period", node.Name, node.Budget, lane.Name,
					lane.Period)
			}
		}
	}
}

// fresh looks for outputs that give less often than they are to, however much comes in.
func (l *linter) fresh(o *spec.Output) {
	if o.Fresh == 0 {
		return
	}
	if o.Emit == "on_change" {
		l.add(o.Pos, CodeNeverFresh, "%s puts out changes alone, and is stale where nothing has changed for %s: leave "+
			"emit: on_change out, or fresh where a value may stay as it is", o.Name, o.Fresh)
	}
	most, why := l.g.Reactor.RateLimit, "the rate_limit of the reactor"
	if node := l.node(o.From); node != nil {
		for n := range l.g.Lanes {
			if lane := &l.g.Lanes[n]; lane.Name == node.Lane.Name && lane.Period > most {
				most, why = lane.Period, "the period of the lane "+lane.Name
			}
		}
	}
	if most > o.Fresh && !l.g.Keyed() {
		l.add(o.Pos, CodeNeverFresh, "%s is to give something within %s, and %s is %s: it is stale between any two "+
			"values; give it more time, or make the other shorter", o.Name, o.Fresh, why, most)
	}
}

func (l *linter) outputs() {
	for i := range l.g.Outputs {
		l.fresh(&l.g.Outputs[i])
		to := &l.g.Outputs[i].Sink
		several, ok := to.Config.(kind.Lanes)
		if !ok || l.g.Keyed() {
			continue
		}
		if most, keyed := several.Lanes(); most > 1 && !keyed {
			l.add(to.Pos, CodeOneLane, "%d may be delivered at once, and without a key they go one after the other: "+
				"say in the sink what keeps its order, such as key: value.id, give the reactor a key, or leave "+
				"concurrency out", most)
		}
	}
	for i := range l.g.Outputs {
		if !l.g.Outputs[i].Sink.Target().Drops() {
			return
		}
	}
	if len(l.g.Outputs) > 0 {
		l.add(l.g.Outputs[0].Pos, CodeNoSink,
			"every output is dropped, so the graph computes for nobody; give one a sink, such as websocket: {}")
	}
}
