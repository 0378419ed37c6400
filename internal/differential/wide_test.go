package differential

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/sink/stdout"
)

// tree is a mapping of a declaration. encoding/json writes its names in order, so inputs are declared in the
// order of their names.
type tree = map[string]any

// wide is a random declaration that draws from every field there is, and the events of its inputs.
type wide struct {
	r      *rand.Rand
	doc    tree
	inputs []*wideInput
	nums   []string // names of nodes that are numbers
	others []string // names of other nodes
	routes map[string][]string
	keyed  bool
	// apart: no two inputs have an event of one time, and what is behind comes right after what it is behind, so that
	// each instant is of one input and can be handed over at once.
	apart bool
	// said is whether each strategy is written down, so that nodes with memory may rest on any input.
	said bool
	// strategy is the reactor's; "" where it has none.
	strategy string
	// arrival: no clock but the one of arrival, which is the same in a bounded run and in a test alone.
	arrival bool
	// broken: now and then an event that some expression cannot take.
	broken bool
	// shards is how many live shards the keys are dealt to; 0: nobody has said.
	shards int
	// dealt: there are keys, and they can be dealt to shards.
	dealt bool
	// asOne: the keys can be dealt, and are not.
	asOne bool
	// seed is what it is drawn from.
	seed uint64
	// by are the fields of the events that make the key, and keys what the first of them is drawn from.
	by, keys []string
}

// wideSeeds is how many declarations there are.
const wideSeeds = 300

// wideInput is one input with its events.
type wideInput struct {
	name     string
	kind     string
	acc      tree
	strategy string // as it holds
	triggers bool
	scalar   bool // emit makes it a number
	grouped  bool // a window with groups: all
	fold     string
	late     string // the input for its late events
	counted  bool   // a window of so many events, which has no times
	keyed    bool   // a batch for each key
	lines    []wideLine
}

// folds says that a boundary has values of several events in it.
func (in *wideInput) folds() bool { return in.kind == "window" || in.kind == "fold" || in.keyed }

// wideLine is one event in the place it has in its file.
type wideLine struct {
	at   int64 // milliseconds after zero
	text string
}

// instantOf is what a bounded run takes in together.
type instantOf struct {
	at     int64
	inputs []string
	events [][]string // by input
}

func newWide(seed uint64) *wide {
	// A declaration that is refused is drawn anew: which ones are valid is more than the generator knows.
	for again := uint64(0); ; again++ {
		w := &wide{r: rand.New(rand.NewPCG(seed, 9000+again)), routes: map[string][]string{},
			by: []string{"k"}, keys: []string{"p", "q", "r"}}
		w.draw(seed)
		if _, err := w.compile(w.doc); err == nil || again == 20 {
			return w
		}
	}
}

func (w *wide) draw(seed uint64) {
	w.apart, w.arrival, w.broken = seed%2 == 0, seed%8 == 7, w.one(3)
	w.keyed, w.said = w.one(3) || w.dealt, !w.one(5)
	w.doc = tree{"graph": "random", "accumulators": tree{}, "nodes": tree{}, "outputs": tree{}}
	if w.one(3) {
		w.doc["description"] = "drawn"
	}
	w.doc["vars"] = tree{"threshold": w.r.IntN(20)}
	if !w.arrival && w.one(2) {
		w.doc["clock"], w.doc["idle"] = "event", w.pick("1h", "20m")
	}
	if w.one(4) {
		w.strategy = w.pick("latest", "sequential", "sequential", "burst")
	}
	if w.drawInputs(1 + w.r.IntN(3)); w.one(3) {
		w.drawTable()
	}
	if w.drawReactor(); len(w.doc["reactor"].(tree)) == 0 {
		delete(w.doc, "reactor")
	}
	if w.one(15) {
		delete(w.doc, "nodes")
	} else {
		w.drawNodes()
		if w.one(4) {
			w.drawLoop()
		}
		if w.strategy != "latest" && w.strategy != "burst" && w.one(4) {
			w.drawStage()
		}
		w.drawLanes(seed)
		w.drawRates(seed)
	}
	w.drawOutputs()
	w.drawKeeping()
	if !strings.Contains(string(text(w.doc)), "vars.") {
		delete(w.doc, "vars")
	}
	w.drawEvents()
}

func (w *wide) one(in int) bool             { return w.r.IntN(in) == 0 }
func (w *wide) pick(words ...string) string { return words[w.r.IntN(len(words))] }
func (w *wide) ms(from, to int) string      { return fmt.Sprintf("%dms", from+w.r.IntN(to-from)) }

// maybe sets a field in one of so many declarations.
func (w *wide) maybe(in int, t tree, name string, v any) {
	if w.one(in) {
		t[name] = v
	}
}

// some is some of the fields.
func (w *wide) some(of tree) tree {
	names := slices.Sorted(keysOf(of))
	keep, some := names[w.r.IntN(len(names))], tree{}
	for _, name := range names {
		if name == keep || w.one(2) {
			some[name] = of[name]
		}
	}
	return some
}

// compile checks a declaration.
func (w *wide) compile(doc tree) (*compile.Unit, error) {
	u, diags := (&builtin.Kinds{Sinks: lines(stdout.NewOutput(io.Discard))}).Parse(text(doc), "random.json")
	return u, diags.Err()
}

