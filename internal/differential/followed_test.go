package differential

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/graphd/graphd/internal/api"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

// led is a graph that others follow, and these: the leader comes first, and each before who follows it.
type led struct {
	graphs []*followed
}

// followed is one of them.
type followed struct {
	*wide
	of     *followed // whom it follows; nil: nobody
	output string    // of that
}

func (f *followed) name() string { return f.doc["graph"].(string) }

func (f *followed) ref() api.Ref { return api.Ref{Tenant: "default", Name: f.name()} }

// newLed draws a leader of any kind and four graphs that follow: two what a node of it comes to, one what a node of
// one of these comes to, and one the cuts.
func newLed(seed uint64) *led {
	for again := uint64(0); ; again++ {
		r := rand.New(rand.NewPCG(seed, 61_000+again))
		lead := &followed{wide: newWide(seed + again*wideSeeds)}
		lead.tells(r)
		lead.doc["outputs"].(tree)["cuts"] = tree{"from": "reactor", "sink": tree{"followers": tree{}}}
		first := newTail(r, "follows", lead, "told")
		first.tells(r)
		l := &led{[]*followed{lead, first, newTail(r, "behind", first, "told"), newTail(r, "beside", lead, "told"),
			newCutTail(r, "cutter", lead)}}
		if !lead.arrival && l.fits() == nil {
			return l
		}
	}
}

// fits says that each can be read, and who follows reads what there is.
func (l *led) fits() error {
	for _, g := range l.graphs {
		u, err := g.compile(g.doc)
		if err != nil || g.of == nil {
			if err != nil {
				return err
			}
			continue
		}
		of, err := g.compile(g.of.doc)
		if err != nil {
			return err
		}
		out, _ := of.Outlet(g.output)
		if err := u.Misfits(g.inputs[0].name, out.Type).Err(); err != nil {
			return err
		}
	}
	return nil
}

// tells adds an output for followers: events as the generator makes them, of what a graph computes.
func (f *followed) tells(r *rand.Rand) {
	f.r = r
	nodes, _ := f.doc["nodes"].(tree)
	if nodes == nil {
		nodes = tree{}
		f.doc["nodes"] = nodes
	}
	x := f.pick("int(X) % 20", "(int(X ?? 3) % 20)", "epoch() % 7 == 3 ? nil : epoch() % 20", "epoch() % 20")
	nodes["teller"] = tree{"event": true, "expr": strings.ReplaceAll(`{"k": ["p", "q", "r"][epoch() % 3], `+
		`"g": epoch() % 2, "x": `+x+`, "f": (epoch() % 400) / 8, "s": epoch() % 5 > 1 ? "u" : "vv", "at": now()}`,
		"X", f.number())}
	told := tree{"from": "teller", "sink": tree{"followers": tree{}}}
	f.maybe(4, told, "where", f.pick("epoch % 3 != 1", "value != nil", `cause() != "tick"`))
	f.maybe(4, told, "emit", f.pick("each", "on_change"))
	f.maybe(6, told, "emit_null", true)
	f.doc["outputs"].(tree)["told"] = told
	if d, ok := f.doc["durability"].(tree); ok && d["mode"] == "none" {
		delete(f.doc, "durability")
	}
}

// newTail draws a graph that follows an output of events, of every kind there is with one input.
func newTail(r *rand.Rand, name string, of *followed, output string) *followed {
	w := &wide{r: r, routes: map[string][]string{}, by: []string{"k"}, keys: []string{"p", "q", "r"}, said: true}
	w.doc = tree{"graph": name, "vars": tree{"threshold": r.IntN(20)}, "accumulators": tree{}, "nodes": tree{},
		"outputs": tree{}}
	w.keyed = w.one(3)
	w.drawInputs(1)
	w.drawReactor()
	// A time is a text where an event is read from a file, and takes another number of bytes.
	delete(w.doc["reactor"].(tree), "max_waiting_bytes")
	// Events of one instant that come together may put each other's keys out before they fire, and apart they do not:
	// which it is here goes by what the leader has put out by then.
	delete(w.doc["reactor"].(tree), "max_keys")
	w.drawNodes()
	if w.one(3) {
		w.drawLoop()
	}
	w.drawLanes(r.Uint64())
	w.drawRates(r.Uint64())
	w.drawOutputs()
	return w.following(of, output)
}

