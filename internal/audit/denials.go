package audit

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// foldFor is how long the same denial is one entry.
	foldFor = 5 * time.Minute
	// maxDenied bounds the denials that are told apart at one time, and maxDeniedEach those of one chain: a flood
	// of them may fill neither the memory nor the store.
	maxDenied, maxDeniedEach = 200, 20
	// maxBack bounds the entries that wait because the store did not take them.
	maxBack = 2 * maxDenied
)

// others stands for those that are not told apart any more.
const others = "others"

// denial is what is folded into one entry.
type denial struct{ tenant, subject, operation, code string }

// denials are those of the present window. The zero value is none.
type denials struct {
	mu     sync.Mutex
	since  time.Time
	counts map[denial]*counted
	each   map[string]int
	total  int64
	// back are entries that the store did not take; merged is how many denials are among those that are not told
	// apart for that reason.
	back   []Entry
	merged atomic.Int64
}

type counted struct {
	entry   Entry
	fresh   bool  // the first is not written yet
	all     int64 // with the first
	further int64 // of these, those that are not written yet, without the first
	due     bool  // they are to be written before the window is over
}

// Denied notes that somebody was denied something. It waits for nothing: the entry is written a moment later. Repeats
// within five minutes are one more entry, with their number, and one each as soon as there are ten of them, a hundred,
// and so on: who looks for many need not wait for the five minutes.
func (t *Trail) Denied(by Actor, operation, graph, code string) {
	if t == nil {
		return
	}
	now := t.cfg.Now()
	e := Entry{Kind: Denied, At: now, Tenant: by.Tenant, Actor: by, Operation: operation, Graph: graph, Code: code,
		Count: 1}
	if e.Tenant == "" {
		e.Tenant = Daemon
	}
	if t.denied.note(e, now) {
		t.wakeUp()
	}
}

// DeniedTotal is how many denials there were.
func (t *Trail) DeniedTotal() int64 {
	t.denied.mu.Lock()
	defer t.denied.mu.Unlock()
	return t.denied.total
}

// note counts a denial, and says whether something is to be written now.
func (d *denials) note(e Entry, now time.Time) (due bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.total++
	if d.counts == nil {
		d.counts, d.each, d.since = map[denial]*counted{}, map[string]int{}, now
	}
	key := denial{e.Tenant, e.Subject, e.Operation, e.Code}
	c := d.counts[key]
	if c == nil && (len(d.counts) >= maxDenied || d.each[e.Tenant] >= maxDeniedEach) {
		if len(d.counts) >= maxDenied && d.each[e.Tenant] == 0 {
			e.Tenant = Daemon
		}
		key = denial{e.Tenant, others, "", ""}
		e.Actor, e.Operation, e.Graph, e.Code = Actor{Subject: others}, "several", "", ""
		c = d.counts[key]
	}
	if c != nil {
		c.all++
		c.further++
		c.due = c.due || ten(c.all)
		return c.due
	}
	d.counts[key] = &counted{entry: e, fresh: true, all: 1}
	d.each[e.Tenant]++
	return true
}

// ten says that a number is ten, a hundred, a thousand and so on.
func ten(n int64) bool {
	for n >= 10 && n%10 == 0 {
		n /= 10
	}
	return n == 1
}

// due is what is to be written: the first of each kind, and the repeats once there are many, or the window is over, or
// at the end.
func (d *denials) due(now time.Time, end bool) (entries []Entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	entries, d.back = d.back, nil
	over := end || now.Sub(d.since) >= foldFor
	for _, c := range d.counts {
		if c.fresh {
			entries = append(entries, c.entry)
			c.fresh = false
		}
		if (over || c.due) && c.further > 0 {
			e := c.entry
			e.At, e.Count, e.Detail = now, c.further, []string{"since " + c.entry.At.UTC().Format(time.RFC3339)}
			entries = append(entries, e)
			c.further, c.due = 0, false
		}
	}
	if over {
		d.counts = nil
	}
	return entries
}

// putBack keeps entries for the next time. Past its bound they become one, with the number of all.
func (d *denials) putBack(entries []Entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.back = append(entries, d.back...)
	if len(d.back) <= maxBack {
		return
	}
	merged := Entry{Kind: Denied, Tenant: Daemon, Actor: Actor{Subject: others}, Operation: "several",
		Detail: []string{"they could not be written when they were made"}}
	for _, e := range d.back[maxBack-1:] {
		if e.Subject != others || len(e.Detail) == 0 || e.Detail[0] != merged.Detail[0] {
			d.merged.Add(e.Count)
		}
		merged.At, merged.Count = e.At, merged.Count+e.Count
	}
	d.back = append(d.back[:maxBack-1:maxBack-1], merged)
}
