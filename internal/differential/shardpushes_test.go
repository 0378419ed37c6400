package differential

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/pushkey"
)

// movedPushes is what a live graph says that each event is pushed to, at either member, while its shards go from one to
// the other.
func (p *pairs) movedPushes(w *wide, t *testing.T, doc tree, seed uint64, want *spoken, all *tally) (*spoken, error) {
	live, err := written(doc, func(doc tree) {
		d := w.often(doc, seed)
		d["mode"] = "journal" // what was pushed is kept where a lease is lost, too
		doc["durability"] = d
	})
	if err != nil {
		return nil, err
	}
	// What was turned away and came again was received and rejected once more (M42).
	own := want.shared
	defer func() { want.shared = own }()
	want.shared = func(s *spoken) *spoken {
		all := own(s)
		for name, b := range all.books {
			b.received, b.refused = b.received-b.refused, 0
			all.books[name] = b
		}
		return all
	}
	var torn []int
	s, err := p.run(t, live, w.events(), want, all, func(two *pair) error {
		r, instants := rand.New(rand.NewPCG(seed, 53)), w.instants()
		var moving sync.WaitGroup
		var failed error
		for k, at := range instants {
			if k%(len(instants)/3+1) == 10 {
				if moving.Wait(); failed != nil {
					return failed
				}
				moving.Go(func() { failed = two.move(t.Context(), r, false) })
			}
			again, err := two.push(t.Context(), two.members[k%2], fmt.Sprint(k), at.inputs[0], at.events[0])
			if again && len(at.events[0]) > 1 {
				torn = append(torn, k)
			}
			if err != nil {
				moving.Wait()
				return err
			}
		}
		moving.Wait()
		return failed
	})
	if err != nil {
		return nil, err
	}
	for name, b := range want.books {
		if got := s.books[name]; got.refused > b.refused && got.received-got.refused == b.received-b.refused {
			got.received, got.refused = b.received, b.refused
			s.books[name] = got
		}
	}
	s.torn = torn
	all.torn.Add(int64(len(torn)))
	return s, nil
}

// push pushes the events of an instant until each is taken, or refused for what it is. The key has all of them sent
// again, and each shard takes what it has not; again says that this was needed.
func (p *pair) push(ctx context.Context, m *member, key, input string, events []string) (again bool, err error) {
	var all []json.RawMessage
	for _, e := range events {
		all = append(all, json.RawMessage(e))
	}
	ctx, cancel := context.WithTimeout(ctx, patience) // who waits longer waits for ever
	defer cancel()
	ctx = pushkey.Batch(pushkey.With(ctx, pushkey.Key{Text: key, Hash: text(all)}), 0)
	tries := 0
	err = until(func() error {
		tries++
		res, err := m.e.Push(ctx, wideRef, input, all)
		if err != nil {
			return err
		}
		if res.Full || slices.ContainsFunc(res.Rejected, func(r api.Rejection) bool {
			return slices.Contains(turnedAway(), r.Code)
		}) {
			return fmt.Errorf("events of %s are turned away: %s", input, text(res))
		}
		return nil
	})
	return tries > 1, err
}

// turnedAway are the codes of events that are to be pushed again.
func turnedAway() []string {
	return []string{api.CodeOwnerMoved, api.CodeOwnerUnreachable, api.CodeQueueFull, api.CodeGraphRestarted,
		api.CodeGraphStopping}
}

// mostCuts bounds in how many places what came apart may have been cut: each doubles what is compared.
const mostCuts = 7

