// Package eventtime reads the time that a declaration says an event has: of a text, a number or a time, in nanoseconds
// since 1970.
package eventtime

import (
	"cmp"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
)

// Program reads an event's own time. It is immutable.
type Program struct {
	// Expr is what the declaration says.
	Expr *expression.Program
	unit time.Duration  // of numeric times
	zone *time.Location // of texts without one
}

// Compile compiles `time` of an accumulator; the program is nil when there is a diagnostic.
func Compile(a *spec.Accumulator, scope expression.Scope) (*Program, spec.Diagnostics) {
	x, ds := fold.CompileExpr(a.Time, scope, expression.Compile, nil)
	if x == nil {
		return nil, ds
	}
	t := &Program{Expr: x, zone: time.UTC}
	switch x.Type().Kind() {
	case boundary.KindAbsent, boundary.KindString, boundary.KindInt, boundary.KindFloat, boundary.KindTime:
	default:
		ds = append(ds, fold.Diagnostic(a.Time.Pos, expression.CodeTypeMismatch,
			"time must be an RFC 3339 text, a number or a time, this is "+x.Type().String()))
	}
	var known bool
	if t.unit, known = boundary.TimeUnit(cmp.Or(a.TimeUnit, "ms")); !known {
		ds = append(ds, fold.Diagnostic(a.Pos, "invalid_value", fmt.Sprintf("time_unit %q is not one of s, ms, us, ns",
			a.TimeUnit)))
	}
	if a.Timezone != "" {
		zone, err := time.LoadLocation(a.Timezone)
		if err != nil {
			return nil, append(ds, fold.Diagnostic(a.Pos, "invalid_value",
				fmt.Sprintf("timezone %q is not known here; write an IANA name such as Europe/Berlin", a.Timezone)))
		}
		t.zone = zone
	}
	if len(ds) > 0 {
		return nil, ds
	}
	return t, nil
}

// Event times are kept within these years: with what a fold adds to one it is still a time.
var (
	earliest = time.Date(1700, 1, 1, 0, 0, 0, 0, time.UTC)
	latest   = time.Date(2240, 1, 1, 0, 0, 0, 0, time.UTC)

	latestNano = latest.UnixNano()
)

// At is the instant that the value of the expression tells, in nanoseconds since 1970: one that can be reckoned with.
func (t *Program) At(v boundary.Value) (int64, *fold.BadEvent) {
	if n, whole := v.AsInt(); whole && n >= 0 && n <= latestNano/int64(t.unit) {
		return n * int64(t.unit), nil // most times are whole numbers of this kind
	}
	at, bad := t.parse(v)
	if bad != nil {
		return 0, bad
	}
	if at.Before(earliest) || at.After(latest) {
		return 0, invalidTime("the time %s is out of range", at.Format(time.RFC3339))
	}
	return at.UnixNano(), nil
}

// parse turns the value of the time expression into an instant.
func (t *Program) parse(v boundary.Value) (time.Time, *fold.BadEvent) {
	switch v.Kind() {
	case boundary.KindTime:
		at, _ := v.AsTime()
		return at, nil
	case boundary.KindString:
		s, _ := v.AsString()
		at, err := boundary.ParseTime(s, t.zone)
		if err != nil {
			return at, invalidTime("%s", decode.OneLine(err.Error()))
		}
		return at, nil
	case boundary.KindInt, boundary.KindFloat:
		at, ok := boundary.TimeOfNumber(v, t.unit)
		if !ok {
			return time.Time{}, invalidTime("the number %s is out of range", v.String())
		}
		return at, nil
	}
	return time.Time{}, invalidTime("the event has no time: the expression gives %s", v.Kind().String())
}

func invalidTime(format string, args ...any) *fold.BadEvent {
	return &fold.BadEvent{Stage: "time", Code: "time_invalid", Text: fmt.Sprintf(format, args...)}
}
