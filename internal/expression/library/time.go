package library

import (
	"errors"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression/eval"
	"github.com/graphd/graphd/internal/expression/rules"
)

var timeFunctions = []eval.Function{
	fixed("duration", boundary.KindDuration, duration, text),
	{Name: "date", Min: 1, Max: 3, Params: []eval.Kinds{number | text, text, text}, Mistake: noDate,
		Result: boundary.KindTime, Call: date},
}

// timeMethods are written t.Hour(). A time is an instant: what depends on the
// place on earth takes the name of a time zone as its last argument, else UTC.
var timeMethods = []eval.Function{
	part(".Year", time.Time.Year),
	part(".Month", func(t time.Time) int { return int(t.Month()) }),
	part(".Day", time.Time.Day),
	part(".YearDay", time.Time.YearDay),
	part(".Weekday", func(t time.Time) int { return int(t.Weekday()) }),
	part(".Hour", time.Time.Hour),
	part(".Minute", time.Time.Minute),
	part(".Second", time.Time.Second),
	part(".Nanosecond", time.Time.Nanosecond),
	since(".Unix", time.Time.Unix),
	since(".UnixMilli", time.Time.UnixMilli),
	since(".UnixMicro", time.Time.UnixMicro),
	since(".UnixNano", time.Time.UnixNano),
	relate(".Before", time.Time.Before),
	relate(".After", time.Time.After),
	relate(".Equal", time.Time.Equal),
	fixed(".Add", boundary.KindTime, func(e *env, at site, args []value) value {
		return e.Arith(at, rules.Add, args[0], args[1])
	}, moment, span),
	fixed(".Sub", boundary.KindDuration, func(e *env, at site, args []value) value {
		return e.Arith(at, rules.Sub, args[0], args[1])
	}, moment, moment),
	fixed(".AddDate", boundary.KindTime, addDate, moment, eval.Int, eval.Int, eval.Int),
	grid(".Truncate", time.Time.Truncate, time.Duration.Truncate),
	grid(".Round", time.Time.Round, time.Duration.Round),
	ranged(".Format", 2, 3, boundary.KindString, format, moment, text, text),
	fixed(".Hours", boundary.KindFloat, measure(time.Duration.Hours), span),
	fixed(".Minutes", boundary.KindFloat, measure(time.Duration.Minutes), span),
	fixed(".Seconds", boundary.KindFloat, measure(time.Duration.Seconds), span),
	fixed(".Milliseconds", boundary.KindInt, count(time.Duration.Milliseconds), span),
	fixed(".Microseconds", boundary.KindInt, count(time.Duration.Microseconds), span),
	fixed(".Nanoseconds", boundary.KindInt, count(time.Duration.Nanoseconds), span),
	fixed(".Abs", boundary.KindDuration, absolute, span),
	fixed(".String", boundary.KindString, asText(eval.PlainText), moment|span),
}

// Methods are the names of the methods, in the order of the table.
func Methods() []string {
	names := make([]string, len(timeMethods))
	for i := range timeMethods {
		names[i] = timeMethods[i].Title()
	}
	return names
}

func instant(v value) time.Time {
	t, _ := v.AsTime()
	return t
}

func lasting(v value) time.Duration {
	d, _ := v.AsDuration()
	return d
}

// held makes a value of a time that was computed.
func held(e *env, at site, t time.Time) value {
	if !boundary.Holds(t) {
		return e.Fail(at, rules.CodeNotFinite, "%s", boundary.ErrTimeRange)
	}
	return boundary.Time(t)
}

// part is a method for a part of a date, in UTC or in the zone that is named.
func part(name string, f func(time.Time) int) eval.Function {
	return ranged(name, 1, 2, boundary.KindInt, func(e *env, at site, args []value) value {
		t, ok := local(e, at, args[0], args[1:])
		if !ok {
			return absent()
		}
		return boundary.Int(int64(f(t)))
	}, moment, text)
}

func since(name string, f func(time.Time) int64) eval.Function {
	return fixed(name, boundary.KindInt, func(_ *env, _ site, args []value) value {
		return boundary.Int(f(instant(args[0])))
	}, moment)
}

func relate(name string, f func(t, u time.Time) bool) eval.Function {
	return fixed(name, boundary.KindBool, func(_ *env, _ site, args []value) value {
		return boundary.Bool(f(instant(args[0]), instant(args[1])))
	}, moment, moment)
}

