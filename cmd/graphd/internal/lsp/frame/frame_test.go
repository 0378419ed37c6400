package frame

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestNext(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", MaxBytes+1)
	r := NewReader(strings.NewReader("Content-Length: 2\r\nContent-Type: x\r\n\r\n{}content-length: 3\n\n123" +
		fmt.Sprintf("Content-Length: %d\r\n\r\n", len(long)) + long + "Content-Length: 1\r\n\r\n7"))
	for _, want := range []string{"{}", "123", "", "7"} {
		got, err := r.Next()
		if string(got) != want || (want == "") != errors.Is(err, ErrTooLong) {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

// What is no message ends the stream, and in bounded memory.
func TestNoMessage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Content-Length: 5\r\n\r\n{":                    io.ErrUnexpectedEOF.Error(),
		"Content-Length: 1000000\r\n\r\n{":              io.ErrUnexpectedEOF.Error(),
		"Content-Len":                                   io.ErrUnexpectedEOF.Error(),
		"Content-Length: 5\r\n":                         io.ErrUnexpectedEOF.Error(),
		"Content-Length: 10000000\r\n\r\n{":             io.ErrUnexpectedEOF.Error(),
		"Content-Length: 999999999999999\r\n\r\n":       "are the most",
		"Content-Length: 99999999999999999999\r\n\r\n":  "no number",
		"Content-Length: -1\r\n\r\n":                    "no number",
		"Content-Length: +1\r\n\r\nx":                   "no number",
		"Content-Length:\r\n\r\n":                       "no number",
		"Content-Type: x\r\n\r\n":                       "no Content-Length",
		"graph: x\nhello\n":                             "is no line",
		"\r\n":                                          "no Content-Length",
		strings.Repeat("x", 2000):                       "more than 1024 bytes",
		strings.Repeat("a: b\r\n", 100) + "\r\n":        "more than 16 lines",
		strings.Repeat("\x00", 10) + ":\n" + "\xff\xfe": io.ErrUnexpectedEOF.Error(),
	} {
		if got, err := NewReader(strings.NewReader(text)).Next(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %q, %v; want %s", text, got, err, want)
		}
	}
}

// FuzzNext: whatever comes, reading ends, and what is read was written.
func FuzzNext(f *testing.F) {
	f.Add([]byte("Content-Length: 2\r\n\r\n{}"))
	f.Add([]byte("Content-Length: 999999999\r\n\r\n{}"))
	f.Add([]byte("a: b\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := NewReader(bytes.NewReader(data))
		for n := 0; ; n++ {
			content, err := r.Next()
			if err != nil && !errors.Is(err, ErrTooLong) {
				break
			}
			if err == nil && (len(content) > MaxBytes || !bytes.Contains(data, content)) {
				t.Fatalf("%q was never written", content)
			}
			if n > len(data) {
				t.Fatal("more messages than bytes")
			}
		}
		var b bytes.Buffer
		if err := Write(&b, data); err != nil {
			t.Fatal(err)
		}
		if back, err := NewReader(&b).Next(); err != nil || !bytes.Equal(back, data) {
			t.Fatalf("%q came back as %q, %v", data, back, err)
		}
	})
}
