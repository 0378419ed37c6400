package sink

import (
	"sync/atomic"
	"time"
)

// Trouble is that deliveries to a sink fail. The zero value is none. Safe for concurrent use, if
// one goroutine calls Fails, Refuses and Ends.
type Trouble struct{ now atomic.Pointer[failure] }

type failure struct {
	text    string
	since   time.Time
	refused int64
}

// Fails notes a delivery that failed.
func (t *Trouble) Fails(err error) { t.note(err, 0) }

// Refuses notes a message that was refused for good.
func (t *Trouble) Refuses(err error) { t.note(err, 1) }

func (t *Trouble) note(err error, refused int64) {
	f := &failure{err.Error(), time.Now().UTC(), refused}
	if before := t.now.Load(); before != nil {
		f.since, f.refused = before.since, before.refused+refused
	}
	t.now.Store(f)
}

// Ends notes one that went well.
func (t *Trouble) Ends() { t.now.Store(nil) }

// Last is the last failure; since a delivery went well, when the first was and how many messages have been
// refused for good; "" for none.
func (t *Trouble) Last() (text string, since time.Time, refused int64) {
	if f := t.now.Load(); f != nil {
		return f.text, f.since, f.refused
	}
	return "", time.Time{}, 0
}
