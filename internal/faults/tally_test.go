package faults

import (
	"fmt"
	"testing"
)

// life is what one life of a daemon that is killed has come to.
type life struct {
	armed, reached bool  // a failpoint was to end it, and has
	looked         bool  // it was looked at before its end,
	consumed       int64 // when its graph had consumed so many events since there is one
}

// tally are the lives of a storm. How much was written beside them says nothing: that goes by the clock. What the
// daemons have done with it between two kills does.
type tally struct {
	armed, reached int
	looked, worked int // lives that were looked at, and those before which enough was consumed since the last look
	consumed       int64
}

// enough is how many events are consumed from one look to the next where a kill comes upon a daemon at work.
const enough = 10

func (y *tally) add(l life) {
	if l.armed {
		y.armed++
	}
	if l.reached {
		y.reached++
	}
	if l.looked {
		y.looked++
		if l.consumed-y.consumed >= enough {
			y.worked++
		}
		y.consumed = l.consumed
	}
}

// void says why the kills say nothing, "" where they do.
func (y *tally) void() string {
	switch {
	case 2*y.reached < y.armed:
		return fmt.Sprintf("%d of %d daemons that were to end at a failpoint did", y.reached, y.armed)
	case 2*y.worked < y.looked:
		return fmt.Sprintf("in %d of %d lives %d events and more were consumed", y.worked, y.looked, enough)
	}
	return ""
}

// few are so few lives that chance decides what share of them does anything.
const few = 20

// hold fails a test whose kills say nothing, where there are enough to count.
func (y *tally) hold(t *testing.T) {
	t.Helper()
	t.Logf("%d of %d ended at their failpoint, %d of %d had consumed %d events and more", y.reached, y.armed, y.worked,
		y.looked, enough)
	if why := y.void(); why != "" && y.armed+y.looked >= few {
		t.Errorf("the test is void: %s", why)
	}
}

// Lives that end elsewhere than they were to, or in which nothing happens, are no kills under load.
func TestTallyFindsTestsThatSayNothing(t *testing.T) {
	t.Parallel()
	point, killed := life{armed: true, reached: true}, life{armed: true}
	at := func(consumed int64) life { return life{looked: true, consumed: consumed} }
	for name, c := range map[string]struct {
		lives []life
		void  bool
	}{
		"as they should be":            {lives: []life{at(10), point, at(500), point}},
		"half of them":                 {lives: []life{at(10), point, at(10), killed}},
		"no failpoint is come to":      {lives: []life{at(10), killed, at(500), killed, at(900), point}, void: true},
		"nothing is consumed":          {lives: []life{at(0), point, at(0), point}, void: true},
		"it was consumed all at first": {lives: []life{at(5000), point, at(5000), point, at(5000), point}, void: true},
	} {
		var y tally
		for _, l := range c.lives {
			y.add(l)
		}
		if why := y.void(); (why != "") != c.void {
			t.Errorf("%s: %q", name, why)
		}
	}
}