// newCutTail draws a graph that follows the cuts of another.
func newCutTail(r *rand.Rand, name string, of *followed) *followed {
	w := &wide{r: r, said: true}
	in := &wideInput{name: "cut", kind: w.pick("passthrough", "window", "fold", "state"), acc: tree{}, triggers: true}
	nodes, reactor := tree{"seen": tree{"expr": "cut"}}, tree{}
	one := "event." + of.inputs[r.IntN(of.streams())].name
	clock := "now()"
	if in.kind != "window" && w.one(4) {
		clock = "cut == nil" // without times the clock is the wall's
	} else {
		in.acc["time"] = "event.now"
	}
	if w.one(4) {
		in.acc["where"] = w.pick("event.epoch % 5 != 0", `event.meta.cause != "tick"`, one+" != nil")
	}
	key := w.pick(`"all"`, "event.epoch % 3")
	if of.keyed && w.one(2) {
		key = "event.key"
	}
	switch in.kind {
	case "window":
		in.acc["window"] = tree{"key": key, "aggregate": tree{"n": "count()", "s": "sum(event.epoch)",
			"whole": "last(event)", "fresh": "sum(len(event.meta.fresh))"}}
		win := in.acc["window"].(tree)
		win[w.pick("tumbling", "session")] = w.ms(100, 4000)
		nodes["mean"] = tree{"expr": "rolling_mean(cut.s, 4) + cut.n"}
	case "fold":
		in.acc["fold"] = tree{"key": key, "step": tree{"n": "(state?.n ?? 0) + event.epoch", "one": one + " ?? nil"}}
		nodes["mean"] = tree{"expr": "rolling_mean(cut.n, 4)"}
	case "state":
		in.acc["state"] = tree{"keep": 1 + r.IntN(5)}
		nodes["mean"] = tree{"expr": "sum(cut, .epoch)"}
	default:
		if w.one(3) {
			in.acc["key"], reactor["key"], w.keyed = key, "k", true
		}
		nodes["mean"] = tree{"expr": "cut.epoch - lag(cut.epoch)", "on_error": "skip"}
		nodes["fresh"] = tree{"expr": "[cut.meta.cause, cut.meta.fresh, epoch(), " + clock + "]"}
	}
	outs := tree{}
	for _, name := range slices.Sorted(keysOf(nodes)) {
		outs["o_"+name] = tree{"from": name, "sink": tree{"stdout": tree{}}}
	}
	w.inputs = []*wideInput{in}
	w.doc = tree{"graph": name, "accumulators": tree{"cut": in.acc}, "nodes": nodes, "outputs": outs}
	if len(reactor) > 0 {
		w.doc["reactor"] = reactor
	}
	return w.following(of, "cuts")
}

// following has the input of w follow an output.
func (w *wide) following(of *followed, output string) *followed {
	in := w.inputs[0]
	in.acc["source"] = tree{"follow": tree{"name": of.name(), "output": output}}
	if w.doc["accumulators"] = (tree{in.name: in.acc}); in.acc["strategy"] != nil {
		in.acc["strategy"] = "sequential" // how many values come at once is nobody's promise
	}
	delete(in.acc, "time_unit")
	delete(in.acc, "timezone")
	if w.doc["idle"] = "1h"; in.acc["time"] == nil {
		delete(w.doc, "idle")
	}
	if w.drawKeeping(); w.doc["durability"] != nil && w.doc["durability"].(tree)["mode"] == "none" {
		delete(w.doc, "durability")
	}
	outs := tree{}
	for name, o := range w.doc["outputs"].(tree) {
		outs[w.doc["graph"].(string)+"_"+name] = o
	}
	if w.doc["outputs"] = outs; !strings.Contains(string(text(w.doc)), "vars.") {
		delete(w.doc, "vars")
	}
	return &followed{w, of, output}
}

// runs is what bounded runs say, each on what the one before has put out.
func (l *led) runs(t *testing.T) (want []*spoken, err error) {
	said := map[*followed]*spoken{}
	for _, g := range l.graphs {
		if g.of != nil {
			in := g.inputs[0]
			in.lines = nil
			for _, line := range said[g.of].outputs[g.output] {
				in.lines = append(in.lines, wideLine{text: string(valueOf(strings.SplitN(line, " ", 3)[2]))})
			}
		}
		if said[g], err = g.run(t, g.doc); err != nil {
			return nil, fmt.Errorf("%s: %w", g.name(), err)
		}
		want = append(want, said[g])
	}
	for _, s := range want {
		delete(s.outputs, "told")
		delete(s.outputs, "cuts")
	}
	return want, nil
}

