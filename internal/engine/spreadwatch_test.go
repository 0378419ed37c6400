package engine

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
)

// seen is what a watcher of outputs and firings has been given.
type seen struct {
	t      *testing.T
	sub    api.Subscription
	values map[string]int
	gaps   map[int]int64 // by shard: how many numbers
	at     api.Places
}

func (m *many) watch(by, since string) *seen {
	m.t.Helper()
	sub, err := m.beds[by].e.Watch(m.t.Context(), shardedRef,
		api.Wanted{Topics: []string{"outputs", "firings"}, Since: since})
	if err != nil {
		m.t.Fatal(err)
	}
	w := &seen{t: m.t, sub: sub, values: map[string]int{}, gaps: map[int]int64{}, at: api.Places{}}
	if since == "" {
		at, ok := api.ParsePlaces(sub.(interface{ Places() string }).Places())
		if !ok {
			m.t.Fatal("the subscription does not say where it begins")
		}
		w.at = at
	}
	return w
}

// read takes in what is ready.
func (w *seen) read() {
	w.t.Helper()
	time.Sleep(time.Second)
	for f := w.sub.TryNext(); f != nil; f = w.sub.TryNext() {
		switch f.Type {
		case "output":
			if was := w.at[f.Shard]; was.Incarnation == f.Incarnation && f.Seq <= was.Seq {
				w.t.Errorf("shard %d goes back from %v to %v", f.Shard, was, f.At())
			}
			w.values[string(f.Key)]++
		case "firing":
		case "gap":
			w.gaps[f.Shard] += f.To - f.From + 1
		default:
			w.t.Errorf("%+v", f)
		}
		w.at[f.Shard] = f.At()
	}
}

// holds fails unless each of so many keys was seen once, or the shards that miss some have told of a gap.
func (w *seen) holds(keys int) {
	w.t.Helper()
	missing, gaps := 0, int64(0)
	for n := range keys {
		switch n := w.values[fmt.Sprintf(`"k%d"`, n)]; {
		case n > 1:
			w.t.Errorf("a value was given %d times", n)
		case n == 0:
			missing++
		}
	}
	for _, n := range w.gaps {
		gaps += n
	}
	if int64(missing) > gaps {
		w.t.Errorf("%d of %d values are missing, gaps tell of %d: %v", missing, keys, gaps, w.gaps)
	}
}

// M53: a watcher at one daemon is given what fires in all shards, wherever they run, and follows them as they move:
// each value once, and what it has missed is a gap. One that comes back at another daemon goes on where it was.
func TestM53WatcherFollowsItsShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newAsked(t)
		defer m.close()
		w := m.watch("a", "")
		if len(w.at) != 12 {
			t.Errorf("it begins at %v", w.at)
		}
		late := m.watch("c", "")
		m.beds["c"].push("g", "a", events(0, 60)...)
		w.read()
		if w.holds(60); len(w.values) != 60 || len(w.gaps) != 0 {
			t.Errorf("%d values, %v", len(w.values), w.gaps)
		}
		late.read()
		late.sub.Close()

		m.s.drain("b", true) // its shards go to a and to c
		m.whole(12, "b", 2*time.Second)
		time.Sleep(2 * time.Second)
		m.beds["b"].push("g", "a", events(60, 120)...)
		w.read()
		if w.holds(120); len(w.values) != 120 || len(w.gaps) != 0 {
			t.Errorf("after a drain: %d values, %v", len(w.values), w.gaps)
		}

		m.s.drain("b", false)
		time.Sleep(2 * time.Minute) // and come back
		if _, at := m.whole(12, "", time.Second); at["b"] == 0 {
			t.Fatalf("%v", at)
		}
		died := time.Now()
		m.views["c"].set(true, 0) // its shards go elsewhere without a word
		m.mu.Lock()
		m.deaf["c"] = true
		m.mu.Unlock()
		m.whole(12, "c", 5*time.Second)
		time.Sleep(time.Second) // b has heard of it
		if res := m.beds["b"].push("g", "a", events(120, 180)...); res.Accepted != 60 || res.Full {
			t.Fatalf("%+v", res)
		}
		w.read() // what each of them tries first after a crash is tried alone, and that takes no time to speak of
		if w.holds(180); time.Since(died) > 6*time.Second {
			t.Errorf("all of it has fired %v after the death of its owner", time.Since(died))
		}
		m.views["c"].set(false, 0)
		m.mu.Lock()
		m.deaf["c"] = false
		m.mu.Unlock()

		time.Sleep(5 * time.Second)
		again := m.watch("b", late.at.String())
		defer again.sub.Close()
		again.read()
		for key, n := range again.values {
			late.values[key] += n
		}
		late.gaps = again.gaps
		late.holds(180)
		w.sub.Close()
	})
}
