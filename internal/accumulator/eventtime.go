package accumulator

import (
	"cmp"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/spec"
)

// timeProgram reads an event's own time.
type timeProgram struct {
	expr *expression.Program
	unit time.Duration  // of numeric times
	zone *time.Location // of texts without one
}

func compileTime(a *spec.Accumulator, scope expression.Scope) (*timeProgram, spec.Diagnostics) {
	x, ds := fold.CompileExpr(a.Time, scope, expression.Compile, nil)
	if x == nil {
		return nil, ds
	}
	t := &timeProgram{expr: x, zone: time.UTC}
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

// parse turns the value of the time expression into an instant.
func (t *timeProgram) parse(v boundary.Value) (time.Time, *BadEvent) {
	switch v.Kind() {
	case boundary.KindTime:
		at, _ := v.AsTime()
		return at, nil
	case boundary.KindString:
		s, _ := v.AsString()
		at, err := boundary.ParseTime(s, t.zone)
		if err != nil {
			return at, invalidTime("%s", fold.OneLine(err.Error()))
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

func invalidTime(format string, args ...any) *BadEvent {
	return &BadEvent{Stage: "time", Code: "time_invalid", Text: fmt.Sprintf(format, args...)}
}
