package faults

import (
	"context"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// stuck is how long a test waits for what has to come. What has not come by then does not come on a machine that is ten
// times as slow either. How soon something comes is not held by it: that is [control.most].
const stuck = time.Minute

// usual is how long a daemon that has nothing to do takes to say that it lives, where the machine has nothing else to
// do either. It is rather too short: who sleeps most of the time is let in before those that work, so that a load that
// takes nine tenths of a processor from these makes an answer take two or three times as long.
const usual = 250 * time.Microsecond

// slowest is how many times longer than promised something may take on whatever machine: beyond it nothing is said of
// graphd.
const slowest = 20

// control is how long a daemon that has nothing to do takes to answer beside what is measured. It is a process of its
// own, asked by a goroutine of its own: a daemon that is measured cannot excuse itself by answering late. A machine on
// which that takes longer than usual, for it does much else, is given as many times longer for what graphd promises.
//
// Safe for concurrent use.
type control struct {
	mu      sync.Mutex
	answers []time.Duration // the newest, at most controlKept
}

const controlKept = 1000

// beside starts a control, which goes on until the test ends.
func beside(t *testing.T) *control {
	t.Helper()
	p, err := launchOf(t, built, nil, t.TempDir(), "--store", "memory:")
	if err != nil {
		t.Fatal(err)
	}
	c := &control{}
	ctx, cancel := context.WithCancel(context.Background())
	var asking sync.WaitGroup
	asking.Go(func() { c.ask(ctx, p.base+"/livez") })
	t.Cleanup(func() { // before the daemon ends
		cancel()
		asking.Wait()
	})
	return c
}

// ask asks again and again, until ctx is done.
func (c *control) ask(ctx context.Context, url string) {
	client := &http.Client{Transport: &http.Transport{}} // waits for nobody else's connection
	defer client.CloseIdleConnections()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return
		}
		began := time.Now()
		res, err := client.Do(req)
		if err != nil {
			continue
		}
		_, err = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		if err == nil {
			c.took(time.Since(began))
		}
	}
}

// took notes an answer.
func (c *control) took(answered time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.answers) == controlKept {
		c.answers = c.answers[:copy(c.answers, c.answers[controlKept/2:])]
	}
	c.answers = append(c.answers, answered)
}

// anew forgets what was before.
func (c *control) anew() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers = c.answers[:0]
}

// most is how long something may take here that is promised within a time. It goes by the median, the lower one of two:
// a few answers that hang excuse nothing.
func (c *control) most(promised time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.answers) == 0 {
		return promised
	}
	list := slices.Sorted(slices.Values(c.answers))
	slower := float64(list[(len(list)-1)/2]) / float64(usual)
	return time.Duration(float64(promised) * min(max(1, slower), slowest))
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

// A control gives time to what runs on a machine that is slow, and none to a daemon that is, nor for a few answers
// that hang.
func TestControlGoesByTheMachine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		answers []time.Duration
		most    time.Duration // for a second
	}{
		{name: "nothing was asked", most: time.Second},
		{name: "quick", answers: []time.Duration{usual, usual / 2, 2 * usual}, most: time.Second},
		{name: "one of two hangs", answers: []time.Duration{usual, time.Minute}, most: time.Second},
		{name: "slow", answers: []time.Duration{3 * usual, 2 * usual, 3 * usual, time.Minute}, most: 3 * time.Second},
		{name: "beyond all bounds", answers: []time.Duration{time.Minute}, most: slowest * time.Second},
	} {
		var by control
		for _, a := range c.answers {
			by.took(a)
		}
		if got := by.most(time.Second); got != c.most {
			t.Errorf("%s: a second is %v, want %v", c.name, got, c.most)
		}
	}
}
