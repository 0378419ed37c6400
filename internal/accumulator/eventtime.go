package accumulator

import (
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
	t := &timeProgram{expr: x, zone: time.UTC, unit: time.Millisecond}
	switch x.Type().Kind() {
	case boundary.KindAbsent, boundary.KindString, boundary.KindInt, boundary.KindFloat, boundary.KindTime:
	default:
		ds = append(ds, fold.Diagnostic(a.Time.Pos, expression.CodeTypeMismatch,
			"time must be an RFC 3339 text, a number or a time, this is "+x.Type().String()))
	}
	switch a.TimeUnit {
	case "", "ms":
	case "s":
		t.unit = time.Second
	case "us":
		t.unit = time.Microsecond
	case "ns":
		t.unit = time.Nanosecond
	default:
		ds = append(ds, fold.Diagnostic(a.Pos, "invalid_value", fmt.Sprintf("time_unit %q is not one of s, ms, us, ns", a.TimeUnit)))
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

// Layouts of times in texts: with a zone, and without one, to be read in the declared zone.
const layoutLocal = "2006-01-02T15:04:05.999999999"

// parse turns the value of the time expression into an instant.
func (t *timeProgram) parse(v boundary.Value) (time.Time, *BadEvent) {
	switch v.Kind() {
	case boundary.KindTime:
		at, _ := v.AsTime()
		return at, nil
	case boundary.KindString:
		s, _ := v.AsString()
		if at, err := time.Parse(time.RFC3339Nano, s); err == nil {
			return at.UTC(), nil
		}
		if at, err := time.ParseInLocation(layoutLocal, s, t.zone); err == nil {
			return at.UTC(), nil
		}
		return time.Time{}, invalidTime("the text %q is not an RFC 3339 time", fold.OneLine(s))
	case boundary.KindInt:
		n, _ := v.AsInt()
		if most := int64(1<<63-1) / int64(t.unit); n > most || n < -most {
			return time.Time{}, invalidTime("the number %d is out of range", n)
		}
		return time.Unix(0, n*int64(t.unit)).UTC(), nil
	case boundary.KindFloat:
		f, _ := v.AsFloat()
		f *= float64(t.unit)
		if f >= 1<<63 || f < -(1<<63) {
			return time.Time{}, invalidTime("the number %s is out of range", v.String())
		}
		return time.Unix(0, int64(f)).UTC(), nil
	}
	return time.Time{}, invalidTime("the event has no time: the expression gives %s", v.Kind().String())
}

func invalidTime(format string, args ...any) *BadEvent {
	return &BadEvent{Stage: "time", Code: "time_invalid", Text: fmt.Sprintf(format, args...)}
}