// lives has all of them live, to the end of the leader's input or until the store dies.
func (l *led) lives(t *testing.T, store *mortal, docs []string, out *safeBuffer, want []*spoken) (
	got []*spoken, died bool, err error) {
	first, err := beginAs(t, l.graphs[len(docs)-1].ref(), store, docs[len(docs)-1], out)
	defer func() { _ = first.e.Close() }()
	// Who follows is there first: what is put out before anybody follows is for nobody.
	for i := len(docs) - 2; i >= 0 && err == nil; i-- {
		_, err = first.e.Apply(t.Context(), l.graphs[i].ref(), []byte(docs[i]), api.Change{})
	}
	if err == nil {
		got, err = l.come(first, want)
	}
	if err == nil && !first.died() {
		err = first.e.Close()
	}
	if first.died() {
		return nil, true, nil
	}
	return got, false, err
}

// come waits until all of them have come to the end, each by itself: one may have to be started again.
func (l *led) come(first *life, want []*spoken) (got []*spoken, err error) {
	got = make([]*spoken, len(l.graphs))
	failed, all := make([]error, len(got)), sync.WaitGroup{}
	for i, g := range l.graphs {
		got[i] = newSpoken()
		all.Go(func() {
			own := *first
			own.ref = g.ref()
			if _, err := own.comes(g.events(), got[i], want[i]); err != nil {
				failed[i] = fmt.Errorf("%s: %w", g.name(), err)
			}
		})
	}
	all.Wait()
	return got, errors.Join(failed...)
}

// live is what they say live, where the leader finds all its events in files, when they are killed at random points.
func (l *led) live(t *testing.T, seed uint64, want []*spoken, kills bool) (string, error) {
	var docs, dirs []string
	for i, g := range l.graphs {
		dir := t.TempDir()
		dirs = append(dirs, dir)
		doc, err := written(g.doc, func(doc tree) {
			if i == 0 {
				g.overFiles(dir, seed%3 == 0)(doc)
			}
			g.overSinks(dir)(doc)
			if kills {
				doc["durability"] = g.often(doc, seed+uint64(i))
			}
		})
		if err != nil {
			return "", err
		}
		docs = append(docs, doc)
	}
	for _, in := range l.graphs[0].inputs {
		if err := in.append(dirs[0], in.texts()...); err != nil {
			return "", err
		}
	}
	store, out := memstore.NewSeeded(seed), &safeBuffer{}
	defer store.Close()
	for life := int64(0); life < 300; life++ {
		commits := int64(eternal)
		if kills {
			commits = (min(life, 1) + life/4) * int64(len(docs))
		}
		m := newMortal(store, commits)
		m.sharded = true // one of them may be tried three times without a commit
		got, died, err := l.lives(t, m, docs, out, want)
		switch {
		case err != nil:
			return "", err
		case !died:
			return l.differ(got, want, out, dirs)
		}
	}
	return "", errors.New("the graphs do not get through")
}

// differ says how what was said differs from what is wanted.
func (l *led) differ(got, want []*spoken, out *safeBuffer, dirs []string) (string, error) {
	all := newSpoken()
	if err := all.values(out.b.Bytes()); err != nil {
		return "", err
	}
	for i, g := range l.graphs {
		outs, _ := g.doc["outputs"].(tree)
		for name := range outs {
			if lines := all.outputs[name]; len(lines) > 0 {
				got[i].outputs[name] = lines
			}
		}
		if err := got[i].files(dirs[i], false); err != nil {
			return "", err
		}
		if said := got[i].differs(want[i]); said != "" {
			return g.name() + ": " + said, nil
		}
	}
	return "", nil
}

// told are the declarations and what they are given.
func (l *led) told() string {
	var b strings.Builder
	for _, g := range l.graphs {
		fmt.Fprintf(&b, "%s\n%s\n", text(g.doc), g.wide.told())
	}
	return b.String()
}

// M7, M26, M46: what bounded runs say, each over what the one before has put out for it, graphs say that follow each
// other, live and across kills.
func TestM46WideFollowersEqualRuns(t *testing.T) {
	t.Parallel()
	values, many := map[string]int{}, min(howMany(20), 24) // of five graphs each
	if few() {
		many = 2
	}
	for seed := range drawnSeeds(t, many) {
		l := newLed(seed)
		for _, kills := range []bool{false, true} {
			want, err := l.runs(t)
			said := ""
			if err == nil {
				said, err = l.live(t, seed, want, kills)
			}
			if err != nil || said != "" {
				t.Errorf("seed %d, kills %t: %s\n%s", seed, kills, first(said, err), l.told())
				return
			}
			for i, g := range l.graphs {
				for _, lines := range want[i].outputs {
					values[g.name()] += len(lines)
				}
			}
		}
	}
	t.Logf("values compared: %s", text(values))
	if !t.Failed() && !few() && os.Getenv("DIFF_SEED") == "" {
		for _, name := range []string{"follows", "behind", "beside", "cutter"} {
			if values[name] == 0 {
				t.Errorf("no value of %s was compared", name)
			}
		}
	}
}
