package refused_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/refused"
)

var start = time.Date(2026, 11, 26, 10, 0, 0, 0, time.UTC)

// TestSample: of each reason the first is kept, and then one in a while; all are counted.
func TestSample(t *testing.T) {
	t.Parallel()
	var r refused.Ring
	kept := 0
	for k := range 1000 { // a millisecond apart
		if now := start.Add(time.Duration(k) * time.Millisecond); r.Takes(refused.Guard, 1, now) {
			kept++
			r.Put(refused.Entry{Reason: refused.Guard, At: now, Events: int64(k)})
		}
	}
	if !r.Takes(refused.Conflated, 1, start.Add(time.Second)) {
		t.Error("the first of another reason is not kept")
	}
	if kept != 10 || r.Counts() != [refused.Reasons]int64{refused.Guard: 1000, refused.Conflated: 1} {
		t.Errorf("%d kept of %v", kept, r.Counts())
	}
	if !r.Takes(refused.Guard, 1, start.Add(-time.Hour)) {
		t.Error("a clock that was set back ends the sample")
	}
}

// TestRing: the newest entries are kept, and no more than there may be.
func TestRing(t *testing.T) {
	t.Parallel()
	var r refused.Ring
	for k := range 3*refused.Most + 7 {
		r.Put(refused.Entry{Events: int64(k)})
	}
	want := int64(3*refused.Most + 6)
	n := 0
	r.Each(func(e *refused.Entry) bool {
		if e.Events != want {
			t.Fatalf("entry %d is number %d, want %d", n, e.Events, want)
		}
		n, want = n+1, want-1
		return true
	})
	if n != refused.Most {
		t.Errorf("%d are kept", n)
	}
}

// TestLog: what an accumulator notes goes with one handoff, is bounded, and none is told twice.
func TestLog(t *testing.T) {
	t.Parallel()
	var none *refused.Log
	if none.Takes(refused.Where, 1, start) || none.Batch() != nil {
		t.Error("a log that is none notes something")
	}
	l := new(refused.Log)
	if l.Batch() != nil {
		t.Error("nothing was noted")
	}
	note := func(minutes int) {
		for k := range minutes {
			if at := start.Add(time.Duration(k) * time.Minute); l.Takes(refused.Where, 1, at) {
				l.Put(refused.Entry{Reason: refused.Where, At: at})
			}
		}
	}
	note(100)
	first := l.Batch()
	note(3)
	all := first.Then(l.Batch())
	if all.Counts[refused.Where] != 103 || len(all.Entries) != 32 || l.Batch() != nil {
		t.Errorf("%d counted, %d kept", all.Counts[refused.Where], len(all.Entries))
	}
	if last := all.Entries[31].At; !last.Equal(start.Add(2 * time.Minute)) {
		t.Errorf("the newest is of %v", last)
	}
	var r refused.Ring
	r.Join(all, start.Add(time.Hour))
	r.Each(func(e *refused.Entry) bool {
		if !e.At.Equal(start.Add(time.Hour)) {
			t.Errorf("an entry is of %v", e.At)
		}
		return true
	})
	if r.Counts()[refused.Where] != 103 {
		t.Errorf("%v", r.Counts())
	}
}

// TestRead: a value is shown as it is up to 512 bytes of JSON, whatever it takes in memory; a larger one by its size.
func TestRead(t *testing.T) {
	t.Parallel()
	many := make([]boundary.Value, 200) // of 401 bytes of JSON, and of several KiB in memory
	for i := range many {
		many[i] = boundary.Int(7)
	}
	for _, tt := range []struct {
		v    boundary.Value
		want string
	}{
		{boundary.Int(7), "7"},
		{boundary.List(many), "[7" + strings.Repeat(",7", 199) + "]"},
		{boundary.String(strings.Repeat("x", 510)), `"` + strings.Repeat("x", 510) + `"`},
		{boundary.String(strings.Repeat("x", 511)), `{"omitted_bytes":513}`},
		{boundary.String(strings.Repeat("\n", 300)), `{"omitted_bytes":602}`},
	} {
		var e refused.Entry
		e.Read("v", tt.v)
		if got := string(e.Values["v"]); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
	var e refused.Entry
	if e.Read("v", boundary.String(strings.Repeat("x", 1<<20))); len(e.Values["v"]) > 40 {
		t.Errorf("%d bytes", len(e.Values["v"]))
	}
}

// TestEntryIsBounded: an entry shows so many names and so many bytes, and says of how many it does not; what a ring
// takes is bounded by that, and weighed.
func TestEntryIsBounded(t *testing.T) {
	t.Parallel()
	entry := func(names, size int) (e refused.Entry) {
		for i := range names {
			e.Read(fmt.Sprintf("input_%03d", i), boundary.String(strings.Repeat("x", size)))
		}
		return e
	}
	for _, tt := range []struct{ names, size, shown int }{{16, 10, 16}, {17, 10, 16}, {100, 500, 8}, {100, 1, 16}} {
		if e := entry(tt.names, tt.size); len(e.Values) != tt.shown || e.Omitted != tt.names-tt.shown {
			t.Errorf("of %d names with %d bytes %d are shown, and %d are not", tt.names, tt.size, len(e.Values),
				e.Omitted)
		}
	}
	var r refused.Ring
	if r.Weigh() != 0 {
		t.Errorf("an empty ring weighs %d bytes", r.Weigh())
	}
	for range 3 * refused.Most {
		r.Put(entry(100, 500))
	}
	full := r.Weigh()
	if full < refused.Most*3<<10 || full > refused.Most*6<<10 {
		t.Errorf("a full ring weighs %d bytes", full)
	}
	for range refused.Most {
		r.Put(refused.Entry{})
	}
	if left := r.Weigh(); left > full/10 {
		t.Errorf("a ring of small entries weighs %d bytes", left)
	}
}
