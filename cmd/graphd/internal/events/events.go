// Package events cuts what a person pushes into events: lines, documents one after the other,
// or one array of them.
package events

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxLine bounds one event, as the daemon does.
const maxLine = 8 << 20

// How what is packed begins.
const (
	gzip = "\x1f\x8b"
	zstd = "\x28\xb5\x2f\xfd"
)

// Reader cuts a stream into events of a line each. A stream whose first line is a
// JSON document is taken line by line, as it is: the daemon judges each line, and a bad
// one does not stop the others. Any other stream must be JSON documents one after the
// other, or one array of them.
type Reader struct {
	in    *bufio.Reader
	first []byte        // the first line, already read in line mode
	dec   *json.Decoder // nil in line mode
	begun bool
	array bool
	count int
}

// New makes a reader of a stream.
func New(in io.Reader) *Reader {
	return &Reader{in: bufio.NewReaderSize(in, 64<<10)}
}

// Next is the next event, or io.EOF behind the last. The event is the caller's.
func (r *Reader) Next() (event []byte, err error) {
	if !r.begun {
		if err := r.begin(); err != nil {
			return nil, err
		}
	}
	switch {
	case r.dec != nil:
		event, err = r.document()
	case r.first != nil:
		event, r.first = r.first, nil
	default:
		event, err = r.line()
	}
	if err == nil {
		r.count++
	}
	return event, err
}

// begin looks at the first line to see what the stream is.
func (r *Reader) begin() error {
	r.begun = true
	line, err := r.line()
	if err != nil {
		return err
	}
	for magic, form := range map[string]string{gzip: "gzip", zstd: "zstd"} {
		if bytes.HasPrefix(line, []byte(magic)) {
			return fmt.Errorf("this is %s, and what is pushed is JSON: pipe it in unpacked, or read it with graphd run",
				form)
		}
	}
	if line[0] != '[' && json.Valid(line) {
		r.first = line
		return nil
	}
	r.dec = json.NewDecoder(io.MultiReader(bytes.NewReader(line), r.in))
	if line[0] == '[' {
		r.array = true
		_, err = r.dec.Token()
	}
	return err
}

// line is the next line that is not empty, without the space around it.
func (r *Reader) line() ([]byte, error) {
	for {
		var line []byte
		for {
			part, err := r.in.ReadSlice('\n')
			line = append(line, part...)
			if len(line) > maxLine {
				return nil, fmt.Errorf("a line is longer than %d bytes", maxLine)
			}
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
				return nil, err
			}
			break
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

// document is the next document of a stream, or element of an array.
func (r *Reader) document() ([]byte, error) {
	if r.array && !r.dec.More() {
		if _, err := r.dec.Token(); err != nil { // the closing bracket
			return nil, unexpectedEnd(err)
		}
		if _, err := r.dec.Token(); !errors.Is(err, io.EOF) {
			return nil, errors.New("there is more behind the array")
		}
		return nil, io.EOF
	}
	var raw json.RawMessage
	if err := r.dec.Decode(&raw); err != nil {
		if r.array {
			err = unexpectedEnd(err)
		}
		if errors.As(err, new(*json.SyntaxError)) {
			err = fmt.Errorf("%w; what is pushed is JSON: a document a line, one after the other, or one array of "+
				"them (CSV is read by graphd run and the source file)", err)
		}
		return nil, err
	}
	var line bytes.Buffer
	if err := json.Compact(&line, raw); err != nil {
		return nil, err
	}
	return line.Bytes(), nil
}

func unexpectedEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Count is how many events were handed out.
func (r *Reader) Count() int { return r.count }
