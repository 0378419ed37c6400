package engine

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

// sample is what a watcher was told that had asked for some epochs a second.
type sample struct {
	firings, left, states, rare int
	gap                         int64
	last                        *api.Frame
}

func (s *sample) read(sub api.Subscription) {
	for f := sub.TryNext(); f != nil; f = sub.TryNext() {
		s.left += int(f.LeftOut)
		switch f.Type {
		case "firing":
			s.firings++
			s.last = f
		case "output":
			if f.Output == "rare" {
				s.rare++
			}
		case "state":
			s.states++
		case "gap":
			s.gap += f.To - f.From + 1
		}
	}
}

// A watcher that asks for four epochs a second is told of about as many of a thousand, of all where they are few, and
// of how many it was not told; the newest, and what a rare output has given, always come. Whoever does not ask is told
// of every one meanwhile.
func TestSample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, memstore.New(), &scripted{})
		defer b.close()
		b.apply("graph: g\naccumulators: { a: { strategy: sequential } }\nnodes: { n: { expr: a } }\noutputs: { o: "+
			"{ from: n, sink: { drop: {} } }, rare: { from: n, where: value == 3210, sink: { drop: {} } } }\n"+
			"history: { keep: 2000 }\n", "g")
		watch := func(w api.Wanted) api.Subscription {
			sub, err := b.e.Watch(t.Context(), api.Ref{Tenant: "default", Name: "g"}, w)
			if err != nil {
				t.Fatal(err)
			}
			return sub
		}
		topics := []string{"outputs", "firings", "state"}
		sub, all := watch(api.Wanted{Topics: topics, Sample: 4}), watch(api.Wanted{Topics: []string{"firings"}})
		defer sub.Close()
		var few, whole sample
		const n = 5000
		for i := range n {
			b.push("g", "a", fmt.Sprint(i))
			time.Sleep(time.Millisecond)
			whole.read(all)
		}
		all.Close()
		time.Sleep(time.Second)
		few.read(sub)
		if few.firings+few.left != n || few.firings > 100+6*4+4 || few.last.Epoch != n || few.rare != 1 ||
			few.states > 6*4+1 || few.gap > 0 || whole.firings != n {
			t.Errorf("told of %+v, and who is told of all of %d", few, whole.firings)
		}
		b.push("g", "a", "1") // each comes without waiting for another
		time.Sleep(2 * time.Second)
		b.push("g", "a", "2", "3")
		few = sample{}
		if few.read(sub); few.firings != 3 || few.left != 0 {
			t.Errorf("of three at leisure it was told %+v", few)
		}
		back := watch(api.Wanted{Topics: topics, Since: "1:2000", Sample: 4})
		defer back.Close()
		few = sample{}
		if few.read(back); few.firings != 101 || few.left != 1899 || few.rare != 1 || few.gap == 0 ||
			few.last.Epoch != n+3 {
			t.Errorf("who comes back was told %+v", few)
		}
	})
}

// Who comes while a watcher of a sample is told of nothing yet is told what comes from then on, each once and in order.
func TestSampleBesideWhoComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, memstore.New(), &scripted{})
		defer b.close()
		b.apply("graph: g\naccumulators: { a: { strategy: sequential } }\nnodes: { n: { expr: a } }\noutputs: { o: "+
			"{ from: n, sink: { drop: {} } } }\n", "g")
		watch := func(w api.Wanted) api.Subscription {
			w.Topics = []string{"firings"}
			sub, err := b.e.Watch(t.Context(), api.Ref{Tenant: "default", Name: "g"}, w)
			if err != nil {
				t.Fatal(err)
			}
			return sub
		}
		few := watch(api.Wanted{Sample: 4})
		defer few.Close()
		for i := range 300 {
			b.push("g", "a", fmt.Sprint(i))
			time.Sleep(time.Millisecond)
		}
		fresh, back := watch(api.Wanted{}), watch(api.Wanted{Since: "1:580"})
		defer fresh.Close()
		defer back.Close()
		b.push("g", "a", "300", "301")
		time.Sleep(time.Millisecond)
		for name, c := range map[string]struct {
			sub   api.Subscription
			first int64
		}{"from now on": {fresh, 301}, "back": {back, 291}} {
			next := c.first
			for f := c.sub.TryNext(); f != nil; f = c.sub.TryNext() {
				if f.Type != "firing" {
					continue
				}
				if f.Epoch != next {
					t.Fatalf("%s: was told of epoch %d, and %d was next", name, f.Epoch, next)
				}
				next++
			}
			if next != 303 {
				t.Errorf("%s: was told up to %d", name, next-1)
			}
		}
	})
}

// A watcher of a sample of many kinds of epochs is told of each of them within some seconds, and not in rare bursts; a
// state and a health that come while epochs wait have the number of what it was told.
func TestSampleOfManyKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, memstore.New(), &scripted{})
		defer b.close()
		var outputs []string
		for k := range 40 {
			outputs = append(outputs,
				fmt.Sprintf("o%d: { from: n, where: value %% 40 == %d, sink: { drop: {} } }", k, k))
		}
		b.apply("graph: g\naccumulators: { a: { strategy: sequential } }\nnodes: { n: { expr: a } }\noutputs: { "+
			strings.Join(outputs, ", ")+" }\n", "g")
		ref := api.Ref{Tenant: "default", Name: "g"}
		few, err := b.e.Watch(t.Context(), ref, api.Wanted{Topics: []string{"firings", "state", "health"}, Sample: 4})
		if err != nil {
			t.Fatal(err)
		}
		defer few.Close()
		var last time.Time
		var at int64
		health := 0
		for i := range 10_000 {
			b.push("g", "a", fmt.Sprint(i))
			if i%999 == 998 {
				_, err := b.e.Pause(t.Context(), ref, "")
				if _, again := b.e.Resume(t.Context(), ref, ""); err != nil || again != nil {
					t.Fatal(err, again)
				}
			}
			time.Sleep(time.Millisecond)
			for f := few.TryNext(); f != nil; f = few.TryNext() {
				if f.Type != "firing" && f.Seq != at {
					t.Fatalf("a %s has the number %d, and it was told up to %d", f.Type, f.Seq, at)
				}
				if f.Type == "health" {
					health++
				}
				if at = f.Seq; f.Type == "firing" {
					last = time.Now()
				}
			}
			if rest := time.Since(last); !last.IsZero() && rest > 1100*time.Millisecond {
				t.Fatalf("nothing was told for %v", rest)
			}
		}
		if health < 10 {
			t.Errorf("%d changes of the health were told", health)
		}
	})
}

// What a sample leaves out is left out where the shard runs, and counted for each.
func TestSampleOfShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newAsked(t)
		defer m.close()
		sub, err := m.beds["a"].e.Watch(t.Context(), shardedRef, api.Wanted{Topics: []string{"firings"}, Sample: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		const n = 2400 // of twelve shards on three members
		m.beds["c"].push("g", "a", events(0, n)...)
		time.Sleep(time.Minute)
		var s sample
		if s.read(sub); s.firings+s.left != n || s.firings > 12*(100+3) || s.gap > 0 {
			t.Errorf("told of %+v", s)
		}
	})
}
