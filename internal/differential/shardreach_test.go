package differential

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/builtin"
)

// undealt are the fields and words that declarations with shards leave out, by the beginning of their path, and why,
// beside those of undrawn.
func undealt() map[string]string {
	const refused, follows = "such a graph is refused with shards", "who follows, or is followed, runs as one"
	const rows = "several shards have room for more than one has"
	return map[string]string{
		"accumulators.*.from":   refused,
		"accumulators.*.source": follows, "outputs.*.sink.followers": follows,
		"accumulators.*.join.max_rows": rows, "accumulators.*.join.max_bytes": rows,
		"lanes.*.fixed_rate": "a graph with keys has no lanes at a rate of their own",
	}
}

// asOne are those that only declarations have which are run as one, and so are not dealt whatever shards says.
func asOne() map[string]string {
	const global = "only a global input has it in a graph with keys, and that folds for all keys"
	return map[string]string{
		"accumulators.*.batch.flush": global, "accumulators.*.state": global, "accumulators.*.window.groups": global,
		"accumulators.*.window.early":       "when early results come depends on all keys",
		"accumulators.*.table.ttl":          "it is global and goes by the clock",
		"accumulators.*.table.as_of=event":  "rows as of the event",
		"accumulators.*.table.max_versions": "rows as of the event",
	}
}

// begins says that a path begins with one of the reasons.
func begins(path string, why map[string]string) bool {
	for of := range why {
		if rest, ok := strings.CutPrefix(path, of); ok && (rest == "" || strings.ContainsAny(rest[:1], ".=")) {
			return true
		}
	}
	return false
}

// reached counts what so many declarations with shards have and leave out, of those that are run beside each other and
// of those that are run as one.
func reached(t *testing.T, many uint64, all map[string]bool) (beside, one [2]map[string]int) {
	t.Helper()
	for i := range beside {
		beside[i], one[i] = map[string]int{}, map[string]int{}
	}
	drawn := make([]*wide, 0, 2*many)
	for seed := range many {
		if drawn = append(drawn, newDealt(seed)); seed%5 == 1 {
			drawn = append(drawn, newDealtJoin(seed))
		}
	}
	for _, w := range drawn {
		var doc tree
		if err := json.Unmarshal(text(w.doc), &doc); err != nil {
			t.Fatal(err)
		}
		u, err := w.compile(w.doc)
		if err != nil {
			t.Fatal(err)
		}
		to := &beside
		if u.OneCore() != "" {
			to = &one
		}
		reach(doc, "", all, to[0], to[1])
	}
	return beside, one
}

// M48: the declarations with shards that are compared have every field that they can have, with every word that it can
// be, and go without each that can be left out. Those that are dealt have all of it but what makes a graph run as one.
func TestShardsDrawEveryField(t *testing.T) {
	t.Parallel()
	var root schema
	if err := json.Unmarshal((&builtin.Kinds{}).Schema(), &root); err != nil {
		t.Fatal(err)
	}
	all, never, together := map[string]bool{}, undrawn(), asOne()
	root.fields(&root, "", all, 0)
	all["outputs"], all["reactor"], all["reactor.shards"], all["reactor.key"] = true, true, true, true
	all["accumulators"] = true // they may be included
	all["accumulators.*.fold.key"], all["accumulators.*.window.key"], all["accumulators.*.batch.key"] = true, true, true
	delete(never, "reactor.shards")
	for path, why := range undealt() {
		never[path] = why
	}
	beside, one := reached(t, 500, all)
	fields, dealt := 0, 0
	for _, path := range slices.Sorted(keysOf(all)) {
		has, lacks := beside[0], beside[1]
		switch {
		case begins(path, never):
			continue
		case begins(path, together):
			has, lacks = one[0], one[1]
			if beside[0][path] > 0 {
				t.Errorf("%s is in a declaration that is dealt: take it out of asOne", path)
			}
		default:
			dealt++
		}
		fields++
		parent, _ := cutLast(path)
		switch word := strings.Contains(path, "="); {
		case has[path] == 0:
			t.Errorf("no declaration has %s: draw it, or say in undealt or asOne why not", path)
		case !all[path] && !word && lacks[path] == 0 && (lacks[parent] == 0 || !only(all, path)):
			t.Errorf("every declaration has %s: its default is not compared", path)
		}
	}
	for _, why := range []map[string]string{undealt(), together} {
		for name := range why {
			if _, ok := all[name]; !ok {
				t.Errorf("%s is no field", name)
			}
		}
	}
	t.Logf("%d fields and words, %d of them in declarations whose shards run beside each other", fields, dealt)
}
