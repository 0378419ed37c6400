package differential

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// foldEvent is one line of the input, of which the graphs read this or that.
type foldEvent struct {
	at, x   int
	k, note string
	line    string
}

// foldPlan is a random declaration of one accumulator and nodes that read some of it.
type foldPlan struct {
	kind                  string
	strategy              string
	size                  int // of a batch or a state
	width, step, lateness int // of a window, in seconds
	retain                int
	late                  string // drop, dead_letter, update or side
	all                   bool   // groups: all
	keyed                 bool
	where                 bool
	emit                  string // "", "mapping" or "whole"
	byKey                 bool   // the reactor has keys, where the boundaries do
	own                   ownFold
	aggregates            []string
	events                []foldEvent

	lateSeen, lateLent, evicted int // filled by outputs
}

// folds are the aggregates that a plan draws from, by the names of their fields.
var folds = map[string]string{
	"n": "count()", "total": "sum(event.x)", "avg": "mean(event.x)", "low": "min(event.note)", "high": "max(event.x)",
	"short": "min_by(event.note, event.x)", "long": "max_by(event.note, event.x)",
	"early_note": "first(event.note)", "late_note": "last(event.note)", "some": "collect(event.note, 3)",
	"kinds": "distinct(event.note)", "dev": "round((stddev(event.x) ?? 0) * 1000)",
	"half":       "round(quantile(event.x, 0.5))",
	"last_event": "last(event)", "events": "collect(event, 2)", "least_event": "min_by(event, event.x)",
}

// wholes read events as a whole.
var wholes = []string{"last_event", "events", "least_event"}

func newFoldPlan(seed uint64) *foldPlan {
	r := rand.New(rand.NewPCG(seed, 78))
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	p := &foldPlan{
		kind:     pick("window", "window", "window", "count", "count", "batch", "state", "fold", "fold", "passthrough"),
		strategy: pick("sequential", "burst"),
		size:     1 + r.IntN(5), step: 1 + r.IntN(12), lateness: r.IntN(10), retain: 1 + r.IntN(20),
		late: pick("drop", "dead_letter", "update", "side", "side"), all: r.IntN(4) == 0, keyed: r.IntN(2) == 0,
		where: r.IntN(2) == 0, emit: pick("", "", "mapping", "whole"),
	}
	p.width, p.all = p.step*(1+r.IntN(3)), p.all && p.keyed
	names := make([]string, 0, len(folds))
	for name := range folds {
		names = append(names, name)
	}
	slices.Sort(names)
	readsWhole := r.IntN(4) == 0
	for _, name := range names {
		if r.IntN(3) == 0 && (readsWhole || !slices.Contains(wholes, name)) || name == "n" {
			p.aggregates = append(p.aggregates, name)
		}
	}
	t := 0
	for range 50 + r.IntN(200) {
		t += r.IntN(4)
		e := foldEvent{
			at: max(t-r.IntN(1+r.IntN(3*(p.lateness+p.width)+2)), 0), x: r.IntN(40) - 10, k: pick("a", "b", "c"),
			note: strings.Repeat(pick("p", "q", "r"), 1+r.IntN(1+r.IntN(60))),
		}
		e.line = fmt.Sprintf(`{"at":%d,"deep":{"list":[%d,%q],"s":"x"},"k":%q,"note":%q,"x":%d}`,
			zero.Unix()+int64(e.at), e.x, e.note, e.k, e.note, e.x)
		p.events = append(p.events, e)
	}
	p.byKey = r.IntN(2) == 0
	p.own = ownFold{when: r.IntN(3) > 0, result: pick("", "mapping", "whole"), forgets: r.IntN(3) == 0}
	if p.own.keys = r.IntN(4); !p.keyed {
		p.own.keys = 0
	}
	return p
}

// keys says that the reactor has a state for each key. Its epochs are in the order of the boundaries
// all the same, as long as each takes one.
func (p *foldPlan) keys() bool {
	return p.byKey && p.strategy == "sequential" &&
		(p.kind == "passthrough" || (p.kind == "fold" || p.kind == "count") && p.keyed ||
			p.kind == "window" && p.keyed && !p.all && !p.side())
}

