package sink

import (
	"sync/atomic"
	"time"
)

// Trouble is that deliveries to a sink fail. The zero value is none. Safe for concurrent use, if
// one goroutine calls Fails and Ends.
type Trouble struct{ now atomic.Pointer[failure] }

type failure struct {
	text  string
	since time.Time
}

// Fails notes a delivery that failed.
func (t *Trouble) Fails(err error) {
	f := &failure{err.Error(), time.Now().UTC()}
	if before := t.now.Load(); before != nil {
		f.since = before.since
	}
	t.now.Store(f)
}

// Ends notes one that went well.
func (t *Trouble) Ends() { t.now.Store(nil) }

// Last is the last failure, and when the first was since a delivery went well; "" for none.
func (t *Trouble) Last() (text string, since time.Time) {
	if f := t.now.Load(); f != nil {
		return f.text, f.since
	}
	return "", time.Time{}
}
