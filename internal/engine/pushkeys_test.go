package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/pushkey"
)

// keyedPushes are graphs that keep the keys of pushes, each of which fires once for each event.
var keyedPushes = map[string]string{
	"arrival": "graph: g\nclock: arrival\naccumulators: { a: { strategy: sequential } }\n" +
		"nodes: { n: { expr: a.x } }\noutputs: { o: { from: n, sink: { drop: {} } } }\n" +
		"durability: { mode: journal, interval: 1h }\n",
	"event": "graph: g\naccumulators: { a: { strategy: sequential } }\n" +
		"nodes: { n: { expr: a.x } }\noutputs: { o: { from: n, sink: { drop: {} } } }\n" +
		"durability: { mode: journal, interval: 1h }\n",
	"dealt, arrival": "graph: g\nclock: arrival\naccumulators: { a: { strategy: sequential } }\n" +
		"reactor: { key: id, shards: 4 }\nnodes: { n: { expr: a.x } }\n" +
		"outputs: { o: { from: n, sink: { drop: {} } } }\n" +
		"durability: { mode: journal, interval: 1h }\n",
	"dealt, event": "graph: g\naccumulators: { a: { strategy: sequential } }\n" +
		"reactor: { key: id, shards: 4 }\nnodes: { n: { expr: a.x } }\n" +
		"outputs: { o: { from: n, sink: { drop: {} } } }\n" +
		"durability: { mode: journal, interval: 1h }\n",
}

// body is a batch with two events that are no JSON.
func keyedBody() []json.RawMessage {
	events := make([]json.RawMessage, 900)
	for n := range events {
		events[n] = fmt.Appendf(nil, `{"id":%d,"x":%d}`, n%50, n)
	}
	events[3], events[700] = json.RawMessage(`{`), json.RawMessage(`nonsense`)
	return events
}

// pushKeyed pushes under a key.
func (b *bed) pushKeyed(key, body string, first int, events []json.RawMessage) (api.PushResult, error) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 30*time.Second)
	defer cancel()
	ctx = pushkey.Batch(pushkey.With(ctx, pushkey.Key{Text: key, Hash: []byte(body)}), first)
	return b.e.Push(ctx, shardedRef, "a", events)
}

// until pushes under a key until it is answered.
func (b *bed) untilTaken(key string, events []json.RawMessage) (r api.PushResult, refused int) {
	b.t.Helper()
	for {
		r, err := b.pushKeyed(key, "body", 0, events)
		if err == nil && !r.Full {
			return r, refused
		}
		if refused++; refused > 60 {
			b.t.Fatalf("%q is not taken: %+v, %v", key, r, err)
		}
		time.Sleep(time.Second)
	}
}

// consumed are the events that epochs have taken: an attempt that is refused counts as received and rejected.
func (b *bed) consumed() int64 {
	time.Sleep(10 * time.Second) // what is shown follows
	synctest.Wait()
	return b.summary("g").Counters.Consumed
}

func sameAnswer(t *testing.T, what string, got, want api.PushResult) {
	t.Helper()
	if !got.Known || !got.KeyKept {
		t.Errorf("%s: it was taken anew: %+v", what, got)
	}
	got.Known = want.Known
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s: another answer (-first +again):\n%s", what, d)
	}
}

// M29, M53: a push is known by its key if and only if it is durable: the same owner, the next one and one after a
// crash answer it as the first did, whatever had become of it; with another body it is refused.
func TestM29KeysOfPushesAreInTheStore(t *testing.T) {
	for name, doc := range keyedPushes {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { keysInTheStore(t, doc) })
		})
	}
}

