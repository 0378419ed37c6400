package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/sink"
)

// form is what lines look like.
type form struct {
	columns []string // of a value; nil for lines of JSON
	header  []byte   // the first line of a file, if there is one
}

// lineColumns are the columns of a row behind those of the value: what a line of JSON has too.
func lineColumns() []string {
	return []string{"at", "degraded", "epoch", "firing_id", "incarnation", "key", "output"}
}

func newForm(csv bool, columns []string) form {
	if !csv {
		return form{}
	}
	f := form{columns: columns}
	for _, name := range columns {
		f.header = append(appendCell(f.header, boundary.String(name)), ',')
	}
	for i, name := range lineColumns() {
		if i > 0 {
			f.header = append(f.header, ',')
		}
		f.header = append(f.header, name...)
	}
	f.header = append(f.header, '\n')
	return f
}

// fits says why a message makes no row; nil when it does, and for lines of JSON, which every one makes.
func (f *form) fits(m *sink.Message) error {
	if f.header == nil || len(f.columns) == 1 || m.Value.Kind() == boundary.KindObject {
		return nil
	}
	return refuse("bad_row", fmt.Errorf("a row has %d columns, and the value is a %s: emit an object with their fields",
		len(f.columns), m.Value.Kind()))
}

// append appends one message as a line.
func (f *form) append(dst []byte, m *sink.Message) []byte {
	if f.header == nil {
		return appendLine(dst, m)
	}
	for _, name := range f.columns {
		v := m.Value
		if v.Kind() == boundary.KindObject {
			v = v.Field(name)
		}
		dst = append(appendCell(dst, v), ',')
	}
	dst = append(appendCell(dst, boundary.Time(m.At)), ',')
	dst = append(dst, strings.Join(m.Degraded, " ")...)
	dst = append(strconv.AppendInt(append(dst, ','), m.Epoch, 10), ',')
	dst = append(append(dst, m.FiringID()...), ',')
	dst = append(strconv.AppendInt(dst, m.Incarnation, 10), ',')
	dst = appendQuoted(dst, string(m.Key))
	return append(append(append(dst, ','), m.Output...), '\n')
}

// appendCell appends a value as a cell: an absent one and null are empty, a text is itself, anything
// else its JSON. A text that goes over a line's end is its JSON too, so that a row is a line.
func appendCell(dst []byte, v boundary.Value) []byte {
	if v.IsAbsent() || v.IsNull() {
		return dst
	}
	text, ok := v.AsString()
	switch {
	case ok && text == "":
		return append(dst, `""`...)
	case ok && !strings.ContainsAny(text, "\r\n"):
		return appendQuoted(dst, text)
	case v.Kind() == boundary.KindTime:
		at := len(dst)
		dst = v.AppendJSON(dst)
		return append(dst[:at], bytes.Trim(dst[at:], `"`)...)
	}
	return appendQuoted(dst, string(v.AppendJSON(nil)))
}

// appendQuoted appends the text of a cell, in quotes if it needs them.
func appendQuoted(dst []byte, text string) []byte {
	if !strings.ContainsAny(text, `",`) {
		return append(dst, text...)
	}
	dst = append(dst, '"')
	dst = append(dst, strings.ReplaceAll(text, `"`, `""`)...)
	return append(dst, '"')
}

// before is what has to go into a file that is not empty before lines are appended: what ends a
// line that was torn.
func (f *form) before(file io.ReaderAt, size int64) ([]byte, error) {
	if f.header != nil {
		begin := make([]byte, min(size, int64(len(f.header))))
		if _, err := file.ReadAt(begin, 0); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if !bytes.HasPrefix(f.header, begin) {
			return nil, fmt.Errorf("its first line is not %q, the columns of this output; name another file, "+
				"or move this one away", f.header[:len(f.header)-1])
		}
		if len(begin) < len(f.header) {
			return f.header[len(begin):], nil
		}
	}
	torn, quotes, err := lastLine(file, size)
	switch {
	case err != nil || !torn:
		return nil, err
	case f.header != nil && quotes%2 == 1:
		return []byte("\"\n"), nil // inside a cell
	}
	return []byte{'\n'}, nil
}

// lastLine reports whether the last line lacks its end, and how many quotes it has then.
func lastLine(file io.ReaderAt, size int64) (torn bool, quotes int, err error) {
	buf := make([]byte, 4<<10)
	for end := size; end > 0; end -= int64(len(buf)) {
		buf = buf[:min(end, int64(len(buf)))]
		if _, err := file.ReadAt(buf, end-int64(len(buf))); err != nil && !errors.Is(err, io.EOF) {
			return false, 0, err
		}
		if end == size && buf[len(buf)-1] == '\n' {
			return false, 0, nil
		}
		line := bytes.LastIndexByte(buf, '\n')
		quotes += bytes.Count(buf[line+1:], []byte{'"'})
		if line >= 0 {
			break
		}
	}
	return true, quotes, nil
}
