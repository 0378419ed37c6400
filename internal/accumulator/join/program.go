package join

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
)

// Program is the declaration of a join, checked and ready to run.
type Program struct {
	Declared
	// reach is by side how long after its own time a row can find a partner, where no window says so; see span.
	reach    [2]int64
	givesKey bool   // see [fold.Site]
	times    []bool // by part of the key: it is a time
	// joined says by side that it is a join. What that hands over is not late: it is of as far back as that has let
	// events come, or wait for a partner, and this one has come no further.
	joined [2]bool
	// bare is by side the field that is the whole key, "" where the key is made otherwise; named are the parts that
	// are the same field of both sides, which stand under its name.
	bare  [2]string
	named []string
	shape *boundary.Shape
	typ   expression.Type
}

// The fields of every result beside those of the key, in the order in which they stand behind them.
var resultNames = []string{"left", "right", "matched", "at", "nth_left", "nth_right"}

// windowNames are those that it has behind them where both events are of one window.
var windowNames = []string{"start", "end"}

// Compile implements [fold.Declared].
func (c Declared) Compile(at *fold.Site) (*fold.Program, spec.Diagnostics) {
	p := &Program{Declared: c, reach: [2]int64{Left: int64(c.After), Right: int64(c.Before)}, givesKey: at.GivesKey,
		times: at.Sides[Left].Times}
	for side := range p.joined {
		p.joined[side] = at.Sides[side].Joined
	}
	if ds := c.checkKeys(at); len(ds) > 0 {
		return nil, ds
	}
	p.compileShape(at)
	return &fold.Program{
		New: func() fold.Fold { return New(p) }, Type: p.typ, Shape: p.shape, Ticks: true, Together: true,
		Lasts:  p.outer(Left) || p.outer(Right),
		Groups: fold.KeyFields{Names: append([]string{"key"}, p.named...)},
	}, nil
}

// checkKeys refuses keys that can never be equal.
func (c *Declared) checkKeys(at *fold.Site) (ds spec.Diagnostics) {
	left, right := at.Sides[Left].Key, at.Sides[Right].Key
	for i := range min(len(left), len(right), len(c.Sides.On[Right])) { // what is missing of it has been told
		l, r := left[i].Kind(), right[i].Kind()
		if l == r || left[i].IsAny() || right[i].IsAny() || number(l) && number(r) {
			continue
		}
		ds = append(ds, fold.Diagnostic(c.Sides.On[Right][i].Pos, expression.CodeTypeMismatch, fmt.Sprintf(
			"the key of %s is %s here and that of %s %s: they are never equal; make both of one kind, as with "+
				"string(…) or int(…)", c.Sides.Names[Left], decode.Article(l.String()), c.Sides.Names[Right],
			decode.Article(r.String()))))
	}
	return ds
}

func number(k boundary.Kind) bool { return k == boundary.KindInt || k == boundary.KindFloat }

// compileShape names the fields of a boundary.
func (p *Program) compileShape(at *fold.Site) {
	names, on, results := []string{"key"}, p.Sides.On, resultNames
	if p.Tumbling > 0 {
		results = append(slices.Clip(results), windowNames...)
	}
	fields := map[string]expression.Type{"key": expression.Of(boundary.KindList)}
	if len(on[Left]) == 1 {
		fields["key"] = partType(at, 0)
	}
	for i := range min(len(on[Left]), len(on[Right])) {
		l, r := strings.TrimSpace(on[Left][i].Text), strings.TrimSpace(on[Right][i].Text)
		if len(on[Left]) == 1 {
			p.bare = [2]string{bareField(l), bareField(r)}
		}
		if l != r || bareField(l) == "" || slices.Contains(results, l) || slices.Contains(names, l) {
			continue
		}
		names, p.named = append(names, l), append(p.named, l)
		fields[l] = partType(at, i)
	}
	names = append(names, results...)
	fields["left"], fields["right"] = at.Sides[Left].Type, at.Sides[Right].Type
	fields["matched"] = expression.Of(boundary.KindBool)
	fields["at"] = expression.Of(boundary.KindTime)
	fields["nth_left"], fields["nth_right"] = expression.Of(boundary.KindInt), expression.Of(boundary.KindInt)
	for _, name := range results[len(resultNames):] {
		fields[name] = expression.Of(boundary.KindTime)
	}
	p.shape, p.typ = boundary.NewShape(names...), expression.ObjectOf(fields, false)
}

// span is from when to when an event of a side, of a time, finds its partners: both are included.
func (p *Program) span(side int, at int64) (low, high int64) {
	if size := int64(p.Tumbling); size > 0 {
		low = before(at, ((at%size)+size)%size)
		return low, after(low, size-1)
	}
	return before(at, p.reach[1-side]), after(at, p.reach[side])
}

// partType is the type of a part of the key, of whichever side it is. Of one that is wrong nothing is known.
func partType(at *fold.Site, i int) expression.Type {
	left, right := at.Sides[Left].Key, at.Sides[Right].Key
	if i >= len(left) || i >= len(right) {
		return expression.Any()
	}
	return expression.Either(left[i], right[i])
}

// bareField is text where it is the name of a field and nothing else.
func bareField(text string) string {
	for i, r := range text {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return ""
		}
	}
	return text
}

// noTime is before every time there is.
const noTime = math.MinInt64

// after is d after the time at, or as late as a time can be.
func after(at, d int64) int64 {
	if at > math.MaxInt64-d {
		return math.MaxInt64
	}
	return at + d
}

// before is d before the time at, or as early as a time can be.
func before(at, d int64) int64 {
	if at < noTime+d {
		return noTime
	}
	return at - d
}