func keysInTheStore(t *testing.T, doc string) {
	t.Helper()
	faulty := checkpointtest.NewFaulty(memstore.New(), nil)
	store := lasting{faulty}
	b := newSharded(t, store)
	b.apply(doc, "g")
	first, err := b.pushKeyed("one", "body", 0, keyedBody())
	if err != nil || first.Accepted != 898 || len(first.Rejected) != 2 || first.Rejected[1].Index != 700 ||
		!first.Durable || first.Known || !first.KeyKept {
		t.Fatalf("%+v, %v", first, err)
	}
	again, err := b.pushKeyed("one", "body", 0, keyedBody())
	if err != nil {
		t.Fatal(err)
	}
	sameAnswer(t, "of the same owner", again, first)
	if more, err := b.pushKeyed("one", "body", 1000, keyedBody()[:10]); err != nil || more.Known || more.Accepted != 9 {
		t.Errorf("the next batch of the body: %+v, %v", more, err)
	}
	taken := b.consumed()
	b.close()
	b = newSharded(t, store)
	synctest.Wait()
	if again, err = b.pushKeyed("one", "body", 0, keyedBody()); err != nil {
		t.Fatal(err)
	}
	sameAnswer(t, "of the next owner", again, first)
	_, err = b.pushKeyed("one", "another", 0, []json.RawMessage{[]byte(`{"id":77,"x":1}`)})
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Code != api.CodeIdempotencyMismatch || e.Status != 422 {
		t.Errorf("with another body: %v", err)
	}
	if n := b.consumed(); n != taken {
		t.Errorf("%d events were consumed by then, want %d", n, taken)
	}
	crashes := map[string][]checkpointtest.Outcome{
		"all is lost":          {checkpointtest.UnknownLost},
		"all is there":         {checkpointtest.UnknownApplied},
		"a part is there":      {checkpointtest.Pass, checkpointtest.UnknownLost},
		"two parts are there":  {checkpointtest.Pass, checkpointtest.UnknownApplied},
		"lost, and lost again": {checkpointtest.UnknownLost, checkpointtest.UnknownLost},
	}
	for what, outcomes := range crashes {
		time.Sleep(2 * time.Minute) // the graph has run well since it was restarted last
		var script []checkpointtest.Fault
		for _, o := range outcomes {
			script = append(script, checkpointtest.Fault{Outcome: o})
		}
		faulty.Script(checkpointtest.OpAppendJournal, script...)
		answer, refused := b.untilTaken(what, keyedBody())
		if answer.Accepted != 898 || len(answer.Rejected) != 2 || answer.Rejected[0].Index != 3 || !answer.Durable {
			t.Errorf("%s: %+v after %d refusals", what, answer, refused)
		}
		if taken += 898; b.consumed() != taken {
			t.Errorf("%s: %d events were consumed by then, want %d", what, b.consumed(), taken)
		}
		if again, err = b.pushKeyed(what, "body", 0, keyedBody()); err != nil {
			t.Fatal(err)
		}
		sameAnswer(t, what, again, answer)
	}
	b.close()
}

// A push whose key another has under way is refused, and told apart from it.
func TestM53AKeyThatIsUnderWayIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		b := newSharded(t, lasting{memstore.New()})
		defer b.close()
		b.apply(strings.Replace(keyedPushes["arrival"], "a: { strategy: sequential }",
			"a: { strategy: sequential, capacity: 8 }", 1), "g")
		if _, err := b.e.Pause(t.Context(), shardedRef, "somebody"); err != nil {
			t.Fatal(err)
		}
		go func() {
			defer close(gate)
			r, err := b.pushKeyed("k", "body", 0, keyedBody())
			if err != nil || !r.Full || r.Accepted == 0 {
				t.Errorf("a push without room: %+v, %v", r, err)
			}
		}()
		synctest.Wait()
		_, err := b.pushKeyed("k", "body", 0, keyedBody())
		if e, ok := errors.AsType[*api.Error](err); !ok || e.Code != api.CodeIdempotencyBusy {
			t.Errorf("beside it: %v", err)
		}
		<-gate
		if _, err := b.e.Resume(t.Context(), shardedRef, "somebody"); err != nil {
			t.Fatal(err)
		}
		if r, _ := b.untilTaken("k", keyedBody()); r.Accepted != 898 || len(r.Rejected) != 2 {
			t.Errorf("what is missing: %+v", r)
		}
		if n := b.consumed(); n != 898 {
			t.Errorf("%d events were consumed", n)
		}
	})
}

// Keys are known for a day, and as long as there are no more than are kept; what goes is counted.
func TestM29KeysOfPushesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := lasting{memstore.New()}
		b := newSharded(t, store)
		defer b.close()
		b.apply(keyedPushes["arrival"], "g")
		one := []json.RawMessage{json.RawMessage(`{"x":1}`)}
		for n := range 20 {
			if r, err := b.pushKeyed(fmt.Sprint(n), "body", 0, one); err != nil || r.Known {
				t.Fatalf("%+v, %v", r, err)
			}
			time.Sleep(time.Minute)
		}
		b.e.sweepOnce(t.Context(), time.Now().Add(keepPushKeys-10*time.Minute))
		for n := range 20 {
			if r, err := b.pushKeyed(fmt.Sprint(n), "body", 0, one); err != nil || r.Known != (n >= 10) {
				t.Errorf("key %d: %+v, %v", n, r, err)
			}
		}
		gone := b.e.all()[0].Forgotten()
		if gone.Expired.Load() != 10 || gone.Displaced.Load() != 0 {
			t.Errorf("%d have expired, %d were displaced", gone.Expired.Load(), gone.Displaced.Load())
		}
	})
}

// Without a journal nobody keeps a key, and nothing is looked for.
func TestWithoutAJournalNoKeyIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSharded(t, lasting{memstore.New()})
		defer b.close()
		b.apply(strings.Replace(keyedPushes["arrival"], "mode: journal", "mode: checkpoint", 1), "g")
		for range 2 {
			r, err := b.pushKeyed("k", "body", 0, keyedBody())
			if err != nil || r.KeyKept || r.Known || r.Accepted != 898 {
				t.Errorf("%+v, %v", r, err)
			}
		}
	})
}
