package engine

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/sink"
)

// remembers is a sink that keeps the firing ids of what it has, and refuses the value 0.
func remembers() *ids {
	got := &ids{}
	got.set(func(batch []sink.Message) error {
		got.at.Lock()
		defer got.at.Unlock()
		for i := range batch {
			if n, ok := batch[i].Value.AsInt(); ok && n == 0 {
				return &sink.PermanentError{Index: i, Code: "http_400", Err: errors.New("no zero")}
			}
			got.got = append(got.got, batch[i].FiringID())
		}
		return nil
	})
	return got
}

// TestWhyFindsAnID: M30: an id as a sink has it leads to its epoch, also one that is many epochs back, with and without
// a journal, which makes ids stable.
func TestWhyFindsAnID(t *testing.T) {
	for _, more := range []string{"", "durability: { mode: journal }\n"} {
		synctest.Test(t, func(t *testing.T) {
			got := remembers()
			b := newBed(t, lasting{memstore.New()}, &scripted{sink: func(string) sink.Sink { return got }})
			defer b.close()
			b.apply("graph: g\naccumulators: { a: { strategy: sequential } }\nnodes: { n: { expr: a } }"+drops+
				more, "g")
			var many []string
			for range 700 {
				many = append(many, "1")
			}
			b.push("g", "a", many...)
			time.Sleep(5 * time.Second)
			if len(got.got) != 700 {
				t.Fatalf("%d values", len(got.got))
			}
			for _, epoch := range []int64{1, 350, 700} {
				if w := b.why(api.WhyQuery{FiringID: got.got[epoch-1]}); w.Epoch != epoch ||
					w.Outputs[0].FiringID != got.got[epoch-1] || w.Outputs[0].Fate != "delivered" {
					t.Errorf("%q: the id of epoch %d is told as epoch %d: %+v", more, epoch, w.Epoch, w.Outputs)
				}
			}
		})
	}
}

// TestWhyUnderTheClockOfEvents: under the clock of events the time of an epoch says nothing of revisions: it is told
// where the epoch is of this run, or there has been no other.
func TestWhyUnderTheClockOfEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := lasting{memstore.New()}
		b := newBed(t, store, &scripted{})
		doc := "graph: g\naccumulators: { a: { strategy: sequential, time: event.at, time_unit: s } }\n" +
			"nodes: { n: { expr: a.at } }" + drops
		b.apply(doc, "g")
		b.push("g", "a", `{"at":1893456000}`)
		const known = "epoch 1 of g ran because a had something new; o went to who watched"
		holds := func(b *bed, what string, q api.WhyQuery, revision int64, sentence string) {
			t.Helper()
			w := b.why(q)
			if (w.Revision == nil) != (revision == 0) || revision > 0 && w.Revision.Revision != revision ||
				!strings.HasPrefix(w.Sentence, sentence) {
				t.Errorf("%s: %q, revision %+v", what, w.Sentence, w.Revision)
			}
		}
		holds(b, "of this run", api.WhyQuery{}, 1, known)
		if err := b.e.Close(); err != nil {
			t.Fatal(err)
		}
		b = newBed(t, store, &scripted{})
		defer b.close()
		synctest.Wait()
		holds(b, "of the run before", api.WhyQuery{}, 0, known)
		b.apply(strings.Replace(doc, "a.at", "a.at + 1", 1), "g")
		b.push("g", "a", `{"at":1893456100}`)
		holds(b, "of the next revision", api.WhyQuery{}, 2, "epoch 2 of g ran because a had something new; o went to")
		holds(b, "of the one before", api.WhyQuery{Epoch: new(int64(1))}, 0, known+
			"; which declaration it ran under is not known")
	})
}

// TestWhyWhileLettersAreOnTheirWay: a value whose sink may have refused it is not said to be delivered while the dead
// letters that are on their way cannot be asked for; one whose letter is there is told as that.
func TestWhyWhileLettersAreOnTheirWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var full atomic.Pointer[error]
		got := remembers()
		b := newBed(t, lasting{unwritable(&full)}, &scripted{sink: func(string) sink.Sink { return got }})
		defer b.close()
		b.apply("graph: g\naccumulators: { a: { strategy: sequential } }\nnodes: { n: { expr: a } }\n"+
			"outputs: { o: { from: n, on_error: dead_letter, sink: { drop: {} } } }\n"+
			"history: { keep: 5000 }\n", "g")
		b.push("g", "a", "0")
		time.Sleep(2 * time.Second)
		full.Store(&errDiskFull)
		b.push("g", "a", "1", "0")
		time.Sleep(time.Second)
		fates := func() (all []string) {
			for epoch := range int64(3) {
				epoch++
				o := b.why(api.WhyQuery{Epoch: &epoch}).Outputs[0]
				all = append(all, o.Fate)
				if o.Fate == "unknown" && !strings.Contains(o.Detail, "whether its sink refused it could not "+
					"be asked") {
					t.Errorf("%+v", o)
				}
			}
			return all
		}
		if all := fates(); !slices.Equal(all, []string{"dead_letter", "unknown", "unknown"}) {
			t.Errorf("while nothing can be written: %v", all)
		}
		full.Store(nil)
		time.Sleep(time.Minute)
		if all := fates(); !slices.Equal(all, []string{"dead_letter", "delivered", "dead_letter"}) {
			t.Errorf("when it can: %v", all)
		}
		for range 3 { // as many letters as are looked through at once, and more
			b.push("g", "a", slices.Repeat([]string{"0"}, 800)...)
			time.Sleep(10 * time.Second)
		}
		if all := fates(); !slices.Equal(all, []string{"dead_letter", "delivered", "dead_letter"}) {
			t.Errorf("behind many others: %v", all)
		}
	})
}