func (p *foldPlan) lines() string {
	var b strings.Builder
	for _, e := range p.events {
		b.WriteString(e.line + "\n")
	}
	return b.String()
}

// declaration is the plan as a user would write it.
func (p *foldPlan) declaration() string {
	var b strings.Builder
	write := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	write("graph: random\naccumulators:\n  w:\n    source: { file: { path: in.ndjson } }\n")
	write("    time: event.at\n    time_unit: s\n")
	if p.where {
		write("    where: event.x %% 5 != 0\n")
	}
	switch p.emit {
	case "mapping":
		write("    emit: { k: event.k, note: event.note, x: event.x }\n")
	case "whole":
		write("    emit: '{k: event.k, note: event.note, x: event.x}'\n")
	}
	switch p.kind {
	case "batch":
		write("    batch: { size: %d }\n", p.size)
	case "state":
		write("    state: { keep: %d }\n", p.size)
	case "fold":
		b.WriteString(p.ownFold())
	case "window":
		write("    window:\n      hopping: { size: %ds, every: %ds }\n", p.width, p.step)
		write("      lateness: %ds\n", p.lateness)
		switch p.late {
		case "side":
			write("      late: stragglers\n")
		case "update":
			write("      late: update\n      retain: %ds\n", p.retain)
		default:
			write("      late: %s\n", p.late)
		}
		if p.keyed {
			write("      key: event.k\n")
		}
		if p.all {
			write("      groups: all\n")
		}
		p.writeAggregates(&b)
	case "count":
		write("    window:\n      count: { size: %d, every: %d }\n", p.size, p.every())
		if p.keyed {
			write("      key: event.k\n")
		}
		p.writeAggregates(&b)
	}
	write("    strategy: %s\nreactor: { when: any%s }\n", p.strategy, map[bool]string{true: ", key: k"}[p.keys()])
	write("nodes:\n  part: { event: true, expr: '%s' }\n", p.part())
	outputs := "outputs:\n  whole: { from: w, emit_null: true, sink: { stdout: {} } }\n" +
		"  part: { from: part, sink: { stdout: {} } }\n"
	if p.side() {
		write("  note: { event: true, expr: stragglers.note }\n")
		outputs += "  late: { from: stragglers, sink: { stdout: {} } }\n  note: { from: note, sink: { stdout: {} } }\n"
	}
	write("%shistory: { keep: 10 }\n", outputs)
	return b.String()
}

func (p *foldPlan) writeAggregates(b *strings.Builder) {
	b.WriteString("      aggregate:\n")
	for _, name := range p.aggregates {
		fmt.Fprintf(b, "        %s: %s\n", name, folds[name])
	}
}

// every is after how many events a window of so many is handed over.
func (p *foldPlan) every() int { return 1 + p.step%p.size }

func (p *foldPlan) side() bool { return p.kind == "window" && p.late == "side" }

// part is a node that reads some fields of what the accumulator hands over.
func (p *foldPlan) part() string {
	burst := p.strategy == "burst"
	switch {
	case p.kind == "passthrough" && burst:
		return "map(w, .note)"
	case p.kind == "passthrough":
		return "w.note"
	case (p.kind == "window" && !p.all || p.kind == "count") && burst:
		return "map(w, .n)"
	case p.kind == "window" && !p.all || p.kind == "count":
		return "w.n"
	case burst:
		return "len(w)"
	case p.kind == "fold":
		return p.ownPart()
	case p.kind == "window":
		return "map(w.groups, .n)"
	}
	return "map(w, .note)"
}

// value is what an event becomes.
func (p *foldPlan) value(e foldEvent) json.RawMessage {
	if p.emit == "" {
		return json.RawMessage(e.line)
	}
	return text(map[string]any{"k": e.k, "note": e.note, "x": e.x})
}

