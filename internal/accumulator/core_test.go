package accumulator

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphd/graphd/internal/accumulator/batch"
	"github.com/graphd/graphd/internal/accumulator/folding"
	"github.com/graphd/graphd/internal/accumulator/state"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/spec"
)

// M3: a passthrough hands over every event as it is.
func TestM3Passthrough(t *testing.T) {
	t.Parallel()
	c := newCore(t, spec.Accumulator{})
	if c.Drain(&Handoff{}) {
		t.Error("Drain of an empty Core is true")
	}
	c.Add(at(0), pulled(1, `{"a":1}`), true)
	c.Add(at(time.Second), &boundary.Event{Raw: []byte(`[2]`), At: at(time.Millisecond)}, false)
	h := take(t, c)
	replayed := pulled(2, `{`)
	replayed.Origin = "letter"
	if o := c.Add(at(0), replayed, true); o.Status != DeadLettered || take(t, c).DeadLetters[0].ReplayOf != "letter" {
		t.Errorf("got %+v, want a letter that names the one it was replayed from", o)
	}
	replayed = pushed(`1`)
	replayed.Origin = "letter"
	if c.Add(at(0), replayed, false); take(t, c).Boundaries[0].Origin != "letter" {
		t.Error("a boundary does not name the letter it was replayed from")
	}
	if got, want := fmt.Sprint(values(h)), `[{"a":1} [2]]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	b := h.Boundaries[0]
	want := boundary.Position{Stream: "s", Offset: 1}
	if b.First != want || b.Last != want || b.Events != 1 || string(b.Raw) != `{"a":1}` || !b.At.Equal(at(0)) {
		t.Errorf("got %+v", b)
	}
	if b := h.Boundaries[1]; !b.Last.IsZero() || !b.At.Equal(at(time.Millisecond)) {
		t.Errorf("pushed: got %+v", b)
	}
	if m := h.Mark; !m.LastEventAt.Equal(at(time.Millisecond)) || m.State != nil ||
		m.Counters != (Counters{Received: 2}) || len(m.Positions) != 1 || m.Positions[0] != want {
		t.Errorf("got mark %+v", m)
	}
	if c.Drain(&Handoff{}) {
		t.Error("a second Drain is true although nothing happened")
	}
}

// M3: a batch is handed over when it is full, or so long after its first event.
func TestM3Batch(t *testing.T) {
	t.Parallel()
	c := newCore(t, spec.Accumulator{Kind: "batch", Config: batch.Declared{Size: 3, Interval: time.Second}})
	for i := range 4 {
		c.Add(at(time.Duration(i)*100*time.Millisecond), pulled(int64(i+1), fmt.Sprint(i)), true)
	}
	h := take(t, c)
	if got, want := fmt.Sprint(values(h)), `[[0,1,2]]`; got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	b := h.Boundaries[0]
	if b.First.Offset != 1 || b.Last.Offset != 3 || b.Events != 3 || !b.At.Equal(at(200*time.Millisecond)) ||
		b.Raw != nil {
		t.Errorf("got %+v", b)
	}
	if h.Mark.Counters != (Counters{Received: 4, Open: 1}) {
		t.Errorf("got %+v", h.Mark.Counters)
	}
	due, ok := c.Due()
	if !ok || !due.Equal(at(1300*time.Millisecond)) {
		t.Fatalf("due %v %v, want a second after the first event of the batch", due, ok)
	}
	c.Tick(due.Add(-1))
	if c.Drain(&Handoff{}) {
		t.Error("a batch was handed over before it was due")
	}
	c.Tick(due)
	if h := take(t, c); fmt.Sprint(values(h)) != `[[3]]` || h.Mark.Counters != (Counters{Received: 4}) {
		t.Errorf("got %s, %+v", values(h), h.Mark.Counters)
	}
	if _, ok := c.Due(); ok {
		t.Error("an empty batch is due")
	}
	c.Tick(at(time.Hour))
	if c.Drain(&Handoff{}) {
		t.Error("an empty batch was handed over")
	}
}

// M3: a batch without a size is bounded by the accumulator's capacity in bytes.
func TestM3BatchIsBounded(t *testing.T) {
	t.Parallel()
	c := newCore(t, spec.Accumulator{Kind: "batch", Config: batch.Declared{Interval: time.Hour}, CapacityBytes: 2000})
	text := `"` + strings.Repeat("x", 400) + `"`
	for range 20 {
		c.Add(at(0), pushed(text), false)
	}
	h := take(t, c)
	if n := len(h.Boundaries); n < 2 {
		t.Errorf("got %d boundaries of 20 × 400 bytes with 2000 allowed", n)
	}
	for _, b := range h.Boundaries {
		if b.Size > 2500 {
			t.Errorf("a batch grew to %d bytes", b.Size)
		}
	}
	if got := events(h) + h.Mark.Counters.Open; got != 20 {
		t.Errorf("got %d events, want 20", got)
	}
}

// M3, M42: what a fold forgets with a key, without having handed it over, is filtered: it is not open for ever, and
// takes the place of no other key.
func TestM42ForgottenIsFiltered(t *testing.T) {
	t.Parallel()
	c := newCore(t, spec.Accumulator{Kind: "fold", Config: folding.Declared{
		Key: []spec.Expr{expr("event.user")}, MaxKeys: 1, MaxBytes: 1 << 20,
		Step:     folding.Form{Expr: expr("event.ok ? nil : {wrong: (state?.wrong ?? 0) + 1}")},
		EmitWhen: expr("state?.wrong == 3"),
	}})
	for i, raw := range []string{
		`{"user":"ann","ok":false}`, `{"user":"ann","ok":true}`,
		`{"user":"bob","ok":true}`, `{"user":"ann","ok":false}`,
	} {
		c.Add(at(0), pulled(int64(i), raw), true)
	}
	h := take(t, c)
	if want := (Counters{Received: 4, Filtered: 3, Open: 1}); h.Mark.Counters != want || len(h.DeadLetters) != 0 {
		t.Errorf("got %+v and %d dead letters, want %+v and none", h.Mark.Counters, len(h.DeadLetters), want)
	}
}

// M3: a state hands over its newest events, oldest first, with each; only the new one counts.
func TestM3State(t *testing.T) {
	t.Parallel()
	const keep = 3
	c := newCore(t, spec.Accumulator{Kind: "state", Config: state.Declared{Keep: keep}})
	var all []*Handoff
	for i := range 50 {
		c.Add(at(0), pulled(int64(i+1), fmt.Sprint(i)), true)
		all = append(all, take(t, c))
	}
	for i, h := range all { // looked at last: a later event must not change an earlier boundary
		var want []int
		for k := max(0, i-keep+1); k <= i; k++ {
			want = append(want, k)
		}
		text := strings.ReplaceAll(fmt.Sprint(want), " ", ",")
		if got := h.Boundaries[0].Value.String(); got != text {
			t.Errorf("after event %d: got %s, want %s", i, got, text)
		}
		if b := h.Boundaries[0]; b.Events != 1 || b.First != b.Last || b.Last.Offset != int64(i+1) || b.Raw != nil {
			t.Errorf("after event %d: got %+v", i, b)
		}
		if want := min(i+1, keep) * all[0].Boundaries[0].Size; h.Boundaries[0].Size != want {
			t.Errorf("after event %d: size %d, want %d", i, h.Boundaries[0].Size, want)
		}
		if h.Mark.Counters.Open != 0 {
			t.Errorf("after event %d: %d open", i, h.Mark.Counters.Open)
		}
	}
}

// M5, M42: what becomes of an event that cannot be used, by whether its sender waits.
func TestM5Refusals(t *testing.T) {
	t.Parallel()
	schema := mustJSON(t, `{"type":"object","required":["bid"],"properties":{"bid":{"type":"number","minimum":0}}}`)
	a := spec.Accumulator{
		Schema: schema, Where: expr("100 / event.bid > 1"),
		Emit: []spec.Field{field("first", "event.list[0]"), field("bid", "event.bid")},
	}
	for _, c := range []struct{ raw, stage, code string }{
		{`{"bid":`, "decode", "invalid_json"},
		{``, "decode", "invalid_json"},
		{"{\"bid\":\"\xff\"}", "decode", "invalid_utf8"},
		{`{"bid":1,"bid":2}`, "decode", "duplicate_key"},
		{`{"bid":1,"list":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`, "decode", "too_deep"},
		{`{"bid":"` + strings.Repeat("x", 1000) + `"}`, "size", "too_large"},
		{`{"ask":1}`, "schema", "against_schema"},
		{`{"bid":"1"}`, "schema", "against_schema"},
		{`{"bid":-1}`, "schema", "against_schema"},
		{`{"bid":0}`, "where", "not_finite"},
		{`{"bid":1,"list":[]}`, "emit", "index_out_of_range"},
	} {
		t.Run(c.stage+"/"+c.code, func(t *testing.T) {
			t.Parallel()
			core := newCore(t, a)
			got := core.Add(at(0), pushed(c.raw), false)
			if got.Status != Rejected || got.Stage != c.stage || got.Code != c.code || got.Detail == "" {
				t.Fatalf("pushed %.40s: got %+v, want %s at %s", c.raw, got, c.code, c.stage)
			}
			if strings.ContainsAny(got.Detail, "\n\r") {
				t.Errorf("the detail is more than a line: %q", got.Detail)
			}
			got = core.Add(at(1), pulled(7, c.raw), true)
			if got.Status != DeadLettered || got.Code != c.code {
				t.Fatalf("pulled: got %+v", got)
			}
			h := take(t, core)
			if len(h.Boundaries) != 0 || len(h.DeadLetters) != 1 {
				t.Fatalf("got %d boundaries and %d dead letters", len(h.Boundaries), len(h.DeadLetters))
			}
			l := h.DeadLetters[0]
			if string(l.Payload) != c.raw || l.Stage != c.stage || l.Code != c.code || l.Position != "s@7" ||
				l.Folded || l.ID != "" {
				t.Errorf("got %+v", l)
			}
			if h.Mark.Counters != (Counters{Received: 2, Rejected: 1, DeadLettered: 1}) ||
				h.Mark.Positions[0].Offset != 7 {
				t.Errorf("got %+v", h.Mark)
			}
		})
	}
}

// M42: filtered events are counted and move the position; where must be a truth value.
func TestM42Filter(t *testing.T) {
	t.Parallel()
	c := newCore(t, spec.Accumulator{Where: expr("event.bid > vars.least")})
	for i := range 20 {
		o := c.Add(at(0), pulled(int64(i+1), fmt.Sprintf(`{"bid":%d}`, i)), true)
		if want := i > 10; (o.Status == Accepted) != want || (o.Status == Filtered) == want {
			t.Errorf("bid %d: got %v", i, o.Status)
		}
	}
	h := take(t, c)
	if h.Mark.Counters != (Counters{Received: 20, Filtered: 11}) || len(h.Boundaries) != 9 ||
		h.Mark.Positions[0].Offset != 20 {
		t.Errorf("got %+v with %d boundaries", h.Mark, len(h.Boundaries))
	}
	c = newCore(t, spec.Accumulator{Where: expr("event.ok")})
	if o := c.Add(at(0), pushed(`{"ok":1}`), false); o.Status != Rejected || o.Code != "type_error" ||
		o.Stage != "where" {
		t.Errorf("a number as verdict: got %+v", o)
	}
}

// Positions: one per stream, and a new generation takes the old one's place.
func TestPositions(t *testing.T) {
	t.Parallel()
	c := newCore(t, spec.Accumulator{})
	add := func(stream string, offset int64) {
		c.Add(at(0), &boundary.Event{Raw: []byte("1"), Pos: boundary.Position{Stream: stream, Offset: offset}}, true)
	}
	add("t/0", 1)
	add("t/1", 5)
	before := take(t, c).Mark.Positions
	add("t/0", 2)
	add("file#0-aa", 7)
	add("file#10-bb", 3)
	add("file#10-bb", 4) // of the stream that moved last
	c.Advance(at(0), boundary.Position{Stream: "t/1", Offset: 9})
	want := []boundary.Position{
		{Stream: "t/0", Offset: 2}, {Stream: "t/1", Offset: 9}, {Stream: "file#10-bb", Offset: 4},
	}
	if diff := cmp.Diff(want, take(t, c).Mark.Positions); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]boundary.Position{{Stream: "t/0", Offset: 1}, {Stream: "t/1", Offset: 5}},
		before); diff != "" {
		t.Errorf("a mark changed after it was handed over: %s", diff)
	}
}

// M42: refused tails, poison and unreadable events are in the books.
func TestM42OtherRefusals(t *testing.T) {
	t.Parallel()
	c := newCore(t, spec.Accumulator{})
	c.RefuseTail(0)
	if c.Drain(&Handoff{}) {
		t.Error("refusing nothing is a change")
	}
	c.RefuseTail(5)
	c.AddBad(at(0), pulled(1, "a,b"), true, &BadEvent{Stage: "decode", Code: "csv_fields", Text: "ragged"})
	if o := c.Poison(at(0), pulled(2, "{}"), true, "boom\nboom"); o.Status != DeadLettered || o.Code != "panic" ||
		o.Stage != "fold" {
		t.Errorf("got %+v", o)
	}
	if o := c.Poison(at(0), pushed("{}"), false, "boom"); o.Status != Rejected || o.Code != "panic" {
		t.Errorf("got %+v", o)
	}
	h := take(t, c)
	if h.Mark.Counters != (Counters{Received: 8, Rejected: 6, DeadLettered: 2}) {
		t.Errorf("got %+v", h.Mark.Counters)
	}
	if l := h.DeadLetters[0]; string(l.Payload) != "a,b" || l.Code != "csv_fields" || l.Position != "s@1" {
		t.Errorf("got %+v", l)
	}
}
