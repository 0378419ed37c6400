// Package refused keeps a sample of what has come to nothing: events that a condition kept back, cuts that the guard
// was against, values that were overwritten before anybody read them. All of it is counted, and so little is kept that
// it costs nothing to speak of: of each reason the first, and then at most one in [Every]; of a graph the newest
// [Most], each of a few KiB at most.
//
// A [Log] is an accumulator's: what it notes goes with the next handoff, as a [Batch], to the [Ring] of the reactor.
// Each belongs to one goroutine; nothing is started, and the time is an argument.
package refused

import (
	"encoding/json"
	"time"

	"github.com/graphd/graphd/internal/boundary"
)

const (
	// Most is how many entries a ring keeps.
	Most = 256
	// Every is how often an entry is taken of one reason.
	Every = 100 * time.Millisecond
	// carried bounds what waits in a log for the next handoff, of which there is one in a second.
	carried = 32
	// maxValue bounds one value in an entry, in bytes of its JSON: a larger one is told by its size.
	maxValue = 512
	// maxMeasured is how large a value may be in memory of which JSON is made to see how long that is.
	maxMeasured = 64 * maxValue
	// maxNames and maxShown bound what an entry shows of what was read: how many names, and how many bytes they and
	// their values take.
	maxNames, maxShown = 16, 4 << 10
	// entryBytes and shownBytes are about what an entry and a name in it take beside their texts.
	entryBytes, shownBytes = 256, 64
)

// Reason is why something has come to nothing.
type Reason uint8

// The reasons. Events are counted of all but Guard, of which it is cuts, and Evicted, of which it is keys.
const (
	Where     Reason = iota // the accumulator's where was false
	Late                    // it came too late for a window or a join
	Guard                   // the reactor's guard was false
	Conflated               // a newer one came before an epoch took it
	Evicted                 // its key was evicted
	Full                    // more would have waited than may
	Reasons                 // how many there are
)

// String is the reason as an answer has it.
func (r Reason) String() string {
	names := [Reasons]string{"filtered_where", "late", "guard_false", "conflated", "key_evicted", "key_full"}
	return names[r]
}

// Entry is one of what has come to nothing.
type Entry struct {
	Reason   Reason
	At       time.Time // by the clock of who noted it
	Input    string    // "" where it is not of one
	Key      boundary.Key
	Position boundary.Position
	Events   int64
	// Detail is what more there is to say, for people; Code is that of a refusal that has one.
	Detail, Code string
	// Values are those that decided, by name; see [Entry.Read]. Omitted is how many names there are more.
	Values  map[string]json.RawMessage
	Omitted int

	shown int // bytes of Values
}

// Read has e show a value that was read under a name, as far as an entry shows so much.
func (e *Entry) Read(name string, v boundary.Value) {
	text := shortened(v)
	n := len(name) + len(text)
	if len(e.Values) == maxNames || e.shown+n > maxShown {
		e.Omitted++
		return
	}
	if e.Values == nil {
		e.Values = map[string]json.RawMessage{}
	}
	e.Values[name] = text
	e.shown += n
}

// weight is about how many bytes e takes.
func (e *Entry) weight() int64 {
	return int64(entryBytes + len(e.Key) + len(e.Position.Stream) + len(e.Detail) + e.shown + len(e.Values)*shownBytes)
}

// shortened is the JSON of v; of a large one its size in bytes: of the JSON, or in memory where that is large too.
func shortened(v boundary.Value) json.RawMessage {
	n := v.Size()
	if n <= maxMeasured {
		text := v.AppendJSON(nil)
		if len(text) <= maxValue {
			return text
		}
		n = len(text)
	}
	text, _ := json.Marshal(map[string]int{"omitted_bytes": n}) // it always encodes
	return text
}

// sampler decides what is kept.
type sampler struct {
	counts [Reasons]int64
	next   [Reasons]int64 // when the next entry is taken, in nanoseconds
}

// take counts n, and reports whether an entry is to be made of it.
func (s *sampler) take(r Reason, n int64, now time.Time) bool {
	s.counts[r] += n
	at := now.UnixNano()
	// A clock that was set back must not end the sample for as long as it was.
	if at < s.next[r] && s.next[r]-at <= int64(Every) {
		return false
	}
	s.next[r] = at + int64(Every)
	return true
}

// Ring keeps the newest entries of a graph. The zero Ring is ready.
type Ring struct {
	sampler
	entries []Entry
	made    int
	weight  int64
}

// Takes counts n of a reason, and reports whether [Ring.Put] is to be called for it.
func (r *Ring) Takes(of Reason, n int64, now time.Time) bool { return r.take(of, n, now) }

// Put keeps an entry, in the place of the oldest.
func (r *Ring) Put(e Entry) {
	r.weight += e.weight()
	if len(r.entries) < Most {
		r.entries = append(r.entries, e)
	} else {
		oldest := &r.entries[r.made%Most]
		r.weight -= oldest.weight()
		*oldest = e
	}
	r.made++
}

// Weigh is about how many bytes the entries take.
func (r *Ring) Weigh() int64 { return r.weight }

// Join takes in what an accumulator has noted. at is when, for a clock of events is not that of an operator; zero
// leaves the entries their own.
func (r *Ring) Join(b *Batch, at time.Time) {
	for i, n := range b.Counts {
		r.counts[i] += n
	}
	for _, e := range b.Entries {
		if !at.IsZero() {
			e.At = at
		}
		r.Put(e)
	}
}

// Counts is how many there were of each reason.
func (r *Ring) Counts() [Reasons]int64 { return r.counts }

// Each visits the entries, newest first, while it answers true.
func (r *Ring) Each(visit func(e *Entry) bool) {
	for k := range len(r.entries) {
		if !visit(&r.entries[(r.made-1-k)%len(r.entries)]) {
			return
		}
	}
}

// Batch is what an accumulator has noted since its last handoff.
type Batch struct {
	Counts  [Reasons]int64
	Entries []Entry
}

// Then is b with what was noted after it; either may be nil.
func (b *Batch) Then(o *Batch) *Batch {
	if b == nil || o == nil {
		if b == nil {
			return o
		}
		return b
	}
	for i, n := range o.Counts {
		b.Counts[i] += n
	}
	b.Entries = append(b.Entries, o.Entries...)
	if n := len(b.Entries) - carried; n > 0 {
		b.Entries = append(b.Entries[:0:0], b.Entries[n:]...)
	}
	return b
}

// Log is what an accumulator notes between two handoffs. The zero Log is ready; a nil one notes nothing.
type Log struct {
	sampler
	entries []Entry
	noted   bool
}

// Takes counts n of a reason, and reports whether [Log.Put] is to be called for it.
func (l *Log) Takes(of Reason, n int64, now time.Time) bool {
	if l == nil {
		return false
	}
	l.noted = true
	return l.take(of, n, now) && len(l.entries) < carried
}

// Put keeps an entry for the next handoff.
func (l *Log) Put(e Entry) { l.entries = append(l.entries, e) }

// Batch is what was noted since the last call; nil where nothing was.
func (l *Log) Batch() *Batch {
	if l == nil || !l.noted {
		return nil
	}
	b := &Batch{Counts: l.counts, Entries: l.entries}
	l.counts, l.entries, l.noted = [Reasons]int64{}, nil, false
	return b
}