// written is the declaration as a user of one of the ways writes it.
func written(doc tree, change func(doc tree)) (string, error) {
	var own tree
	if err := json.Unmarshal(text(doc), &own); err != nil {
		return "", err
	}
	change(own)
	return string(text(own)), nil
}

// overFiles has the inputs read their files in dir, and the outputs with an outbox write theirs.
func (w *wide) overFiles(dir string, follow bool) func(tree) {
	return func(doc tree) {
		accs, _ := doc["accumulators"].(tree)
		for _, in := range w.inputs {
			acc, ok := accs[in.name].(tree)
			if !ok {
				continue
			}
			source := tree{"path": filepath.Join(dir, in.name+".ndjson"), "follow": follow}
			if len(in.name)%2 == 0 {
				source["format"] = "ndjson"
			}
			acc["source"] = tree{"file": source}
		}
		w.overSinks(dir)(doc)
	}
}

// overSinks has the outputs with an outbox write their files in dir.
func (w *wide) overSinks(dir string) func(tree) {
	return func(doc tree) {
		outs, _ := doc["outputs"].(tree)
		for name, o := range outs {
			if out, ok := o.(tree); ok {
				if sink, ok := out["sink"].(tree); ok && sink["file"] != nil {
					out["sink"] = tree{"file": tree{"path": filepath.Join(dir, name+".out")}}
				}
			}
		}
	}
}

// instants are the events in the order of a bounded run (M26): of the inputs' next events the earliest, what is
// behind now happens now, and of one instant in the order of declaration.
func (w *wide) instants() (all []instantOf) {
	next, now := make([]int, len(w.inputs)), int64(-1<<62)
	for {
		least := int64(1 << 62)
		for i, in := range w.inputs {
			if next[i] < len(in.lines) {
				least = min(least, max(in.lines[next[i]].at, now))
			}
		}
		if least == 1<<62 {
			return all
		}
		if now < least {
			now = least
			all = append(all, instantOf{at: now})
		}
		last := &all[len(all)-1]
		for i, in := range w.inputs {
			var events []string
			for ; next[i] < len(in.lines) && in.lines[next[i]].at <= now; next[i]++ {
				events = append(events, in.lines[next[i]].text)
			}
			if len(events) > 0 {
				last.inputs, last.events = append(last.inputs, in.name), append(last.events, events)
			}
		}
	}
}

// turns are the events of a run without times: one of each input in turn, a millisecond apart.
func (w *wide) turns() (all []instantOf) {
	for i := 0; ; i++ {
		before := len(all)
		for _, in := range w.inputs {
			if i < len(in.lines) {
				all = append(all, instantOf{int64(len(all)), []string{in.name}, [][]string{{in.lines[i].text}}})
			}
		}
		if len(all) == before {
			return all
		}
	}
}

// events is how many there are.
func (w *wide) events() (n int64) {
	for _, in := range w.inputs {
		n += int64(len(in.lines))
	}
	return n
}

// drawEvents gives every input its events.
func (w *wide) drawEvents() {
	used := map[int64]bool{}
	for _, in := range w.inputs {
		at, step, disorder := int64(w.r.IntN(2000)), 1+w.r.IntN(900), w.one(2)
		newest := int64(-1)
		for range (10 + w.r.IntN(110)) * (1 + len(w.keys)/10) {
			at += int64(w.r.IntN(step))
			t := at
			if behind := disorder && w.one(6) && newest >= 0; behind {
				t = max(0, newest-int64(w.r.IntN(3000)))
			} else if w.apart && t > newest {
				for used[t] {
					t++
				}
				used[t], at = true, t
			}
			newest = max(newest, t)
			in.lines = append(in.lines, wideLine{t, w.line(in, t)})
		}
	}
}

// line is one event.
func (w *wide) line(in *wideInput, at int64) string {
	e := tree{"k": w.pick(w.keys...), "g": w.r.IntN(2), "x": w.r.IntN(20), "f": float64(w.r.IntN(400)) / 8,
		"s": strings.Repeat(w.pick("u", "v"), 1+w.r.IntN(3))}
	e["at"] = w.stamp(in, zero.Add(time.Duration(at)*time.Millisecond))
	if w.broken && w.one(25) {
		switch w.r.IntN(4) {
		case 0:
			e["x"] = nil
		case 1:
			e["x"] = "no number"
		case 2:
			delete(e, "k")
		case 3:
			delete(e, "x")
		}
	}
	return string(text(e))
}

// stamp is a time as the input's declaration reads it.
func (w *wide) stamp(in *wideInput, t time.Time) any {
	unit, _ := in.acc["time_unit"].(string)
	zone, _ := in.acc["timezone"].(string)
	switch {
	case unit == "s":
		// Without zeros at its end, as what is pushed in a test has it: a bound in bytes counts them.
		return json.RawMessage(strings.TrimSuffix(strings.TrimRight(
			fmt.Sprintf("%d.%03d", t.Unix(), t.Nanosecond()/1e6), "0"), "."))
	case unit == "us":
		return t.UnixMicro()
	case unit == "ns":
		return t.UnixNano()
	case unit == "ms":
		return t.UnixMilli()
	case zone != "":
		place, err := time.LoadLocation(zone)
		if err != nil {
			panic(err)
		}
		return t.In(place).Format("2006-01-02T15:04:05.000")
	}
	return t.Format("2006-01-02T15:04:05.000Z07:00")
}
