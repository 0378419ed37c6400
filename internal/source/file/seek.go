package file

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
)

var _ accumulator.Seeker = (*Source)(nil)

// Seek implements [accumulator.Seeker]. A position is "end", a number of bytes that ends
// with a line's end, or what an accumulator shows as its position.
func (s *Source) Seek(_ context.Context, position string) ([]boundary.Position, error) {
	f, err := openRegular(s.cfg.Access, s.cfg.Path)
	if err != nil {
		return nil, fmt.Errorf("the file cannot be looked at: %w", err)
	}
	defer f.Close() // read only
	st, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("the file cannot be looked at: %w", err)
	}
	print, err := fingerprintOf(f, fingerprintSize)
	if err != nil {
		return nil, err
	}
	text := position
	if stream, offset, ok := strings.Cut(position, "@"); ok {
		want, known := parseStream(stream)
		if !known {
			return nil, fmt.Errorf("%q is not a position of a file: say start, end, a number of bytes, or a "+
				"position as describe shows it", position)
		}
		if have, err := fingerprintOf(f, want.n); err != nil || have != want {
			return nil, errors.Join(fmt.Errorf("the position %s is in another file than the one that has the name now",
				position), err)
		}
		text = offset
	}
	offset := st.Size()
	if text != "end" {
		if offset, err = strconv.ParseInt(text, 10, 64); err != nil || offset < 0 {
			return nil, fmt.Errorf("%q is not a position of a file: say start, end, a number of bytes, or a "+
				"position as describe shows it", position)
		}
	}
	if offset > st.Size() {
		return nil, fmt.Errorf("the file has %d bytes; there is nothing at %d", st.Size(), offset)
	}
	if offset, err = lineStart(f, offset, text == "end"); err != nil {
		return nil, err
	}
	return []boundary.Position{{Stream: print.stream(), Offset: offset}}, nil
}

// lineStart is offset when a line begins there; for the end of the file, where its last,
// unfinished line begins.
func lineStart(f interface {
	ReadAt(p []byte, off int64) (int, error)
}, offset int64, back bool) (int64, error) {
	var last [1]byte
	for at := offset; at > 0; at-- {
		if _, err := f.ReadAt(last[:], at-1); err != nil {
			return 0, fmt.Errorf("look for the beginning of a line: %w", err)
		}
		switch {
		case last[0] == '\n':
			return at, nil
		case !back:
			return 0, fmt.Errorf("no line begins at %d: a position must be behind a line's end", offset)
		}
	}
	return 0, nil
}
