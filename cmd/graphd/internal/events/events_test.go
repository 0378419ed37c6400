package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// readEvents is all events of a stream.
func readEvents(in io.Reader) (events []string, err error) {
	r := New(in)
	for {
		event, err := r.Next()
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return events, nil
		}
		if err != nil {
			return events, err
		}
		events = append(events, string(event))
	}
}

func TestReader(t *testing.T) {
	t.Parallel()
	long := `"` + strings.Repeat("x", 200<<10) + `"` // longer than the reader's buffer
	for _, tc := range []struct {
		name, in string
		want     []string
		bad      bool
	}{
		{name: "nothing", in: ""},
		{name: "space", in: " \n\t\r\n"},
		{name: "lines", in: "{\"a\": 1}\n\n 2 \r\n\"x\"", want: []string{`{"a": 1}`, "2", `"x"`}},
		{name: "a bad line among lines", in: "1\n{oops\n2\n", want: []string{"1", "{oops", "2"}},
		{name: "long lines", in: long + "\n" + long, want: []string{long, long}},
		{name: "documents", in: "{\n \"a\": 1\n}\n{\"b\":2} 3", want: []string{`{"a":1}`, `{"b":2}`, "3"}},
		{name: "documents on one line", in: "1 2 [3, 4]", want: []string{"1", "2", "[3,4]"}},
		{name: "a bad document", in: "{\n1", bad: true},
		{name: "an array", in: "[1, {\"a\": [2]}\n, \"]\"]\n", want: []string{"1", `{"a":[2]}`, `"]"`}},
		{name: "an empty array", in: "[]"},
		{name: "an open array", in: "[1,", want: []string{"1"}, bad: true},
		{name: "an array without commas", in: "[1 2]", want: []string{"1"}, bad: true},
		{name: "something behind an array", in: "[1]\n[2]", want: []string{"1"}, bad: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := readEvents(strings.NewReader(tc.in))
			if d := cmp.Diff(tc.want, got); d != "" || (err != nil) != tc.bad {
				t.Errorf("error %v (-want +got):\n%s", err, d)
			}
		})
	}
	for in, says := range map[string]string{"\x1f\x8b\x08\x00": "this is gzip", "\x28\xb5\x2f\xfd\x04": "this is zstd",
		"a,b\n1,2\n": "CSV is read by graphd run", "1 x": "a document a line"} {
		if _, err := readEvents(strings.NewReader(in)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %s", in, err, says)
		}
	}
	endless := io.MultiReader(strings.NewReader("1\n"), io.LimitReader(neverEnds{}, 4*maxLine))
	if _, err := readEvents(endless); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("an endless line: got %v", err)
	}
}

// neverEnds is a line without an end.
type neverEnds struct{}

func (neverEnds) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

// FuzzReader: what was written as events, in either form, is read as the same events.
func FuzzReader(f *testing.F) {
	f.Add([]byte("1\n2"))
	f.Add([]byte("[1,2]"))
	f.Add([]byte("{\"a\":\n1}"))
	f.Fuzz(func(t *testing.T, in []byte) {
		events, err := readEvents(bytes.NewReader(in))
		if err != nil || len(events) == 0 {
			return
		}
		for _, e := range events {
			if strings.TrimSpace(e) == "" || strings.Contains(e, "\n") {
				t.Fatalf("%q gave the event %q", in, e)
			}
		}
		if !json.Valid([]byte(events[0])) || events[0][0] == '[' {
			return // read back, this would be documents or an array
		}
		again, err := readEvents(strings.NewReader(strings.Join(events, "\n")))
		if err != nil || cmp.Diff(events, again) != "" {
			t.Fatalf("%q gave %q, and those %q, %v", in, events, again, err)
		}
	})
}
