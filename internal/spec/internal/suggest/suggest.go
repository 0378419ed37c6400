// Package suggest guesses what a user meant by a word that is not right.
package suggest

import (
	"cmp"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Finder finds the nearest of several words. It gives up after a number of
// comparisons: ten thousand mistakes against ten thousand names must not take
// minutes. A Finder is used by one goroutine.
type Finder struct {
	Budget int // comparisons left
}

// Nearest is the candidate that is nearest to word, "" when none is near or word
// holds a reference.
func (f *Finder) Nearest(word string, candidates []string) string {
	n := utf8.RuneCountInString(word)
	if n > 64 || strings.Contains(word, "${") {
		return ""
	}
	// One slip in four characters, and never all of them.
	best, limit := "", min(1+n/4, 3, n-1)
	lower := strings.ToLower(word)
	if longer := begunBy(lower, candidates); longer != "" {
		return longer
	}
	for _, c := range candidates {
		if f.Budget--; f.Budget < 0 {
			break
		}
		if c != word && alike(lower, c) {
			return c
		}
		if n := distance(lower, c, limit); n <= limit && c != word {
			best, limit = c, n-1
		}
	}
	return best
}

// begunBy is the only candidate that goes on where word ends, by an underscore: emit_when for emit.
func begunBy(word string, candidates []string) string {
	found := ""
	for _, c := range candidates {
		if strings.HasPrefix(c, word+"_") {
			if found != "" {
				return ""
			}
			found = c
		}
	}
	return found
}

// alike reports whether two words differ in case, underscores and dashes alone, as maxRows and max_rows do.
func alike(a, b string) bool { return strings.EqualFold(bare(a), bare(b)) }

func bare(word string) string { return strings.ReplaceAll(strings.ReplaceAll(word, "_", ""), "-", "") }

// distance is the number of insertions, deletions, replacements and swaps of
// neighbours between two words, or more than limit when it exceeds limit.
func distance(a, b string, limit int) int {
	x, y := []rune(a), []rune(b)
	if len(x)-len(y) > limit || len(y)-len(x) > limit {
		return limit + 1
	}
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(y); j++ {
			replace := last[j-1]
			if x[i-1] != y[j-1] {
				replace++
			}
			row[j] = min(last[j]+1, row[j-1]+1, replace)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least > limit {
			return limit + 1
		}
		before, last, row = last, row, before
	}
	return last[len(y)]
}

var (
	camelHump = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	validName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
	notInName = regexp.MustCompile(`[^a-z0-9_]+`)
)

// Name is a valid name made from an invalid one, "" when that cannot be.
func Name(name string) string {
	if len(name) > 128 || strings.Contains(name, "${") {
		return ""
	}
	name = strings.ToLower(camelHump.ReplaceAllString(name, "${1}_${2}"))
	name = strings.Trim(notInName.ReplaceAllString(name, "_"), "_")
	if !validName.MatchString(name) {
		return ""
	}
	return name
}

// humanNumber is a number with a unit of data or of thousands, or with an exponent.
var humanNumber = regexp.MustCompile(`^([0-9]+(?:[.,][0-9]+)?) *(?:([kmgt])(i?)b?|b|bytes|e([0-9]))$`)

// Number turns the usual ways to write a large number, such as 10k, 64MiB and 1e6, into one; -1 when
// it cannot.
func Number(text string) int64 {
	m := humanNumber.FindStringSubmatch(strings.ToLower(strings.TrimSpace(text)))
	if m == nil {
		return -1
	}
	x, err := strconv.ParseFloat(strings.Replace(m[1], ",", ".", 1), 64)
	if err != nil {
		return -1
	}
	base := 1000.0
	if m[3] != "" {
		base = 1024
	}
	x *= math.Pow(base, float64(strings.Index(" kmgt", cmp.Or(m[2], " "))))
	if m[4] != "" {
		x *= math.Pow10(int(m[4][0] - '0'))
	}
	if x != math.Trunc(x) || x > 1<<53 {
		return -1
	}
	return int64(x)
}

var humanDuration = regexp.MustCompile(`^([0-9]+) *([a-zµ]*)$`)

// Duration turns the usual ways to write a duration into Go's, "" when it
// cannot. A number alone is of seconds, and from 1,000 on of milliseconds.
func Duration(text string) string {
	m := humanDuration.FindStringSubmatch(strings.ToLower(strings.TrimSpace(text)))
	if m == nil {
		return ""
	}
	n, err := strconv.ParseInt(m[1], 10, 32)
	if err != nil {
		return ""
	}
	if m[2] == "" && n >= 1000 {
		return m[1] + "ms"
	}
	switch unit := strings.TrimSuffix(m[2], "s"); unit {
	case "d", "day":
		return strconv.FormatInt(24*n, 10) + "h"
	case "w", "week":
		return strconv.FormatInt(7*24*n, 10) + "h"
	case "h", "hr", "hour":
		return m[1] + "h"
	case "m", "min", "minute":
		return m[1] + "m"
	case "", "sec", "second":
		return m[1] + "s"
	case "milli", "msec", "millisecond":
		return m[1] + "ms"
	}
	if _, err := time.ParseDuration(m[1] + m[2]); err == nil {
		return m[1] + m[2]
	}
	return ""
}
