package spec

import (
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/spec/decode"
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
	latePolicies = decode.Words("drop", "dead_letter", "update")
	groupings    = decode.Words("each", "all")
)

// windowNames are what a result has beside its aggregates.
var windowNames = []string{"key", "start", "end", "groups", "update", "early"}

var windowFields = []decode.Field[Window]{
	{Name: "tumbling", Read: func(d *decoder, v value, w *Window) {
		windowSpan(d, v, 1, &w.Size)
		w.Every = w.Size
	}},
	{Name: "hopping", Read: readHopping},
	{Name: "session"},
	{Name: "lateness", Read: func(d *decoder, v value, w *Window) { windowSpan(d, v, 0, &w.Lateness) }},
	{Name: "idle", Read: func(d *decoder, v value, w *Window) { windowSpan(d, v, 1, &w.Idle) }},
	{Name: "late", Read: readLate},
	{Name: "retain", Read: func(d *decoder, v value, w *Window) { windowSpan(d, v, 1, &w.Retain) }},
	{Name: "early", Read: func(d *decoder, v value, w *Window) { windowSpan(d, v, 1, &w.Early) }},
	{Name: "key", Read: func(d *decoder, v value, w *Window) { w.Key = d.Exprs(v) }},
	{Name: "aggregate", Need: true, Read: readAggregate},
	{Name: "groups", Read: func(d *decoder, v value, w *Window) { d.Pick(v, groupings, &w.Groups) }},
}

// readLate reads what becomes of late events. What is no policy, nor nearly one, names an
// input of their own.
func readLate(d *decoder, v value, w *Window) {
	text := v.Text()
	if !v.IsScalar() || !decode.ValidName(text) || slices.Contains(latePolicies.Words, text) ||
		d.Nearest(text, latePolicies.Words) != "" || strings.Contains(text, "${") {
		d.Pick(v, latePolicies, &w.Late)
		return
	}
	w.Late, w.LateInput = "side", text
}

// addLateInput declares the input that a window's late events go to: one that has no
// source, and whose every event counts.
func (d *draft) addLateInput(a *Accumulator, v value) {
	pos := v.Here().Pos()
	if slices.ContainsFunc(d.Accumulators, func(o Accumulator) bool { return o.Name == a.Window.LateInput }) {
		d.Report(v.Here(), decode.CodeDuplicateName, "",
			"%s is an accumulator already; late events go to an input of their own: give it another name",
			decode.Quote(a.Window.LateInput))
		return
	}
	late := d.newAccumulator(a.Window.LateInput, pos)
	late.Capacity, late.CapacityBytes, late.LateOf, late.Global = a.Capacity, a.CapacityBytes, a.Name, a.Global
	d.links.accumulators = append(d.links.accumulators, input{value: v.AsName()})
	d.Accumulators = append(d.Accumulators, late)
}

type hopping struct{ size, every time.Duration }

var hoppingFields = []decode.Field[hopping]{
	{Name: "size", Need: true, Read: func(d *decoder, v value, h *hopping) { windowSpan(d, v, 1, &h.size) }},
	{Name: "every", Need: true, Read: func(d *decoder, v value, h *hopping) { windowSpan(d, v, 1, &h.every) }},
}

// windowSpan reads a span of time that windows are made of or kept for.
func windowSpan(d *decoder, v value, least time.Duration, into *time.Duration) {
	var n time.Duration
	if d.Duration(v, least, &n); n > maxSize {
		d.Report(v.Here(), decode.CodeTooLarge, "", "%s is too long; at most %v are allowed", v.Subject(), maxSize)
		return
	}
	*into = n
}

func readHopping(d *decoder, v value, w *Window) {
	var h hopping
	decode.Object(d, v, "hopping", hoppingFields, &h)
	w.Size, w.Every = h.size, h.every
	switch {
	case h.size == 0 || h.every == 0: // has its own diagnostic
	case h.every > h.size:
		d.Report(v.Whole(), decode.CodeConflict, "",
			"windows of %v every %v leave gaps, in which events would be lost; make every at most the size",
			h.size, h.every)
	case h.size/h.every > maxOverlap:
		d.Report(v.Whole(), decode.CodeTooMany, "",
			"each event would be in %d windows, %d are allowed; make every longer", h.size/h.every, maxOverlap)
	}
}

func readAggregate(d *decoder, v value, w *Window) {
	const want = "a mapping from names to aggregates, such as n: count()"
	if !d.Mapping(v, want) {
		return
	}
	w.Aggregate = d.Expressions(v, "aggregate")
	if v.IsEmpty() {
		d.Report(v.Whole(), decode.CodeEmptyValue, "", "aggregate is empty; name at least one, such as n: count()")
	}
	for _, e := range v.Entries() {
		if slices.Contains(windowNames, e.Key()) {
			d.Report(e.Name(), decode.CodeReservedName, "",
				"%s is a field of every window's result; give the aggregate another name", decode.Quote(e.Key()))
		}
	}
}

func readWindow(d *decoder, v value, a *inputDraft) {
	w := &a.Window
	w.Pos = v.Whole().Pos()
	w.Late, w.Groups = latePolicies.Default(), groupings.Default()
	got, ok := decode.Object(d, v, "window", windowFields, w)
	if !ok {
		return
	}
	kinds := []string{"tumbling", "hopping", "session"}
	if _, ok := d.Exclusive(got, "the window", kinds); !ok {
		d.Report(v.Whole(), decode.CodeMissingKind, "", "the window does not say what it is; give tumbling or hopping")
	}
	if w.LateInput != "" {
		a.at.late = got["late"]
	}
	retain, hasRetain := got["retain"]
	switch {
	case w.Late == "update" && !hasRetain:
		d.Report(v.Whole(), decode.CodeConflict, "",
			"late: update needs retain, for how long after its close a window can be updated; add it")
	case hasRetain && w.Late != "update" && w.Late != "":
		d.Report(retain.Whole(), decode.CodeConflict, "",
			"retain is for late: update alone; remove it or let late be update")
	}
	if all, ok := got["groups"]; ok && w.Groups == "all" && !got["key"].Given() {
		d.Report(all.Whole(), decode.CodeConflict, "",
			"groups: all lists the groups of a key, and there is none; add key or remove groups")
	}
}

// WindowNames are the fields that a window's result may have beside its aggregates.
func WindowNames() []string { return slices.Clone(windowNames) }
