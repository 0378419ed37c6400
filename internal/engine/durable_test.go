package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/sink"
)

// lasting is a store in memory that outlives the engines of a test.
type lasting struct{ checkpoint.Store }

func (lasting) Kind() string { return "sqlite" }

// receiver is a sink that notes the firing id beside each value.
type receiver struct {
	picky
	ids map[string]string // by id, the value
}

func (r *receiver) Deliver(ctx context.Context, batch []sink.Message) error {
	if err := r.picky.Deliver(ctx, batch); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ids == nil {
		r.ids = map[string]string{}
	}
	for i := range batch {
		id, v := batch[i].FiringID(), batch[i].Value.String()
		if !batch[i].Stable {
			v += " (not stable)"
		}
		if old, ok := r.ids[id]; ok && old != v {
			v = "two values under one id: " + old + ", " + v
		}
		r.ids[id] = v
	}
	return nil
}

// distinct are the values behind all ids, sorted.
func (r *receiver) distinct() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var vs []string
	for _, v := range r.ids {
		vs = append(vs, v)
	}
	slices.Sort(vs)
	return strings.Join(vs, " ")
}

const journaled = `graph: g
accumulators: { a: { strategy: sequential } }
nodes: { n: { expr: a * 10 } }
outputs: { o: { from: n, sink: { drop: {} } } }
durability: { mode: journal, interval: 1h }
`

// M29: a push is answered, and an output leaves, when the journal has them and not before.
func TestM29NothingLeavesBeforeTheJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got, gate := &receiver{}, make(chan struct{})
		faulty := checkpointtest.NewFaulty(memstore.New(), nil)
		b := newBed(t, lasting{faulty}, &scripted{sink: func(string) sink.Sink { return got }})
		defer b.close()
		b.apply(journaled, "g")
		sub, err := b.e.Watch(t.Context(), api.Ref{Tenant: "default", Name: "g"},
			api.Wanted{Topics: []string{"outputs"}})
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		faulty.Script(checkpointtest.OpAppendJournal, checkpointtest.Fault{Wait: gate}, checkpointtest.Fault{
			Outcome: checkpointtest.Fail,
		})
		answer := make(chan api.PushResult, 1)
		go func() {
			res, err := b.e.Push(t.Context(), api.Ref{Tenant: "default", Name: "g"}, "a", []json.RawMessage{
				[]byte("1"), []byte("2"),
			})
			if err != nil {
				t.Errorf("push: %v", err)
			}
			answer <- res
		}()
		fired := make(chan api.FireResult, 1)
		synctest.Wait()
		go func() {
			res, err := b.e.Fire(t.Context(), api.Ref{Tenant: "default", Name: "g"}, api.FireRequest{
				Mode: "with", Cache: map[string]json.RawMessage{"a": []byte("7")},
			})
			if err != nil {
				t.Errorf("fire: %v", err)
			}
			fired <- res
		}()
		synctest.Wait()
		if len(answer) != 0 || len(fired) != 0 || got.taken() != "[]" || sub.TryNext() != nil {
			t.Errorf("before the journal had it: answered %d, fired %d, delivered %s", len(answer), len(fired),
				got.taken())
		}
		if s := b.summary("g"); s.Epoch != 3 {
			t.Errorf("the reactor waited for the journal: epoch %d", s.Epoch)
		}
		close(gate)
		synctest.Wait()
		if res := <-answer; !res.Durable || res.Accepted != 2 {
			t.Errorf("push: %+v", res)
		}
		// What was logged meanwhile went with the second append, which failed and is tried again.
		if s := b.summary("g"); len(fired) != 0 || s.Health != "degraded" || !strings.Contains(s.HealthReason.Detail,
			"journal") {
			t.Errorf("after a failed append: fired %d, %s %+v", len(fired), s.Health, s.HealthReason)
		}
		time.Sleep(time.Second)
		if res := <-fired; res.Epoch != 3 || got.taken() != "[10 20 70]" || b.summary("g").Health != "live" {
			t.Errorf("fired %+v, delivered %s", res, got.taken())
		}
		if f := sub.TryNext(); f == nil || f.Epoch != 1 {
			t.Errorf("a watcher saw %+v", f)
		}
	})
}

