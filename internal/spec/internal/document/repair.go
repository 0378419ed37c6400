package document

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// The commonest mistake in a declaration is an expression that YAML cannot read:
// a ? b : c, "x" == y, !z. One of them must not hide all other mistakes, so such a
// value is taken out, the rest is decoded, and the decoder reports the value when
// it comes by. That is a repair. It is tried only where the reader gave up, and
// kept only if the reader then gets further.

const (
	maxRepairs   = 50
	repairBudget = 2 << 20 // bytes read again for repairs, in all; half a second of work
	repairWindow = 4       // lines the reader may have read past the mistake
	maxLine      = 4 << 10 // nobody writes longer lines by hand, and scanning one is quadratic
	maxNesting   = 8       // of { } and [ ] within a line
)

// repair is a value that was taken out of the text, by its place.
type repair struct {
	line, column int
	text         string // of the problem
	settled      bool
}

// repairer takes values out of a text until YAML can read it.
type repairer struct {
	text   string
	done   []repair
	budget int
}

// run repairs the text as often as that helps, and returns the last reading.
func (p *repairer) run() reading {
	r := decodeAt(p.text)
	for r.err != nil && len(p.done) < maxRepairs && !strings.Contains(r.err.Error(), controlCharacters) {
		next, ok := p.repair(r)
		if !ok {
			break
		}
		r = next
	}
	return r
}

// repair takes out the value that the reader stumbled over. It reports whether it
// found one.
func (p *repairer) repair(r reading) (next reading, ok bool) {
	src := newSource(p.text)
	last, _ := src.Place(r.at - 1)
	for n := last; n >= 1 && n > last-repairWindow; n-- {
		line, start := src.line(n)
		if len(line) > maxLine {
			continue
		}
		for _, v := range lineValues(line, 0, len(line), 0) {
			if p.budget -= len(line); p.budget < 0 {
				return r, false
			}
			if v.open(line) || v.readable(line) {
				continue
			}
			if next, ok = p.takeOut(r, start+v.from, start+v.to); ok {
				p.done = append(p.done, repair{
					line: n, column: utf8.RuneCountInString(line[:v.from]) + 1, text: advice(r.err),
				})
				return next, true
			}
		}
	}
	return r, false
}

// takeOut replaces text[from:to] if the reader then gets further.
func (p *repairer) takeOut(r reading, from, to int) (next reading, ok bool) {
	if p.budget -= len(p.text); p.budget < 0 {
		return r, false
	}
	// "!" alone is an empty value with a tag: it can stand anywhere, and no legal
	// declaration has one.
	blank := "!" + strings.Repeat(" ", utf8.RuneCountInString(p.text[from:to])-1)
	candidate := p.text[:from] + blank + p.text[to:]
	next = decodeAt(candidate)
	if next.err != nil && next.at <= r.at+len(candidate)-len(p.text) {
		return r, false
	}
	p.text = candidate
	return next, true
}

// unknownAnchor is what the reader says of an alias that stands for nothing.
var unknownAnchor = regexp.MustCompile(`unknown anchor '([^']{1,64})' referenced`)

// advice says what to do about a value that was taken out.
func advice(why error) string {
	if m := unknownAnchor.FindStringSubmatch(why.Error()); m != nil {
		return "there is no anchor &" + m[1] + " in front of this; write it before the value that this stands for"
	}
	if strings.Contains(why.Error(), unicodeEscape) {
		return "YAML cannot read an escape in this text; write the character itself"
	}
	return "YAML cannot read this value; put it in single quotes"
}

// span is a value within a line.
type span struct {
	from, to int
	flow     bool // it stands inside { } or [ ]
}

// readable reports whether YAML can read the value when it stands alone.
func (v span) readable(line string) bool {
	text := "k: " + line[v.from:v.to]
	if v.flow {
		text = "{k: " + line[v.from:v.to] + "}"
	}
	r := decode(strings.NewReader(text))
	return r.err == nil && r.second == nil
}

// open reports whether the value is a quoted text or a { } or [ ] that does not end
// on its line. It may well end on a later one.
func (v span) open(line string) bool {
	switch text := line[v.from:v.to]; text[0] {
	case '{', '[':
		items := flowItems(line, v.from+1, v.to)
		return items[len(items)-1].to == v.to
	case '"', '\'':
		return strings.Count(text, text[:1])%2 == 1
	}
	return false
}

var linePrefix = regexp.MustCompile(`^[ \t]*(?:- +)*(?:(?:[A-Za-z0-9_.-]+|"[^"]*"|'[^']*'):(?:[ \t]+|$))?`)

// lineValues lists the values in line[from:to], the innermost first. depth is how
// many { } or [ ] on this line they stand in.
func lineValues(line string, from, to, depth int) []span {
	from += len(linePrefix.FindString(line[from:to]))
	if depth == 0 {
		to = valueEnd(line, from, to)
	}
	for to > from && (line[to-1] == ' ' || line[to-1] == '\t') {
		to--
	}
	if from == to {
		return nil
	}
	var spans []span
	if c := line[from]; (c == '{' || c == '[') && depth < maxNesting {
		for _, item := range flowItems(line, from+1, to) {
			spans = append(spans, lineValues(line, item.from, item.to, depth+1)...)
		}
	}
	return append(spans, span{from: from, to: to, flow: depth > 0})
}

// valueEnd is where the value that starts at from ends if the line stands within a
// { } or [ ] of several lines: before what closes that, or a comma at the end.
func valueEnd(line string, from, to int) int {
	depth, quote := 0, byte(0)
	for i := from; i < to; i++ {
		switch c := line[i]; {
		case quote != 0:
			if c == '\\' && quote == '"' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '{' || c == '[' || c == '(':
			depth++
		case (c == '}' || c == ']') && depth == 0:
			return i
		case c == '}' || c == ']' || c == ')':
			depth--
		}
	}
	return from + len(strings.TrimRight(strings.TrimRight(line[from:to], " \t"), ","))
}

// flowItems splits the inside of a { } or [ ] at its commas, up to its end.
func flowItems(line string, from, to int) []span {
	var items []span
	depth, quote, start := 0, byte(0), from
	for i := from; i < to; i++ {
		c := line[i]
		switch {
		case quote != 0:
			if c == '\\' && quote == '"' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '{' || c == '[' || c == '(':
			depth++
		case (c == '}' || c == ']') && depth == 0:
			return append(items, span{from: start, to: i})
		case c == '}' || c == ']' || c == ')':
			depth = max(depth-1, 0)
		case c == ',' && depth == 0:
			items = append(items, span{from: start, to: i})
			start = i + 1
		}
	}
	return append(items, span{from: start, to: to})
}