func text(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// handed is one boundary: its value and what the node part makes of it.
type handed struct{ whole, part json.RawMessage }

// instant is what is handed over at one moment: a run admits all events that are not newer
// than its clock, and then fires.
type instant struct {
	boundaries []handed
	late       []foldEvent
}

// outputs are the values that the outputs emit, by epoch from 1, and how many events are dead letters.
func (p *foldPlan) outputs() (out []string, letters int) {
	instants, end, letters := p.instants()
	epoch := 0
	for _, in := range slices.Concat(instants, end) {
		burst := p.strategy == "burst" && len(in.boundaries) > 0
		if burst { // all of them and the first late event are one cut
			epoch++
			out = append(out, p.burst(epoch, in.boundaries)...)
			in.boundaries = nil
		}
		for _, h := range in.boundaries {
			epoch++
			out = append(out, fmt.Sprintf("%d whole %s", epoch, h.whole), fmt.Sprintf("%d part %s", epoch, h.part))
		}
		for k, e := range in.late {
			if k > 0 || !burst {
				epoch++
			}
			out = append(out, fmt.Sprintf("%d late %s", epoch, p.value(e)))
			out = append(out, fmt.Sprintf("%d note %s", epoch, text(e.note)))
		}
	}
	return out, letters
}

// burst is what an epoch emits that takes several boundaries at once.
func (p *foldPlan) burst(epoch int, hs []handed) []string {
	var wholes, parts []json.RawMessage
	for _, h := range hs {
		wholes, parts = append(wholes, h.whole), append(parts, h.part)
	}
	part := text(parts)
	if p.part() == "len(w)" {
		part = text(len(hs))
	}
	return []string{fmt.Sprintf("%d whole %s", epoch, text(wholes)), fmt.Sprintf("%d part %s", epoch, part)}
}

// instants folds every event from nothing but the events before it. end are the instants behind the end of the input.
func (p *foldPlan) instants() (all, end []instant, letters int) {
	clock := math.MinInt / 2
	w := &windows{p: p, open: map[int]*instance{}, greatest: math.MinInt / 2}
	var buffer []foldEvent
	came := map[string][]foldEvent{}
	own := &ownStates{p: p, states: map[string]*ownState{}}
	p.evicted, p.own.gone = 0, 0
	for _, e := range p.events {
		if e.at > clock {
			clock = e.at
			all = append(all, instant{})
		}
		in := &all[len(all)-1]
		if p.where && e.x%5 == 0 {
			continue
		}
		switch p.kind {
		case "passthrough":
			in.boundaries = append(in.boundaries, handed{p.value(e), text(e.note)})
		case "batch":
			if buffer = append(buffer, e); len(buffer) == p.size {
				in.boundaries = append(in.boundaries, p.list(buffer))
				buffer = nil
			}
		case "state":
			buffer = append(buffer, e)
			buffer = buffer[max(0, len(buffer)-p.size):]
			in.boundaries = append(in.boundaries, p.list(buffer))
		case "fold":
			h, emits, dead := own.add(e)
			if letters += dead; emits {
				in.boundaries = append(in.boundaries, h)
			}
		case "count":
			in.boundaries = append(in.boundaries, p.count(came, e)...)
		case "window":
			hs, late := w.add(e)
			in.boundaries = append(in.boundaries, hs...)
			if late {
				letters += p.lateEvent(in, e)
			}
		}
	}
	p.own.left = len(own.order)
	for _, i := range w.inOrder() { // each at its own time
		end = append(end, instant{boundaries: w.close(max(i.end, clock-p.lateness))})
	}
	if p.kind == "batch" && len(buffer) > 0 {
		end = append(end, instant{boundaries: []handed{p.list(buffer)}})
	}
	return all, end, letters
}

// list is a boundary of several events.
func (p *foldPlan) list(es []foldEvent) handed {
	values, notes := []json.RawMessage{}, []string{}
	for _, e := range es {
		values, notes = append(values, p.value(e)), append(notes, e.note)
	}
	return handed{text(values), text(notes)}
}

// lateEvent is what becomes of a late event, and how many dead letters.
func (p *foldPlan) lateEvent(in *instant, e foldEvent) (letters int) {
	p.lateSeen++
	switch p.late {
	case "dead_letter":
		return 1
	case "side":
		in.late = append(in.late, e)
		readsWhole := func(a string) bool { return slices.Contains(wholes, a) }
		if p.emit == "" && !slices.ContainsFunc(p.aggregates, readsWhole) {
			p.lateLent++
		}
	}
	return 0
}
