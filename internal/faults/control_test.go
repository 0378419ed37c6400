package faults

import (
	"slices"
	"sync"
	"testing"
	"time"
)

// stuck is how long a test waits for what has to come. What has not come by then does not come on a machine that is ten
// times as slow either. How soon something comes is not held by it: that is [control.most].
const stuck = time.Minute

// usual is how long a daemon takes at most to answer a question, where the machine has time for it.
const usual = 5 * time.Millisecond

// control is how long a daemon took to answer what it was asked beside what is measured. A machine on which that takes
// longer than usual, for it does much else, is given as many times longer for what graphd promises.
//
// Safe for concurrent use.
type control struct {
	mu      sync.Mutex
	answers []time.Duration // the newest, at most controlKept
}

const controlKept = 1000

// took notes an answer to what was asked at began.
func (c *control) took(began time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.answers) == controlKept {
		c.answers = c.answers[:copy(c.answers, c.answers[controlKept/2:])]
	}
	c.answers = append(c.answers, time.Since(began))
}

// anew forgets what was before.
func (c *control) anew() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers = c.answers[:0]
}

// most is how long something may take here that is promised within a time. It goes by the median: a few answers that
// hang excuse nothing.
func (c *control) most(promised time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.answers) == 0 {
		return promised
	}
	list := slices.Sorted(slices.Values(c.answers))
	slower := float64(list[len(list)/2]) / float64(usual)
	return time.Duration(float64(promised) * max(1, slower))
}

// kept holds that what took so long came within the time that is promised for it.
func (c *control) kept(t *testing.T, what string, took, promised time.Duration) {
	t.Helper()
	most := c.most(promised)
	switch {
	case took > most:
		t.Errorf("%s after %v, and %v are promised, which are %v here", what, took, promised, most)
	case took > promised:
		t.Logf("%s after %v: %v are promised, which are %v here", what, took, promised, most)
	}
}
