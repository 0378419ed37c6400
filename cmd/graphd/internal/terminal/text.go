package terminal

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Clean replaces control characters, which a terminal would obey.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r == utf8.RuneError:
			return '\uFFFD'
		}
		return r
	}, s)
}

// Number prints n.
func Number[T int | int64](n T) string { return strconv.FormatInt(int64(n), 10) }

// Plural is "1 event", "2 events".
func Plural[T int | int64](n T, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Number(n) + " " + noun + "s"
}

// Value prints raw JSON in at most width runes.
func Value(raw json.RawMessage, width int) string {
	if len(raw) == 0 {
		return "-"
	}
	var compact bytes.Buffer
	text := string(raw)
	if json.Compact(&compact, raw) == nil {
		text = compact.String()
	}
	return Clip(text, width)
}

// Clip shortens s to width runes.
func Clip(s string, width int) string {
	if len(s) <= width || utf8.RuneCountInString(s) <= width {
		return s
	}
	return string([]rune(s)[:width-1]) + "…"
}

// Or is s, or otherwise when s is empty.
func Or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// List prints names, or a dash.
func List(names []string) string { return Or(strings.Join(names, ", "), "-") }

// YesNo prints a flag.
func YesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// Moment prints a time as it is in JSON, to the millisecond.
func Moment(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

// Short prints a duration in its one or two greatest units.
func Short(d time.Duration) string {
	round := func(to time.Duration) string { return d.Round(to).String() }
	switch {
	case d < time.Microsecond:
		return d.String()
	case d < time.Millisecond:
		return round(100 * time.Nanosecond)
	case d < time.Second:
		return round(100 * time.Microsecond)
	case d < 10*time.Second:
		return round(100 * time.Millisecond)
	case d < time.Minute:
		return round(time.Second)
	case d < time.Hour:
		return withoutZeros(round(time.Second))
	case d < 48*time.Hour:
		return withoutZeros(round(time.Minute))
	}
	return strconv.Itoa(int(d/(24*time.Hour))) + "d"
}

// withoutZeros takes away units that are zero: "2h0m0s" is "2h".
func withoutZeros(s string) string {
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
