package terminal

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/graphd/graphd/internal/telemetry"
)

// Clean is s for a line on a terminal: it cannot end the line, and says nothing to the terminal.
func Clean(s string) string {
	return telemetry.Printable(strings.NewReplacer("\r\n", " ", "\n", " ", "\t", " ").Replace(s))
}

// cleanLines is Clean for text of many lines.
func cleanLines(text []byte) []byte {
	var out bytes.Buffer
	for line := range bytes.Lines(text) {
		body := bytes.TrimRight(line, "\r\n")
		indented := bytes.TrimLeft(body, "\t")
		out.Write(body[:len(body)-len(indented)])
		out.WriteString(Clean(string(indented)))
		if len(body) < len(line) {
			out.WriteByte('\n')
		}
	}
	return out.Bytes()
}

// Number prints n.
func Number[T int | int64](n T) string { return strconv.FormatInt(int64(n), 10) }

// Bytes prints a number of bytes to three digits.
func Bytes(n int64) string {
	f, unit := float64(n), 0
	for f >= 1000 && unit < 4 {
		f /= 1024
		unit++
	}
	return strconv.FormatFloat(f, 'g', 3, 64) + " " + [...]string{"bytes", "KiB", "MiB", "GiB", "TiB"}[unit]
}

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
