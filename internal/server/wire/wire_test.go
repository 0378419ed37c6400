package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphd/graphd/internal/api"
)

func TestAppendString(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "plain", `q"b\s`, "\n\t\r\x00\x1f", "é€😀\u2028", "<&>", "a\xffb\xc3", "\xff"} {
		want, err := Encode(s)
		if err != nil {
			t.Fatal(err)
		}
		var a, b string
		if err := json.Unmarshal(want, &a); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(AppendString(nil, s), &b); err != nil || a != b {
			t.Errorf("%q: got %s, encoding/json %s (%v)", s, AppendString(nil, s), want, err)
		}
	}
}

func TestKey(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "null": "", "AAPL": `"AAPL"`, `"AAPL"`: `"AAPL"`, "3": "3",
		"true": "true", `[ "A", 3 ]`: `["A",3]`,
		`a"b`: `"a\"b"`, "[1": `"[1"`} {
		if got := Key(text); got != want {
			t.Errorf("Key(%q) is %s, want %s", text, got, want)
		}
	}
}

func TestDecodeObject(t *testing.T) {
	t.Parallel()
	var q api.StepRequest
	if err := DecodeObject([]byte(` {"n": 2} `), 64, &q); err != nil || *q.N != 2 {
		t.Errorf("%v %v", q.N, err)
	}
	for raw, code := range map[string]string{`{"n":1,"n":2}`: api.CodeDuplicateKey, `{"m":1}`: api.CodeInvalidBody,
		`[1]`: api.CodeInvalidBody, ``: api.CodeInvalidJSON, `{"n":1}{}`: api.CodeInvalidJSON,
		`{"n":"1"}`: api.CodeInvalidBody, `{"n":` + strings.Repeat("[", 100): api.CodeTooDeep,
		"{\"n\":\"\xff\"}": api.CodeInvalidUTF8} {
		var q api.StepRequest
		err := DecodeObject([]byte(raw), 64, &q)
		e, ok := errors.AsType[*api.Error](err)
		if !ok || e.Code != code || e.Status != 400 {
			t.Errorf("%s: got %v, want %s", raw, err, code)
		}
	}
}

// TestEventsAreCopies: an event that is kept does not hold on to the body it came in.
func TestEventsAreCopies(t *testing.T) {
	t.Parallel()
	for _, lines := range []bool{false, true} {
		body := []byte("[11,22]")
		if lines {
			body = []byte("11\n22")
		}
		ev, _ := Cut(body, lines, 64)
		batch := ev.Next()
		clear(body)
		if len(batch) != 2 || string(batch[0]) != "11" || string(batch[1]) != "22" {
			t.Errorf("lines %v: %q after the body was overwritten", lines, batch)
		}
	}
}

// takes is a Pusher that takes so many events, rejecting those that are "bad".
type takes struct{ left, rest int }

func (p *takes) Push(_ context.Context, _ api.Ref, _ string, events []json.RawMessage) (r api.PushResult, err error) {
	r.Durable = true
	for i, e := range events {
		if p.left == 0 {
			r.Full = true
			return r, nil
		}
		p.left--
		if string(e) == `"bad"` {
			r.Rejected = append(r.Rejected, api.Rejection{Index: i, Code: "x"})
			continue
		}
		r.Accepted++
	}
	return r, nil
}

func (p *takes) RejectBody(_ context.Context, _ api.Ref, _, _ string, n int) error {
	p.rest += n
	return nil
}

// TestPushed: a push goes on where the attempt before stopped, and counts as one.
func TestPushed(t *testing.T) {
	t.Parallel()
	var items []string
	for i := range 3500 {
		if i%700 == 699 {
			items = append(items, `"bad"`)
		} else {
			items = append(items, fmt.Sprint(i))
		}
	}
	body := "[" + strings.Join(items, ",") + "]"
	var p Pushed
	for _, room := range []int{0, 1, 699, 1, 1300, 5000} {
		ev, bad := Cut([]byte(body), false, 64)
		if bad.Is() {
			t.Fatal(bad)
		}
		to := &takes{left: room}
		if err := p.Push(t.Context(), to, api.Ref{}, "a", &ev); err != nil {
			t.Fatal(err)
		}
		if want := max(0, 3500-MaxBatch*(p.Done/MaxBatch+1)); p.Full && to.rest != want { // M42
			t.Errorf("of what comes behind the batch with event %d %d are counted, want %d", p.Done, to.rest, want)
		}
		if p.Done != p.Accepted+len(p.Rejected) {
			t.Errorf("%d done, %d accepted, %d rejected", p.Done, p.Accepted, len(p.Rejected))
		}
		if done := p.Done == 3500; p.Full == done {
			t.Errorf("%d done, full %v", p.Done, p.Full)
		}
	}
	var at []int
	for _, r := range p.Rejected {
		at = append(at, r.Index)
	}
	if d := cmp.Diff([]int{699, 1399, 2099, 2799, 3499}, at); d != "" || p.Accepted != 3495 || !p.Durable {
		t.Errorf("accepted %d, durable %v, rejected %s", p.Accepted, p.Durable, d)
	}
}