// M29: after a crash the journal gives the same epochs: state, numbers, firing ids.
func TestM29ReplayGivesTheSameEpochs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got, store := &receiver{}, lasting{memstore.New()}
		kinds := func() *scripted { return &scripted{sink: func(string) sink.Sink { return got }} }
		first := newBed(t, store, kinds())
		first.apply(journaled, "g")
		first.push("g", "a", "1", "2", "3")
		// with a checkpoint
		if _, err := first.e.Pause(t.Context(), api.Ref{Tenant: "default", Name: "g"}, "op"); err != nil {
			t.Fatal(err)
		}
		first.push("g", "a", "4", "5")
		if _, err := first.e.Step(t.Context(), api.Ref{Tenant: "default", Name: "g"}, 1); err != nil {
			t.Fatal(err)
		}
		if _, err := first.e.Fire(t.Context(), api.Ref{Tenant: "default", Name: "g"}, api.FireRequest{
			Mode: "with", Cache: map[string]json.RawMessage{"a": []byte("9")}, Replace: new(bool),
		}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		before := first.summary("g")
		second := newBed(t, store, kinds()) // the first is fenced from here on, as if it had died
		synctest.Wait()
		after := second.summary("g")
		if after.Epoch != 5 || !after.Paused || after.Counters != before.Counters || after.Incarnation != 2 {
			t.Errorf("before %+v\nafter %+v", before, after)
		}
		if got.distinct() != "10 20 30 40 90" {
			t.Errorf("distinct values %s of %s", got.distinct(), got.taken())
		}
		if _, err := second.e.Resume(t.Context(), api.Ref{Tenant: "default", Name: "g"}, "op"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if s := second.summary("g"); s.Epoch != 6 || got.distinct() != "10 20 30 40 50 90" {
			t.Errorf("epoch %d, distinct values %s", s.Epoch, got.distinct())
		}
		second.close()
		_ = first.e.Close() // it finds that it is fenced
	})
}

// M29, M33: under another declaration the epochs of the journal cannot be run again. What
// was admitted is not lost, and no number is used twice.
func TestM33JournalOfAnotherDeclaration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got, store := &receiver{}, lasting{memstore.New()}
		kinds := func() *scripted { return &scripted{sink: func(string) sink.Sink { return got }} }
		first := newBed(t, store, kinds())
		first.apply(journaled, "g")
		first.push("g", "a", "1", "2")
		changed := strings.Replace(journaled, "a * 10", "a * 100", 1)
		if _, err := store.PutDeclaration(t.Context(), checkpoint.Declaration{
			Tenant: "default", Graph: "g", Text: changed, Origin: "api",
		}, 0); err != nil {
			t.Fatal(err)
		}
		second := newBed(t, store, kinds())
		synctest.Wait()
		if s := second.summary("g"); s.Epoch != 4 || s.Counters.Consumed != 2 || got.distinct() != "10 100 20 200" {
			t.Errorf("epoch %d, %+v, distinct values %s", s.Epoch, s.Counters, got.distinct())
		}
		events, _, err := store.RecoveryEvents(t.Context(), checkpoint.ID{Tenant: "default", Graph: "g"},
			checkpoint.Query{})
		if err != nil || !slices.ContainsFunc(events, func(ev checkpoint.RecoveryEvent) bool {
			return ev.Kind == "journal_refired"
		}) {
			t.Errorf("recovery events %+v, %v", events, err)
		}
		second.close()
		_ = first.e.Close()
	})
}

const outboxed = `graph: g
accumulators: { a: { strategy: sequential } }
nodes: { n: { expr: a * 10 } }
outputs: { o: { from: n, sink: { file: { path: never.ndjson } }, delivery: outbox%s } }
durability: { interval: 1h }
`

// M30: what is in the outbox is delivered in order, after a crash by the next owner, under
// the same ids; what is through is gone.
func TestM30Outbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		id := checkpoint.ID{Tenant: "default", Graph: "g"}
		got, store := &receiver{}, lasting{memstore.New()}
		kinds := func() *scripted { return &scripted{sink: func(string) sink.Sink { return got }} }
		first := newBed(t, store, kinds())
		first.apply(fmt.Sprintf(outboxed, ""), "g")
		first.push("g", "a", "1", "2")
		time.Sleep(time.Second)
		got.set(func([]sink.Message) error { return errors.New("away") })
		for n := 3; n < 9; n++ {
			first.push("g", "a", fmt.Sprint(n))
		}
		time.Sleep(time.Minute)
		s := first.summary("g")
		if o := s.Outputs[0]; o.Path != "outbox" || o.Pending != 6 || o.OldestPendingSeconds == nil ||
			*o.OldestPendingSeconds < 59 || got.taken() != "[10 20]" {
			t.Errorf("%+v, took %s", o, got.taken())
		}
		old := got
		got = &receiver{ids: old.ids} // the first owner's sends go nowhere any more
		second := newBed(t, store, kinds())
		time.Sleep(time.Minute)
		if s := second.summary("g"); s.Epoch != 8 || s.Outputs[0].Pending != 0 || got.taken() != "[30 40 50 60 70 80]" {
			t.Errorf("epoch %d, %+v, took %s", s.Epoch, s.Outputs[0], got.taken())
		}
		second.push("g", "a", "9")
		time.Sleep(time.Second)
		if d, err := store.OutboxDepths(t.Context(), id); err != nil || len(d) > 1 ||
			got.distinct() != "10 20 30 40 50 60 70 80 90" {
			t.Errorf("depths %+v, %v; %s", d, err, got.distinct())
		}
		second.close()
		if d, err := store.OutboxDepths(t.Context(), id); err != nil || len(d) != 0 {
			t.Errorf("depths after a clean stop %+v, %v", d, err)
		}
		_ = first.e.Close()
	})
}

