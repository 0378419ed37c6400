package refused_test

import (
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

// TestValue: a large value is told by its size.
func TestValue(t *testing.T) {
	t.Parallel()
	if got := string(refused.Value(boundary.Int(7))); got != "7" {
		t.Error(got)
	}
	large := boundary.String(string(make([]byte, 5000)))
	if got := refused.Value(large); len(got) > 40 {
		t.Errorf("%d bytes", len(got))
	}
}
