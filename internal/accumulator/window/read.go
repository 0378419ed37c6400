package window

import (
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/spec/decode"
)

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

// resultNames are what a result has beside its aggregates.
var resultNames = []string{"key", "start", "end", "groups", "update", "early"}

var fields = []decode.Field[Declared]{
	{Name: "tumbling", Read: func(d *decode.Decoder, v decode.Value, w *Declared) {
		readSpan(d, v, 1, &w.Size)
		w.Every = w.Size
	}},
	{Name: "hopping", Also: []string{"sliding"}, Read: readHopping},
	{Name: "session", Also: []string{"gap"}, Read: func(d *decode.Decoder, v decode.Value, w *Declared) {
		readSpan(d, v, 1, &w.Gap)
	}},
	{Name: "count", Read: readCount},
	{Name: "lateness", Also: []string{"grace", "allowed_lateness"},
		Read: func(d *decode.Decoder, v decode.Value, w *Declared) { readSpan(d, v, 0, &w.Lateness) }},
	{Name: "idle", Read: func(d *decode.Decoder, v decode.Value, w *Declared) { readSpan(d, v, 1, &w.Idle) }},
	{Name: "late", Read: readLate},
	{Name: "retain", Read: func(d *decode.Decoder, v decode.Value, w *Declared) { readSpan(d, v, 1, &w.Retain) }},
	{Name: "early", Read: func(d *decode.Decoder, v decode.Value, w *Declared) { readSpan(d, v, 1, &w.Early) }},
	{Name: "key", Also: []string{"by", "group_by"},
		Read: func(d *decode.Decoder, v decode.Value, w *Declared) { w.Key = d.Exprs(v) }},
	{Name: "aggregate", Need: true, Read: readAggregate},
	{Name: "groups", Read: func(d *decode.Decoder, v decode.Value, w *Declared) {
		d.Pick(v, groupings, &w.Groups)
	}},
}

func readDeclared(d *decode.Decoder, v decode.Value, w *Declared) {
	got, ok := decode.Object(d, v, "window", fields, w)
	if !ok {
		return
	}
	kinds := []string{"tumbling", "hopping", "session", "count"}
	if _, ok := d.Exclusive(got, "the window", kinds); !ok && !meant(v, kinds) && len(got) == len(v.Entries()) {
		d.Report(v.Whole(), decode.CodeMissingKind, "",
			"the window does not say what it is; give tumbling, hopping, session or count")
	}
	if got["count"].Given() {
		readUntimed(d, got)
		return
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
	all, ok := got["groups"]
	if ok && w.Groups == "all" && got["session"].Given() {
		d.Report(all.Whole(), decode.CodeConflict, "",
			"groups: all is for windows that all groups have in common, and each has sessions of its own; remove it")
	} else if ok && w.Groups == "all" && !got["key"].Given() {
		d.Report(all.Whole(), decode.CodeConflict, "",
			"groups: all lists the groups of a key, and there is none; add key or remove groups")
	}
}

// meant reports whether one of the fields is given by a name that it has elsewhere, which has its own diagnostic.
func meant(v decode.Value, names []string) bool {
	return slices.ContainsFunc(v.Entries(), func(e decode.Value) bool {
		return slices.ContainsFunc(fields, func(f decode.Field[Declared]) bool {
			return slices.Contains(names, f.Name) && slices.Contains(f.Also, e.Key())
		})
	})
}

// readUntimed reports what windows of so many events cannot have.
func readUntimed(d *decode.Decoder, got decode.Given) {
	for _, name := range []string{"lateness", "idle", "late", "retain", "early"} {
		if v, ok := got[name]; ok {
			d.Report(v.Whole(), decode.CodeConflict, "",
				"%s is for windows of time, and one of so many events waits for no time; remove it", name)
		}
	}
	if v, ok := got["groups"]; ok && v.Text() == "all" {
		d.Report(v.Whole(), decode.CodeConflict, "",
			"groups: all is for windows that all groups have in common, and each counts its own events; remove it")
	}
}

// readLate reads what becomes of late events. What is no policy, nor nearly one, names an
// input of their own.
func readLate(d *decode.Decoder, v decode.Value, w *Declared) {
	text := v.Text()
	if !v.IsScalar() || !decode.ValidName(text) || slices.Contains(latePolicies.Words, text) ||
		d.Nearest(text, latePolicies.Words) != "" || strings.Contains(text, "${") {
		d.Pick(v, latePolicies, &w.Late)
		return
	}
	w.Late, w.LateInput = "side", text
}

type hopping struct{ size, every time.Duration }

var hoppingFields = []decode.Field[hopping]{
	{Name: "size", Need: true, Read: func(d *decode.Decoder, v decode.Value, h *hopping) {
		readSpan(d, v, 1, &h.size)
	}},
	{Name: "every", Also: []string{"hop", "slide", "advance"}, Need: true,
		Read: func(d *decode.Decoder, v decode.Value, h *hopping) { readSpan(d, v, 1, &h.every) }},
}

// readSpan reads a span of time that windows are made of or kept for.
func readSpan(d *decode.Decoder, v decode.Value, least time.Duration, into *time.Duration) {
	var n time.Duration
	if d.Duration(v, least, &n); n > maxSize {
		d.Report(v.Here(), decode.CodeTooLarge, "", "%s is too long; at most %v are allowed", v.Subject(), maxSize)
		return
	}
	*into = n
}

func readHopping(d *decode.Decoder, v decode.Value, w *Declared) {
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

type counting struct{ size, every int }

var countFields = []decode.Field[counting]{
	{Name: "size", Need: true, Alone: true, Read: func(d *decode.Decoder, v decode.Value, c *counting) {
		d.Count(v, 1, fold.MaxKept, &c.size)
	}},
	{Name: "every", Read: func(d *decode.Decoder, v decode.Value, c *counting) {
		d.Count(v, 1, fold.MaxKept, &c.every)
	}},
}

func readCount(d *decode.Decoder, v decode.Value, w *Declared) {
	var c counting
	got, ok := decode.Object(d, v, "count", countFields, &c)
	if !ok || c.size == 0 { // has its own diagnostic
		return
	}
	every, given := got["every"]
	if !given || c.every == 0 {
		c.every = c.size
	}
	w.Count, w.CountEvery = c.size, c.every
	switch parts := c.size / w.partOf(); {
	case c.every > c.size:
		d.Report(every.Whole(), decode.CodeConflict, "",
			"windows of %d events each %d leave gaps, in which events would be lost; make every at most the size",
			c.size, c.every)
	case parts > maxOverlap:
		d.Report(every.Whole(), decode.CodeTooMany, "", "a window would be of %d parts, of as many events as divide "+
			"size and every, and %d are allowed; make every a larger one of what divides size", parts, maxOverlap)
	}
}

func readAggregate(d *decode.Decoder, v decode.Value, w *Declared) {
	const want = "a mapping from names to aggregates, such as n: count()"
	if !d.Mapping(v, want) {
		return
	}
	w.Aggregate = d.Expressions(v, "aggregate")
	if v.IsEmpty() {
		d.Report(v.Whole(), decode.CodeEmptyValue, "", "aggregate is empty; name at least one, such as n: count()")
	}
	for _, e := range v.Entries() {
		if slices.Contains(resultNames, e.Key()) {
			d.Report(e.Name(), decode.CodeReservedName, "",
				"%s is a field of every window's result; give the aggregate another name", decode.Quote(e.Key()))
		}
	}
}
