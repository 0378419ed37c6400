package file

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/graphd/graphd/internal/accumulator"
)

// csvScan is where a search for a record's end stands.
type csvScan struct {
	state  csvState
	quotes bool // a quoted cell was met
}

type csvState uint8

const (
	cellStart csvState = iota
	inPlain
	inQuotes
	afterQuote // a quote within quotes: it closed them, or is the first of a pair
)

// findRecord finds the line feed that ends a CSV record: one outside of quotes.
func findRecord(f *framer) int {
	s := &f.csv
	for f.seen < f.w {
		rest := f.buf[f.seen:f.w]
		if s.state == inQuotes {
			q := bytes.IndexByte(rest, '"')
			if q < 0 {
				f.seen = f.w
				return -1
			}
			f.seen += q + 1
			s.state = afterQuote
			continue
		}
		line := bytes.IndexByte(rest, '\n')
		if line >= 0 {
			rest = rest[:line]
		}
		if bytes.IndexByte(rest, '"') < 0 {
			if line >= 0 {
				return f.seen + line
			}
			s.state = inPlain
			if rest[len(rest)-1] == ',' {
				s.state = cellStart
			}
			f.seen = f.w
			return -1
		}
		if i := s.scan(f.buf[f.seen:f.w]); i >= 0 {
			f.seen += i
			if f.buf[f.seen] == '\n' {
				return f.seen
			}
			f.seen++
			continue
		}
		f.seen = f.w
	}
	return -1
}

// scan goes byte by byte until the record ends or a quoted cell begins, and returns
// where; -1 when neither happens in b.
func (s *csvScan) scan(b []byte) int {
	for i, c := range b {
		switch {
		case c == '\n':
			return i
		case c == ',':
			s.state = cellStart
		case c == '"' && (s.state == cellStart || s.state == afterQuote):
			s.state, s.quotes = inQuotes, true
			return i
		default:
			s.state = inPlain
		}
	}
	return -1
}

// cellType is what a cell becomes.
type cellType uint8

const (
	cellAny cellType = iota // by what it looks like
	cellText
	cellNumber
	cellBool
)

// columns turns CSV records into JSON objects.
type columns struct {
	types map[string]cellType // by column, from the schema
	heads [][]byte            // `{"a":`, `,"b":`, … ; nil before the header was read
	kinds []cellType
	cell  []byte // scratch: a quoted cell without its quotes
}

func newColumns(schema any) *columns {
	c := &columns{types: map[string]cellType{}}
	s, _ := schema.(map[string]any)
	properties, _ := s["properties"].(map[string]any)
	for name, p := range properties {
		if p, ok := p.(map[string]any); ok {
			c.types[name] = schemaType(p["type"])
		}
	}
	return c
}

// schemaType is the one type, besides null, that a schema allows.
func schemaType(t any) cellType {
	switch t := t.(type) {
	case string:
		switch t {
		case "string":
			return cellText
		case "number", "integer":
			return cellNumber
		case "boolean":
			return cellBool
		}
	case []any:
		found, n := cellAny, 0
		for _, e := range t {
			if e != "null" {
				found = schemaType(e)
				n++
			}
		}
		if n == 1 {
			return found
		}
	}
	return cellAny
}

// header takes the names of the columns from the first record.
func (c *columns) header(fr frame) error {
	if fr.over {
		return fmt.Errorf("the header has %d bytes, more than one event may have", fr.size)
	}
	if len(fr.data) == 0 {
		return nil // an empty line before it
	}
	seen := map[string]bool{}
	sep := byte('{')
	bad := c.cells(fr, func(i int, cell []byte, _ bool) {
		name := string(cell)
		if name == "" {
			name = "column_" + strconv.Itoa(i+1)
		}
		for seen[name] {
			name += "_" + strconv.Itoa(i+1)
		}
		seen[name] = true
		head := appendText([]byte{sep}, []byte(name))
		c.heads = append(c.heads, append(head, ':'))
		c.kinds = append(c.kinds, c.types[name])
		sep = ','
	})
	if bad != nil {
		return fmt.Errorf("the header is not CSV: %s", bad.Text)
	}
	return nil
}

// object appends a record as a JSON object.
func (c *columns) object(dst []byte, fr frame) ([]byte, *accumulator.BadEvent) {
	n := 0
	bad := c.cells(fr, func(i int, cell []byte, quoted bool) {
		if n++; i < len(c.heads) {
			dst = append(dst, c.heads[i]...)
			dst = appendCell(dst, cell, quoted, c.kinds[i])
		}
	})
	if bad == nil && n != len(c.heads) {
		bad = &accumulator.BadEvent{
			Stage: "decode", Code: "csv_fields",
			Text: fmt.Sprintf("the row has %d cells, the header has %d", n, len(c.heads)),
		}
	}
	return append(dst, '}'), bad
}

