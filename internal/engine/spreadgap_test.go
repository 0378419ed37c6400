package engine

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// M53, M54: over changes of the number of shards, each of which takes all of them to one daemon and back, a watcher at
// any daemon is given what fires or told how many numbers it has missed, to the last one; so is one that comes back.
func TestM54AnotherNumberIsNoGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newAsked(t)
		defer m.close()
		w := m.watch("b", "")
		later := m.watch("c", "")
		later.sub.Close()
		m.beds["c"].push("g", "a", events(0, 60)...)
		w.read()
		sent, since := 60, (*seen)(nil)
		for _, n := range []int{5, 8, 12} {
			m.beds["a"].apply(strings.Replace(shardedGraph, "shards: 4", fmt.Sprintf("shards: %d", n), 1), "g")
			m.beds["c"].pushAll(events(sent, sent+60)) // while the shards go to where they belong
			sent += 60
			time.Sleep(time.Minute) // and the others have their share
			m.beds["b"].pushAll(events(sent, sent+60))
			sent += 60
			w.read()
			if w.exact(fmt.Sprint(n, " shards"), 0, sent); since != nil {
				since.read()
				since.exact(fmt.Sprint(n, " shards, since there were 5"), 180, sent)
			} else {
				since = m.watch("b", "") // it knows nothing of the shards that were before, and come again
			}
		}
		again := m.watch("a", later.at.String())
		defer again.sub.Close()
		again.read()
		again.exact("who comes back", 0, sent)
		w.sub.Close()
		since.sub.Close()
	})
}

// exact fails unless gaps tell of the output and the firing of each value that was not given, and of no other number.
func (w *seen) exact(when string, from, to int) {
	w.t.Helper()
	values := to - from
	if from == 0 {
		w.holds(values)
	}
	told := int64(0)
	for _, n := range w.gaps {
		told += n
	}
	if missing := int64(values - len(w.values)); told != 2*missing || missing > int64(values)*9/10 {
		w.t.Errorf("%s: %d values are missing of %d, and gaps tell of %d numbers: %v", when, missing, values, told,
			w.gaps)
	}
}

// pushAll pushes until all is taken, what is refused again.
func (b *bed) pushAll(list []string) {
	b.t.Helper()
	for try := 0; len(list) > 0; try++ {
		if try > 100 {
			b.t.Fatalf("%d events are refused for ever", len(list))
		}
		res := b.push("g", "a", list...)
		var again []string
		for _, r := range res.Rejected {
			again = append(again, list[r.Index])
		}
		if res.Full {
			list = append(again, list[res.Accepted+len(res.Rejected):]...)
		} else {
			list = again
		}
		time.Sleep(100 * time.Millisecond)
	}
}
