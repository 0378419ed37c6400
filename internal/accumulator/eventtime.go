package accumulator

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
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
	case boundary.KindInt:
		n, _ := v.AsInt()
		if most := int64(1<<63-1) / int64(t.unit); n > most || n < -most {
			return time.Time{}, invalidTime("the number %d is out of range", n)
		}
		return time.Unix(0, n*int64(t.unit)).UTC(), nil
	case boundary.KindFloat:
		f, _ := v.AsFloat()
		ns, ok := nanoseconds(f, int64(t.unit))
		if !ok {
			return time.Time{}, invalidTime("the number %s is out of range", v.String())
		}
		return time.Unix(0, ns).UTC(), nil
	}
	return time.Time{}, invalidTime("the event has no time: the expression gives %s", v.Kind().String())
}

func invalidTime(format string, args ...any) *BadEvent {
	return &BadEvent{Stage: "time", Code: "time_invalid", Text: fmt.Sprintf(format, args...)}
}

// nanoseconds is f times unit, which is a power of ten, as the shortest decimal text of f has
// it: 1700000000.1 seconds are 100 ms and not what binary makes of them. Digits beyond the
// nanosecond are left out, as they are in a text.
func nanoseconds(f float64, unit int64) (ns int64, ok bool) {
	if limit := float64(math.MaxInt64/unit) + 1; f >= limit || f <= -limit {
		return 0, false
	}
	var room [400]byte // more than the digits of any float
	whole, part, _ := bytes.Cut(strconv.AppendFloat(room[:0], math.Abs(f), 'f', -1, 64), []byte("."))
	n := uint64(0) // at most 19 digits, and less than 1<<63 + unit
	for _, c := range whole {
		n = n*10 + uint64(c-'0')
	}
	for ; unit > 1; unit /= 10 {
		n *= 10
		if len(part) > 0 {
			n += uint64(part[0] - '0')
			part = part[1:]
		}
	}
	if n > math.MaxInt64 {
		return 0, false
	}
	if f < 0 {
		return -int64(n), true
	}
	return int64(n), true
}
