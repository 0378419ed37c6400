package differential

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/api"
)

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
	if said := differsInKeys(got, want); said != "" {
		return said
	}
	return w.shared(got).differsInBooks(w.shared(want))
}

// differsInKeys is that without the books, but for those that say themselves what of them is comparable.
func differsInKeys(got, want *spoken) string {
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
	if got.like != nil {
		return want.shared(got).differsInBooks(want.shared(want))
	}
	return ""
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

// standstill is since when a live graph has taken in and fired nothing: what is lost by then does not come any more.
type standstill struct {
	counted string
	since   time.Time
}

// lasts says that it is so for longer than a graph on a busy machine takes for anything.
func (s *standstill) lasts(sum *api.GraphSummary) bool {
	counted := fmt.Sprint(sum.Health, sum.Epoch, sum.Incarnation, sum.Counters)
	if counted != s.counted {
		s.counted, s.since = counted, time.Now()
	}
	return sum.Health == "live" && time.Since(s.since) > patience/3
}
