package differential

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/sink/stdout"
	"github.com/graphd/graphd/internal/testbed/raced"
)

// shardDeclarations is how many declarations with shards are compared: as many as SHARD_DECLARATIONS says.
func shardDeclarations(t *testing.T) int {
	t.Helper()
	text := os.Getenv("SHARD_DECLARATIONS")
	many, err := strconv.Atoi(text)
	switch {
	case text != "" && err != nil:
		t.Fatalf("SHARD_DECLARATIONS=%s: %v", text, err)
	case text != "":
		return many
	case testing.Short():
		return 4
	case raced.Enabled:
		return 6 // one of them is run as one
	}
	return 40
}

// newDealt draws a declaration whose keys can be dealt, of those that the wide generator draws with keys. One in eight
// is run as one, whatever its shards are; the others run them beside each other.
func newDealt(seed uint64) *wide {
	for again := uint64(0); ; again++ {
		w := &wide{r: rand.New(rand.NewPCG(seed, 77_000+again)), routes: map[string][]string{}, dealt: true,
			asOne: seed%8 == 5, seed: seed}
		w.drawKeys()
		w.draw(seed)
		r, _ := w.doc["reactor"].(tree)
		if r == nil {
			continue
		}
		w.unbound(r)
		r["shards"] = 2
		if u, err := w.compile(w.doc); err == nil && (u.OneCore() != "") == w.asOne {
			return w
		}
	}
}

// drawKeys says what the keys are: few or many, texts, whole numbers, or of two parts.
func (w *wide) drawKeys() {
	w.keys = []string{"p", "q", "r", `é"\`, " ", "a longer key, so that it has more than one block of a hash"}
	switch w.r.IntN(4) {
	case 0:
		w.keys = w.keys[:3]
	case 1:
		for i := range 40 {
			w.keys = append(w.keys, fmt.Sprint("k", i))
		}
	}
	w.by = [][]string{{"k"}, {"k"}, {"k"}, {"x"}, {"k", "g"}}[w.r.IntN(5)]
}

// eventKey is the key of an event.
func (w *wide) eventKey() any {
	if len(w.by) == 1 {
		return "event." + w.by[0]
	}
	return []string{"event." + w.by[0], "event." + w.by[1]}
}

// unbound has the bounds that hold for each shard out of reach: several hold more than one does.
func (w *wide) unbound(r tree) {
	far := func(of tree, name string, bound int) {
		if of[name] != nil {
			of[name] = bound
		}
	}
	far(r, "max_keys", 100_000)
	far(r, "max_waiting_bytes", 1<<27)
	for _, in := range w.inputs {
		if f, ok := in.acc["fold"].(tree); ok {
			far(f, "max_keys", 100_000)
			far(f, "max_bytes", 1<<27)
		}
		if win, ok := in.acc["window"].(tree); ok && !w.asOne {
			delete(win, "early")
		}
	}
}

// newLiveDealt draws a declaration that is compared live too, under the event clock; nil where the seed's is none such.
// What goes to files goes to a sink that the program has: files are written by one.
func newLiveDealt(seed uint64) *wide {
	w := newDealt(seed)
	if seed%5 == 1 {
		w = newDealtJoin(seed)
	}
	if w.arrival {
		return nil // when something arrives is another time in each life
	}
	w.doc["clock"], w.doc["idle"] = "event", "1h"
	outs, _ := w.doc["outputs"].(tree)
	for _, o := range outs {
		if out, ok := o.(tree); ok {
			if to, ok := out["sink"].(tree); ok && to["file"] != nil {
				out["sink"] = tree{"go": tree{"name": "lines"}}
			}
		}
	}
	u, err := w.compile(w.doc)
	if err != nil || !u.Spec.EventClock() || u.OneCore() == "" && u.OneLive() != "" {
		return nil
	}
	return w
}

// lines are the sinks of the program: one that may have an outbox, and writes what stdout does.
func lines(to *stdout.Output) map[string]func() sink.Sink {
	return map[string]func() sink.Sink{"lines": func() sink.Sink { return to.Sink() }}
}