// differsApart says how what was said differs, where events of one instant were turned away and came again: events that
// come apart may be two instants (M26), so that a burst is two lists and what is latest is two epochs. Each key is to
// say what it says for some way to cut these instants, in which nothing else may differ: not what is lost, doubled or
// in another order.
func (w *wide) differsApart(t *testing.T, got *spoken) (string, error) {
	instants := w.instants()
	cuts := cutsOf(instants, got.torn)
	right, said := map[string][][]string{}, got.byKey()
	for some := range 1 << len(cuts) {
		s, err := w.virtuallyAt(t, w.doc, nil, cutAt(instants, cuts, some))
		if err != nil {
			return "", err
		}
		of := s.byKey()
		for key := range said {
			of[key] = append([]string(nil), of[key]...)
		}
		for key, values := range of {
			right[key] = append(right[key], values)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(right)) {
		if !slices.ContainsFunc(right[key], func(values []string) bool { return slices.Equal(values, said[key]) }) {
			return fmt.Sprintf("%s, whichever of %v came apart:\n got %s\nwant %s", key, got.torn, said[key],
				right[key]), nil
		}
	}
	for name, b := range got.books {
		if n := b.filtered + b.conflated + b.refused + b.consumed + b.queued; n != b.received {
			return fmt.Sprintf("books of %s: %+v", name, b), nil
		}
	}
	return "", nil
}

// cutsOf are the places where instants may have been cut: an instant, and before which of its events.
func cutsOf(instants []instantOf, torn []int) (cuts [][2]int) {
	for _, k := range torn {
		for e := 1; e < len(instants[k].events[0]) && len(cuts) < mostCuts; e++ {
			cuts = append(cuts, [2]int{k, e})
		}
	}
	return cuts
}

// cutAt has some of the cuts made.
func cutAt(instants []instantOf, cuts [][2]int, some int) (all []instantOf) {
	for k, at := range instants {
		events, from := at.events, 0
		for i, c := range cuts {
			if c[0] == k && some&(1<<i) != 0 {
				all = append(all, instantOf{at.at, at.inputs, [][]string{events[0][from:c[1]]}})
				from = c[1]
			}
		}
		if from > 0 {
			at.events = [][]string{events[0][from:]}
		}
		all = append(all, at)
	}
	return all
}

// M26, M42: what comes apart of an instant is told from what is lost: a graph that is pushed some instants event by
// event differs from a run, not from one in which these are instants of their own; and from that too where more values
// are missing than may have come of cuts.
func TestM26WhatComesApartIsNotLost(t *testing.T) {
	t.Parallel()
	compared, bursts := 0, 0
	for seed := uint64(0); compared < 6 || bursts < 2; seed += 2 {
		w := newLiveDealt(seed)
		if w == nil || !w.apart {
			continue
		}
		instants, torn := w.instants(), []int(nil)
		for k, at := range instants {
			if len(at.events[0]) == 2 && len(torn) < 3 {
				torn = append(torn, k)
			}
		}
		want, err := w.run(t, w.doc)
		if err != nil {
			t.Fatal(err)
		}
		cut, err := w.virtuallyAt(t, w.doc, nil, cutAt(instants, cutsOf(instants, torn), 1<<len(torn)-1))
		if err != nil {
			t.Fatal(err)
		}
		burst := slices.ContainsFunc(w.inputs, func(in *wideInput) bool { return in.strategy == "burst" })
		if w.differsByKey(cut, want) == "" || !burst && compared >= 4 {
			continue // it says the same, or shows what others have shown
		}
		if compared++; burst {
			bursts++
		}
		got, err := w.pushedInTurn(t, w.doc, seed, nil, torn)
		if err != nil {
			t.Fatal(err)
		}
		got.torn = torn
		if said, err := w.differsApart(t, got); err != nil || said != "" {
			t.Errorf("seed %d: %v: %s\n%s", seed, err, said, text(w.doc))
		}
		// Each place that is cut may bring an epoch more, so the last value alone may be of one that need not be.
		missing := len(cutsOf(instants, torn)) + 1
		most := slices.MaxFunc(slices.Sorted(maps.Keys(got.outputs)), func(a, b string) int {
			return cmp.Compare(len(got.outputs[a]), len(got.outputs[b]))
		})
		got.outputs[most] = got.outputs[most][:max(len(got.outputs[most])-missing, 0)]
		if said, err := w.differsApart(t, got); err != nil || said == "" {
			t.Errorf("seed %d: that %d values of %s are missing is not found: %v", seed, missing, most, err)
		}
	}
	t.Logf("%d declarations, %d of them with bursts", compared, bursts)
}