// grid is a method that moves a time or duration to a multiple of a duration.
func grid(name string, onTime func(time.Time, time.Duration) time.Time,
	onSpan func(d, m time.Duration) time.Duration) eval.Function {
	f := fixed(name, varies, func(e *env, at site, args []value) value {
		if d, ok := args[0].AsDuration(); ok {
			return boundary.Duration(onSpan(d, lasting(args[1])))
		}
		return held(e, at, onTime(instant(args[0]), lasting(args[1])))
	}, moment|span, span)
	f.Same = true
	return f
}

func measure(f func(time.Duration) float64) call {
	return func(_ *env, _ site, args []value) value { return boundary.Float(f(lasting(args[0]))) }
}

func count(f func(time.Duration) int64) call {
	return func(_ *env, _ site, args []value) value { return boundary.Int(f(lasting(args[0]))) }
}

// local is a time in the zone that is named, UTC when none is.
func local(e *env, at site, v value, zone []value) (time.Time, bool) {
	t := instant(v)
	if len(zone) == 0 {
		return t, true
	}
	loc, ok := e.Zone(at, str(zone[0]))
	if !ok {
		return t, false
	}
	return t.In(loc), true
}

func format(e *env, at site, args []value) value {
	t, ok := local(e, at, args[0], args[2:])
	if !ok {
		return absent()
	}
	return e.String(at, t.Format(str(args[1])))
}

// addDate adds years, months and days by the calendar.
func addDate(e *env, at site, args []value) value {
	var n [3]int
	for i := range n {
		n[i] = int(min(max(integer(args[i+1]), -1_000_000), 1_000_000)) // far out of range either way
	}
	return held(e, at, instant(args[0]).AddDate(n[0], n[1], n[2]))
}

func duration(e *env, at site, args []value) value {
	d, err := time.ParseDuration(str(args[0]))
	if err != nil {
		return e.Fail(at, rules.CodeInvalidArgument, `duration: %.40q is none; write it like "250ms", "10s" or "1h30m"`,
			str(args[0]))
	}
	return boundary.Duration(d)
}

// layouts are what date understands when no layout is given.
var layouts = []string{
	"2006-01-02", "2006-01-02 15:04:05", "2006-01-02T15:04:05",
	time.RFC822, time.RFC850, time.RFC1123, time.RFC1123Z,
}

const needsUnit = `date of a number needs its unit, and nothing more: date(x, "ms"), or "s", "us", "ns"`

// noDate says why a date cannot be made of what these kinds are.
func noDate(kinds []boundary.Kind) string {
	if numeric := kinds[0] == boundary.KindInt || kinds[0] == boundary.KindFloat; numeric && len(kinds) != 2 {
		return needsUnit
	}
	return ""
}

// date reads a time: date(text), date(text, layout), date(text, layout, zone), or of a number
// date(number, unit).
func date(e *env, at site, args []value) value {
	if args[0].Kind() != boundary.KindString {
		return dateOfNumber(e, at, args)
	}
	loc, tried := time.UTC, layouts
	if len(args) > 1 {
		tried = []string{str(args[1])}
	}
	if len(args) > 2 {
		var ok bool
		if loc, ok = e.Zone(at, str(args[2])); !ok {
			return absent()
		}
	}
	if len(args) == 1 {
		switch t, err := boundary.ParseTime(str(args[0]), nil); {
		case err == nil:
			return boundary.Time(t)
		case errors.Is(err, boundary.ErrTimeRange):
			return e.Fail(at, rules.CodeNotFinite, "%s", err)
		}
	}
	for _, layout := range tried {
		if t, err := time.ParseInLocation(layout, str(args[0]), loc); err == nil {
			return held(e, at, t)
		}
	}
	return e.Fail(at, rules.CodeInvalidArgument, "date: %.40q is no time that is understood", str(args[0]))
}

func dateOfNumber(e *env, at site, args []value) value {
	if len(args) != 2 {
		return e.Fail(at, rules.CodeTypeError, "%s", needsUnit)
	}
	unit, ok := boundary.TimeUnit(str(args[1]))
	if !ok {
		return e.Fail(at, rules.CodeInvalidArgument, `date: %.40q is no unit of time: "s", "ms", "us" or "ns"`,
			str(args[1]))
	}
	t, ok := boundary.TimeOfNumber(args[0], unit)
	if !ok {
		return e.Fail(at, rules.CodeNotFinite, "%s", boundary.ErrTimeRange)
	}
	return boundary.Time(t)
}