// cells calls each with every cell of a record, without its quotes.
func (c *columns) cells(fr frame, each func(i int, cell []byte, quoted bool)) *accumulator.BadEvent {
	rest := fr.data
	for i := 0; ; i++ {
		if len(rest) > 0 && rest[0] == '"' && fr.quotes {
			cell, after, ok := c.unquote(rest)
			if !ok || len(after) > 0 && after[0] != ',' {
				text := "the row ends within a quoted cell"
				if ok {
					text = fmt.Sprintf("cell %d goes on after its closing quote", i+1)
				}
				return &accumulator.BadEvent{Stage: "decode", Code: "csv_quote", Text: text}
			}
			each(i, cell, true)
			if len(after) == 0 {
				return nil
			}
			rest = after[1:]
			continue
		}
		comma := bytes.IndexByte(rest, ',')
		if comma < 0 {
			each(i, rest, false)
			return nil
		}
		each(i, rest[:comma], false)
		rest = rest[comma+1:]
	}
}

// unquote returns the text of the quoted cell at the beginning of b, and what follows it.
func (c *columns) unquote(b []byte) (cell, after []byte, ok bool) {
	b = b[1:]
	c.cell = c.cell[:0]
	for {
		q := bytes.IndexByte(b, '"')
		if q < 0 {
			return nil, nil, false
		}
		if q+1 == len(b) || b[q+1] != '"' {
			if len(c.cell) == 0 {
				return b[:q], b[q+1:], true
			}
			c.cell = append(c.cell, b[:q]...)
			return c.cell, b[q+1:], true
		}
		c.cell = append(c.cell, b[:q+1]...)
		b = b[q+2:]
	}
}

// appendCell appends a cell as JSON.
func appendCell(dst, cell []byte, quoted bool, kind cellType) []byte {
	if len(cell) == 0 && !quoted {
		return append(dst, "null"...)
	}
	if kind == cellAny || kind == cellBool {
		if b, ok := asBool(string(cell), kind == cellBool); ok {
			return strconv.AppendBool(dst, b)
		}
	}
	if kind == cellAny || kind == cellNumber {
		if isNumber(cell) {
			return append(dst, cell...)
		}
	}
	if kind == cellNumber {
		if out, ok := appendNumber(dst, strings.TrimSpace(string(cell))); ok {
			return out
		}
	}
	return appendText(dst, cell)
}

// asBool reads a truth value; where one is expected, in any case.
func asBool(s string, expected bool) (value, ok bool) {
	switch s {
	case "true", "True", "TRUE":
		return true, true
	case "false", "False", "FALSE":
		return false, true
	}
	if !expected {
		return false, false
	}
	s = strings.TrimSpace(s)
	return strings.EqualFold(s, "true"), strings.EqualFold(s, "true") || strings.EqualFold(s, "false")
}

// isNumber reports whether b is a JSON number that is finite.
func isNumber(b []byte) bool {
	i := 0
	digits := func() bool {
		from := i
		for i < len(b) && b[i] >= '0' && b[i] <= '9' {
			i++
		}
		return i > from
	}
	if i < len(b) && b[i] == '-' {
		i++
	}
	zero := i < len(b) && b[i] == '0'
	from := i
	if !digits() || zero && i > from+1 {
		return false
	}
	if i < len(b) && b[i] == '.' {
		i++
		if !digits() {
			return false
		}
	}
	exponent := i < len(b) && (b[i] == 'e' || b[i] == 'E')
	if exponent {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return false
		}
	}
	if i < len(b) {
		return false
	}
	if exponent || len(b) > 300 { // the largest float has 309 digits
		f, err := strconv.ParseFloat(string(b), 64)
		return err == nil && !math.IsInf(f, 0)
	}
	return true
}

// appendNumber appends a number that people write and JSON does not: +5, 007, .5, 5.
func appendNumber(dst []byte, s string) ([]byte, bool) {
	if strings.Trim(s, "0123456789+-.eE") != "" {
		return dst, false
	}
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return strconv.AppendInt(dst, i, 10), true
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return dst, false
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64), true
}

// appendText appends b as a JSON string. Bytes that are not UTF-8 stay as they are: the
// decoder refuses them.
func appendText(dst, b []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i, c := range b {
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, b[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(dst, b[from:]...), '"')
}
