package join

import (
	"slices"
	"time"

	"github.com/graphd/graphd/internal/spec/decode"
)

var (
	types = decode.Choice{Words: []string{"inner", "left", "right", "full"}, Also: map[string]string{
		"outer": "full", "full outer": "full", "full_outer": "full", "left outer": "left", "left_outer": "left",
		"right outer": "right", "right_outer": "right"}}
	latePolicies = decode.Words("drop", "dead_letter")
)

var fields = []decode.Field[Declared]{
	{Name: "left", Need: true, Read: readSide(Left)},
	{Name: "right", Need: true, Read: readSide(Right)},
	{Name: "on", Also: []string{"key", "by", "using", "true"}, Need: true, Read: readOn},
	{Name: "within", Also: []string{"interval"}, Read: readWithin},
	{Name: "tumbling", Also: []string{"window"}, Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
		readSpan(d, v, 1, &c.Tumbling)
	}},
	{Name: "type", Also: []string{"kind", "how"}, Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
		d.Pick(v, types, &c.Type)
	}},
	{Name: "lateness", Also: []string{"grace", "allowed_lateness"},
		Read: func(d *decode.Decoder, v decode.Value, c *Declared) { readSpan(d, v, 0, &c.Lateness) }},
	{Name: "late", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { d.Pick(v, latePolicies, &c.Late) }},
	{Name: "max_rows", Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
		d.Count(v, 1, mostRows, &c.MaxRows)
	}},
	{Name: "max_bytes", Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
		if n, ok := d.Integer(v, 1, mostBytes); ok {
			c.MaxBytes = n
		}
	}},
}

func readDeclared(d *decode.Decoder, v decode.Value, c *Declared) {
	got, ok := decode.Object(d, v, "join", fields, c)
	if !ok {
		return
	}
	if _, ok := d.Exclusive(got, "what an event is joined with", []string{"within", "tumbling"}); !ok && !meant(v) {
		d.MissingEither(v, "within", "tumbling", "join")
	}
}

// meant reports whether a field of other words stands for what says how far apart two events may be: that was told.
func meant(v decode.Value) bool {
	return slices.ContainsFunc(v.Entries(), func(e decode.Value) bool {
		return slices.ContainsFunc(fields, func(f decode.Field[Declared]) bool {
			return (f.Name == "within" || f.Name == "tumbling") && slices.Contains(f.Also, e.Key())
		})
	})
}

func readSide(side int) func(d *decode.Decoder, v decode.Value, c *Declared) {
	return func(d *decode.Decoder, v decode.Value, c *Declared) {
		c.Sides.Names[side], _ = d.Text(v, "the name of an accumulator")
		c.Sides.At[side] = v.Here().Pos()
	}
}

var onFields = []decode.Field[Declared]{
	{Name: "left", Need: true, Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
		c.Sides.On[Left] = d.Exprs(v)
	}},
	{Name: "right", Need: true, Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
		c.Sides.On[Right] = d.Exprs(v)
	}},
}

// readOn reads what both sides have in common: one key for both, or one for each.
func readOn(d *decode.Decoder, v decode.Value, c *Declared) {
	if !d.ReadsMapping(v) {
		keys := d.Exprs(v)
		c.Sides.On = [2][]decode.Expr{keys, keys}
		return
	}
	decode.Object(d, v, "on", onFields, c)
	if l, r := len(c.Sides.On[Left]), len(c.Sides.On[Right]); l > 0 && r > 0 && l != r {
		d.Report(v.Whole(), decode.CodeKeyParts, "", "the key of the left side has %d parts and that of the right one "+
			"%d; keys are equal only part by part", l, r)
	}
}

var withinFields = []decode.Field[Declared]{
	{Name: "before", Also: []string{"from"}, Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
		readSpan(d, v, 0, &c.Before)
	}},
	{Name: "after", Also: []string{"to"}, Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
		readSpan(d, v, 0, &c.After)
	}},
}

// readWithin reads how far apart two events may be: as far to both sides, or as far to each.
func readWithin(d *decode.Decoder, v decode.Value, c *Declared) {
	if !v.IsMapping() {
		readSpan(d, v, 0, &c.Before)
		c.After = c.Before
		return
	}
	got, ok := decode.Object(d, v, "within", withinFields, c)
	if ok && len(got) == 0 {
		d.Report(v.Whole(), decode.CodeEmptyValue, "", "within says nothing; give it before, after or both, or one "+
			"duration for both")
	}
}

// readSpan reads a span of time that events lie apart.
func readSpan(d *decode.Decoder, v decode.Value, least time.Duration, into *time.Duration) {
	var n time.Duration
	if d.Duration(v, least, &n); n > maxSpan {
		d.Report(v.Here(), decode.CodeTooLarge, "", "%s is too long; at most %v are allowed", v.Subject(), maxSpan)
		return
	}
	*into = n
}
