package spec

import (
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/graphd/graphd/internal/spec/internal/document"
)

// Window is the configuration of a window accumulator.
type Window struct {
	Pos Pos
	// Size is how long a window is, Every how far apart two begin: equal for tumbling windows.
	Size, Every time.Duration
	Lateness    time.Duration // how far events may be out of order; default 0
	Idle        time.Duration // a partition silent for so long holds nothing up; 0: never
	// Late is what becomes of an event whose windows have closed: "drop" (default),
	// "dead_letter", "update", or "side": it goes to the input LateInput.
	Late      string
	LateInput string
	Retain    time.Duration // with update: for how long after its close a window is kept
	Early     time.Duration // partial results of open windows, so often; 0: none
	// Key are the expressions that group events; none: one group.
	Key []Expr
	// Aggregate are the fields of a result; at least one.
	Aggregate []Field
	// Groups is "each" (default: a boundary per group) or "all" (one per window).
	Groups string
}

// Bounds of windows: longer ones than maxSize would come near the end of what a time can
// be, and an event that falls into more than maxOverlap windows is folded as often.
const (
	maxSize    = 10 * 366 * 24 * time.Hour
	maxOverlap = 1000
)

var (
	latePolicies = choice{built: []string{"drop", "dead_letter", "update"}}
	groupings    = choice{built: []string{"each", "all"}}
)

// windowNames are what a result has beside its aggregates.
var windowNames = []string{"key", "start", "end", "groups", "update", "early"}

var windowFields = []field[Window]{
	{name: "tumbling", read: func(d *decoder, v value, w *Window) {
		d.windowSpan(v, 1, &w.Size)
		w.Every = w.Size
	}},
	{name: "hopping", read: readHopping},
	{name: "session"},
	{name: "lateness", read: func(d *decoder, v value, w *Window) { d.windowSpan(v, 0, &w.Lateness) }},
	{name: "idle", read: func(d *decoder, v value, w *Window) { d.windowSpan(v, 1, &w.Idle) }},
	{name: "late", read: readLate},
	{name: "retain", read: func(d *decoder, v value, w *Window) { d.windowSpan(v, 1, &w.Retain) }},
	{name: "early", read: func(d *decoder, v value, w *Window) { d.windowSpan(v, 1, &w.Early) }},
	{name: "key", read: func(d *decoder, v value, w *Window) { w.Key = d.keys(v) }},
	{name: "aggregate", need: true, read: readAggregate},
	{name: "groups", read: func(d *decoder, v value, w *Window) { d.pick(v, groupings, &w.Groups) }},
}

// readLate reads what becomes of late events. What is no policy, nor nearly one, names an
// input of their own.
func readLate(d *decoder, v value, w *Window) {
	text := v.node.Value
	if v.node.Kind != yaml.ScalarNode || !validName.MatchString(text) || slices.Contains(latePolicies.built, text) ||
		d.finder.Nearest(text, latePolicies.built) != "" || strings.Contains(text, "${") {
		d.pick(v, latePolicies, &w.Late)
		return
	}
	w.Late, w.LateInput = "side", text
}

// addLateInput declares the input that a window's late events go to: one that has no
// source, and whose every event counts.
func (d *decoder) addLateInput(g *Graph, a *Accumulator, v value) {
	late := value{node: v.node, key: v.node, at: v.at}
	pos := d.pos(v.node, v.at)
	if slices.ContainsFunc(g.Accumulators, func(o Accumulator) bool { return o.Name == a.Window.LateInput }) {
		d.report(v.node, v.at, CodeDuplicateName, "", "%s is an accumulator already; late events go to an input of their own: give it another name", document.Quote(a.Window.LateInput))
		return
	}
	d.links.accumulators = append(d.links.accumulators, input{value: late})
	g.Accumulators = append(g.Accumulators, Accumulator{
		Name: a.Window.LateInput, Pos: pos, Source: Source{Kind: "websocket", Pos: pos}, Kind: "passthrough",
		TimeUnit: timeUnits.built[0], Capacity: a.Capacity, CapacityBytes: a.CapacityBytes, LateOf: a.Name, Global: a.Global,
	})
}

type hopping struct{ size, every time.Duration }

var hoppingFields = []field[hopping]{
	{name: "size", need: true, read: func(d *decoder, v value, h *hopping) { d.windowSpan(v, 1, &h.size) }},
	{name: "every", need: true, read: func(d *decoder, v value, h *hopping) { d.windowSpan(v, 1, &h.every) }},
}

// windowSpan reads a span of time that windows are made of or kept for.
func (d *decoder) windowSpan(v value, least time.Duration, into *time.Duration) {
	var n time.Duration
	if d.duration(v, least, &n); n > maxSize {
		d.report(v.node, v.at, CodeTooLarge, "", "%s is too long; at most %v are allowed", document.Subject(v.node), maxSize)
		return
	}
	*into = n
}

func readHopping(d *decoder, v value, w *Window) {
	var h hopping
	readObject(d, v, "hopping", hoppingFields, &h)
	w.Size, w.Every = h.size, h.every
	switch {
	case h.size == 0 || h.every == 0: // has its own diagnostic
	case h.every > h.size:
		d.report(v.anchor(), v.at, CodeConflict, "", "windows of %v every %v leave gaps, in which events would be lost; make every at most the size", h.size, h.every)
	case h.size/h.every > maxOverlap:
		d.report(v.anchor(), v.at, CodeTooMany, "", "each event would be in %d windows, %d are allowed; make every longer", h.size/h.every, maxOverlap)
	}
}

func readAggregate(d *decoder, v value, w *Window) {
	const want = "a mapping from names to aggregates, such as n: count()"
	if !d.mapping(v, want) {
		return
	}
	w.Aggregate = d.expressions(v, "aggregate")
	if len(v.node.Content) == 0 {
		d.report(v.anchor(), v.at, CodeEmptyValue, "", "aggregate is empty; name at least one, such as n: count()")
	}
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		if key := v.node.Content[i]; slices.Contains(windowNames, key.Value) {
			d.report(key, v.child(key, key).at, CodeReservedName, "", "%s is a field of every window's result; give the aggregate another name", document.Quote(key.Value))
		}
	}
}

func readWindow(d *decoder, v value, a *Accumulator) {
	w := &a.Window
	w.Pos = d.pos(v.anchor(), v.at)
	w.Late, w.Groups = latePolicies.built[0], groupings.built[0]
	got, ok := readObject(d, v, "window", windowFields, w)
	if !ok {
		return
	}
	kinds := []string{"tumbling", "hopping", "session"}
	if _, ok := d.exclusive(got, "the window", kinds); !ok {
		d.report(v.anchor(), v.at, CodeMissingKind, "", "the window does not say what it is; give tumbling or hopping")
	}
	if w.LateInput != "" {
		d.links.accumulators[len(d.links.accumulators)-1].late = got["late"]
	}
	retain, hasRetain := got["retain"]
	switch {
	case w.Late == "update" && !hasRetain:
		d.report(v.anchor(), v.at, CodeConflict, "", "late: update needs retain, for how long after its close a window can be updated; add it")
	case hasRetain && w.Late != "update" && w.Late != "":
		d.report(retain.anchor(), retain.at, CodeConflict, "", "retain is for late: update alone; remove it or let late be update")
	}
	if all, ok := got["groups"]; ok && w.Groups == "all" && got["key"].node == nil {
		d.report(all.anchor(), all.at, CodeConflict, "", "groups: all lists the groups of a key, and there is none; add key or remove groups")
	}
}

// WindowNames are the fields that a window's result may have beside its aggregates.
func WindowNames() []string { return slices.Clone(windowNames) }