// M30: a value that the sink refuses for good becomes a dead letter in the commit that
// takes it off the outbox.
func TestM30OutboxDeadLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := &receiver{}
		got.set(func(batch []sink.Message) error {
			for i := range batch {
				if batch[i].Value.String() == "20" {
					return &sink.PermanentError{Index: i, Code: "rejected", Err: errors.New("no")}
				}
			}
			return nil
		})
		store := lasting{memstore.New()}
		b := newBed(t, store, &scripted{sink: func(string) sink.Sink { return got }})
		b.apply(fmt.Sprintf(outboxed, ", on_error: dead_letter"), "g")
		b.push("g", "a", "1", "2", "3")
		time.Sleep(time.Minute)
		if s := b.summary("g"); s.Outputs[0].Pending != 0 || s.Outputs[0].Failed != 1 {
			t.Errorf("%+v, took %s", s.Outputs[0], got.taken())
		}
		b.close()
		id := checkpoint.ID{Tenant: "default", Graph: "g"}
		letters, _, err := store.DeadLetters(t.Context(), id, checkpoint.LetterQuery{})
		d, _ := store.OutboxDepths(t.Context(), id)
		if err != nil || len(letters) != 1 || letters[0].Epoch != 2 || letters[0].Code != "rejected" || len(d) != 0 {
			t.Errorf("letters %+v, %v, depths %+v", letters, err, d)
		}
	})
}

// table is a sink whose rows travel with the commit.
type table struct{ receiver }

func (*table) Table() checkpoint.Table {
	return checkpoint.Table{Output: "o", Name: "t", Columns: []string{"n"}}
}

func (*table) Row(m *sink.Message) ([]boundary.Value, error) {
	if m.Value.String() == "50" {
		return nil, &sink.PermanentError{Code: "no_row", Err: errors.New("fifty is no row")}
	}
	return []boundary.Value{m.Value}, nil
}

// M30: rows and state are one commit. A row that is refused becomes a dead letter, and the
// others go without it; in an output that blocks, nothing is committed until it is fixed.
func TestM30CoTransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, got := memstore.New(), &table{}
		memory.MakeTable("t", "n")
		store := lasting{memory}
		kinds := func() *scripted { return &scripted{sink: func(string) sink.Sink { return got }} }
		rows := func() string {
			var list []string
			for _, r := range memory.Rows("t") {
				list = append(list, r["n"].String())
			}
			return strings.Join(list, " ")
		}
		first := newBed(t, store, kinds())
		first.apply(fmt.Sprintf(outboxed, ", on_error: dead_letter"), "g")
		first.push("g", "a", "1", "2", "1", "5", "3")
		time.Sleep(time.Second)
		s := first.summary("g")
		if o := s.Outputs[0]; rows() != "10 20 30" || o.Path != "co-transaction" || o.Failed != 2 || o.Pending != 0 ||
			s.Health != "live" {
			t.Errorf("rows %s, %+v, %s", rows(), o, s.Health)
		}
		second := newBed(t, store, kinds())
		synctest.Wait()
		if s := second.summary("g"); s.Epoch != 5 || rows() != "10 20 30" {
			t.Errorf("epoch %d, rows %s", s.Epoch, rows())
		}
		second.apply(fmt.Sprintf(outboxed, ""), "g")
		second.push("g", "a", "4", "5", "6")
		time.Sleep(10 * time.Second)
		if s := second.summary("g"); rows() != "10 20 30" || s.Health != "degraded" ||
			!strings.Contains(s.HealthReason.Detail, "fifty is no row") {
			t.Errorf("rows %s, %s %+v", rows(), s.Health, s.HealthReason)
		}
		_ = second.e.Close() // it cannot commit
		_ = first.e.Close()
	})
}

// The values of an output that is gone are dropped, and named.
func TestM33OrphanedOutbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got, store := &receiver{}, lasting{memstore.New()}
		b := newBed(t, store, &scripted{sink: func(string) sink.Sink { return got }})
		defer b.close()
		b.apply(fmt.Sprintf(outboxed, ""), "g")
		got.set(func([]sink.Message) error { return errors.New("away") })
		b.push("g", "a", "1", "2")
		time.Sleep(time.Second)
		b.apply(strings.Replace(fmt.Sprintf(outboxed, ""), "{ o:", "{ p:", 1), "g")
		time.Sleep(2 * time.Hour)
		id := checkpoint.ID{Tenant: "default", Graph: "g"}
		d, _ := store.OutboxDepths(t.Context(), id)
		events, _, _ := store.RecoveryEvents(t.Context(), id, checkpoint.Query{})
		named := slices.ContainsFunc(events, func(ev checkpoint.RecoveryEvent) bool {
			return ev.Component == "output/o" && strings.Contains(ev.Reason, "2 values")
		})
		if len(d) != 0 || !named {
			t.Errorf("depths %+v, events %+v", d, events)
		}
	})
}
