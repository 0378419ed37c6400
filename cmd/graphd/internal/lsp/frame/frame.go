// Package frame cuts the stream between an editor and its language server into messages: a head such as
// "Content-Length: 17", an empty line, and so many bytes of JSON.
//
// Start with [NewReader] and [Write]. Everything is bounded: a head that is none ends the stream, since nobody knows
// where the next message begins; a message that is too long is passed over, and the next one is read.
package frame

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	// MaxBytes bounds one message: a document of the most bytes that a declaration may have, with every one of its
	// characters escaped.
	MaxBytes = 8 << 20
	// maxSkipped bounds what is passed over of a message that is longer.
	maxSkipped = 256 << 20
	maxLine    = 1024 // bytes of a line of the head
	maxLines   = 16   // lines of a head
)

// ErrTooLong is a message longer than [MaxBytes]. It was passed over.
var ErrTooLong = errors.New("the message is too long")

// HeadError is a head that tells no length. What follows it cannot be read.
type HeadError struct{ Text string }

func (e *HeadError) Error() string { return e.Text }

// Reader reads messages. It is used by one goroutine at a time.
type Reader struct{ in *bufio.Reader }

// NewReader reads the messages of a stream.
func NewReader(in io.Reader) *Reader { return &Reader{bufio.NewReaderSize(in, 4096)} }

// Next is the content of the next message, which is the caller's. The error is [io.EOF] between two messages,
// [io.ErrUnexpectedEOF] within one, a *[HeadError], or wraps [ErrTooLong], after which Next goes on.
func (r *Reader) Next() ([]byte, error) {
	length, err := r.head()
	if err != nil {
		return nil, err
	}
	if length > MaxBytes {
		if length > maxSkipped {
			return nil, &HeadError{fmt.Sprintf("a message of %d bytes is announced, and %d are the most; is that a "+
				"language client?", length, int64(MaxBytes))}
		}
		if _, err := io.CopyN(io.Discard, r.in, length); err != nil {
			return nil, within(err)
		}
		return nil, fmt.Errorf("%w: %d bytes, and %d are the most", ErrTooLong, length, int64(MaxBytes))
	}
	content := make([]byte, 0, min(length, 64<<10)) // what is announced may never come
	for int64(len(content)) < length {
		begun := len(content)
		content = append(content, make([]byte, min(length-int64(begun), 64<<10))...)
		if _, err := io.ReadFull(r.in, content[begun:]); err != nil {
			return nil, within(err)
		}
	}
	return content, nil
}

// within is the end of a stream within a message.
func within(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// head reads the lines before a message, and answers with the length that they tell.
func (r *Reader) head() (length int64, err error) {
	length = -1
	for n := 0; ; n++ {
		line, err := r.line()
		switch {
		case errors.Is(err, io.EOF) && (n > 0 || line != ""):
			return 0, io.ErrUnexpectedEOF
		case err != nil:
			return 0, err
		case n == maxLines:
			return 0, &HeadError{fmt.Sprintf("the head of a message has more than %d lines", maxLines)}
		case line == "" && length >= 0:
			return length, nil
		case line == "":
			return 0, &HeadError{"the head of a message has no Content-Length"}
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return 0, &HeadError{fmt.Sprintf("%q is no line of a head such as Content-Length: 17; graphd lsp is to be "+
				"started by an editor", shortened(line))}
		}
		if !strings.EqualFold(strings.TrimSpace(name), "Content-Length") {
			continue
		}
		number := strings.TrimSpace(value)
		if length, err = strconv.ParseInt(number, 10, 64); err != nil || length < 0 || number[0] == '+' {
			return 0, &HeadError{fmt.Sprintf("Content-Length is %q, which is no number of bytes", shortened(number))}
		}
	}
}

// line is the next line without its end.
func (r *Reader) line() (string, error) {
	var b strings.Builder
	for {
		c, err := r.in.ReadByte()
		switch {
		case err != nil:
			return b.String(), err
		case c == '\n':
			return strings.TrimSuffix(b.String(), "\r"), nil
		case b.Len() == maxLine:
			return "", &HeadError{fmt.Sprintf("a line of the head of a message has more than %d bytes", maxLine)}
		}
		b.WriteByte(c)
	}
}

func shortened(s string) string { return s[:min(len(s), 60)] }

// Write writes one message.
func Write(out io.Writer, content []byte) error {
	whole := append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(content)), content...)
	if _, err := out.Write(whole); err != nil {
		return fmt.Errorf("write to the editor: %w", err)
	}
	return nil
}
