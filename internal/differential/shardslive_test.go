package differential

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// newLiveDealt draws a declaration that live shards run each by itself, under the event clock; nil where the seed's is
// none such.
func newLiveDealt(seed uint64) *wide {
	w := newDealt(seed)
	if w.arrival {
		return nil // when something arrives is another time in each life
	}
	w.doc["clock"], w.doc["idle"] = "event", "1h"
	outs, _ := w.doc["outputs"].(tree)
	for _, o := range outs {
		if out, ok := o.(tree); ok {
			if sink, ok := out["sink"].(tree); ok && sink["file"] != nil {
				out["sink"] = tree{"stdout": tree{}}
				delete(out, "delivery")
			}
		}
	}
	if u, err := w.compile(w.doc); err != nil || u.OneLive() != "" || !u.Spec.EventClock() {
		return nil
	}
	return w
}

// byKey is what was said of each key, without the numbers of the epochs, which are a shard's own.
func (s *spoken) byKey() map[string][]string {
	all := map[string][]string{}
	for name, lines := range s.outputs {
		for _, line := range lines {
			parts := strings.SplitN(line, " ", 3)
			value := string(valueOf(parts[2]))
			of := name + " " + strings.TrimSuffix(parts[2], value)
			all[of] = append(all[of], value)
		}
	}
	return all
}

// differsByKey says what the first difference is, where several shards have spoken; "" when there is none. What an
// input has for all keys is counted as the first shard has it, which need not fire when another does.
func (w *wide) differsByKey(got, want *spoken) string {
	said, right := got.byKey(), want.byKey()
	for of := range said {
		if right[of] == nil {
			right[of] = []string{}
		}
	}
	for _, of := range slices.Sorted(maps.Keys(right)) {
		if !slices.Equal(said[of], right[of]) {
			return fmt.Sprintf("%s:\n got %s\nwant %s", of, strings.Join(said[of], " "), strings.Join(right[of], " "))
		}
	}
	return w.shared(got).differsInBooks(w.shared(want))
}

// shared has of inputs for all keys what is counted alike in every shard: what has become of a value is one figure.
func (w *wide) shared(s *spoken) *spoken {
	all := newSpoken()
	for name, b := range s.books {
		acc, _ := w.doc["accumulators"].(tree)[name].(tree) // nil of an input for late events
		if acc["global"] == true || acc["table"] != nil {
			b.consumed, b.conflated, b.queued = b.consumed+b.conflated+b.queued, 0, 0
		}
		all.books[name] = b
	}
	return all
}

// M48, M49, M50: what live shards answer of each key is what one answers, whatever their number, however events come
// and wherever they are killed; and their books are those of one together.
func TestM48LiveShardsSayWhatOneSays(t *testing.T) {
	t.Parallel()
	many, ran, values := 0, 0, 0
	for seed := range drawnSeeds(t, 30) {
		many++
		w := newLiveDealt(seed)
		if w == nil {
			continue
		}
		want, err := w.run(t, w.doc)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		want.shared = w.shared
		ran++
		for _, n := range []int{1, 2, 7} {
			w.shards = n
			w.doc["reactor"].(tree)["shards"] = n
			for name, way := range map[string]func() (*spoken, error){
				"files":  func() (*spoken, error) { return w.caughtUp(t, w.doc, seed, want, false) },
				"killed": func() (*spoken, error) { return w.caughtUp(t, w.doc, seed, want, true) },
				"pushed": func() (*spoken, error) { return w.pushed(t, w.doc, seed, want) },
			} {
				if name == "pushed" && !w.apart {
					continue // what is behind comes when the rest is through
				}
				got, err := way()
				why := ""
				if err == nil {
					why = w.differsByKey(got, want)
				}
				if err != nil || why != "" {
					t.Errorf("seed %d, %d shards, %s: %v: %s\n%s\n%s", seed, n, name, err, why, text(w.doc), w.told())
				}
			}
		}
		for _, lines := range want.outputs {
			values += len(lines)
		}
	}
	t.Logf("%d of %d declarations, %d values", ran, many, values)
}
