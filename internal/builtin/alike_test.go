package builtin

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/policy"
	"github.com/graphd/graphd/internal/spec"
)

const alikeText = `# one of many
graph: NAME
accumulators:
  ticks: { source: { websocket: {} }, where: event.ask > event.bid }
reactor: { when: any, strategy: sequential, guard: ticks.bid > 0 }
nodes:
  mid: { expr: (ticks.bid + ticks.ask) / 2 }
outputs:
  mids: { from: mid, sink: { drop: {} } }
`

func alikeOf(name string) []byte { return []byte(strings.Replace(alikeText, "NAME", name, 1)) }

func parsed(t *testing.T, k *Kinds, text []byte, file string) *compile.Unit {
	t.Helper()
	u, ds := k.Parse(text, file)
	if err := ds.Err(); err != nil {
		t.Fatal(err)
	}
	return u
}

func planOf(t *testing.T, u *compile.Unit) string {
	t.Helper()
	text, err := u.PlanJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Graphs whose declarations differ in their names alone share what these come to, and each is what it would be by
// itself.
func TestAlikeGraphsShare(t *testing.T) {
	t.Parallel()
	k := &Kinds{}
	k.Keep()
	first := parsed(t, k, alikeOf("g_1"), "one.yaml")
	for _, name := range []string{"g_2", "h_3", "a_much_longer_name_4"} {
		u, alone := parsed(t, k, alikeOf(name), "two.yaml"), parsed(t, &Kinds{}, alikeOf(name), "two.yaml")
		if &u.Plan.Nodes()[0] != &first.Plan.Nodes()[0] || u.Programs[0] != first.Programs[0] ||
			&u.Spec.Outputs[0] != &first.Spec.Outputs[0] {
			t.Errorf("%s shares nothing", name)
		}
		if u.Spec.Name != name || u.Spec.File != "two.yaml" || u.Spec.Hash != alone.Spec.Hash ||
			u.Reactor().PlanHash != alone.Spec.Hash || planOf(t, u) != planOf(t, alone) {
			t.Errorf("%s is %s of %s, want that of %s", name, planOf(t, u), u.Spec.File, planOf(t, alone))
		}
	}
	if first.Spec.Name != "g_1" || first.Spec.File != "one.yaml" {
		t.Errorf("the first has become %s of %s", first.Spec.Name, first.Spec.File)
	}
}

// What is not in the text alone, or goes by the graph's name, is each graph's own.
func TestUnlikeGraphsDoNotShare(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s.json"), []byte(`{"type":"object"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]*strings.Replacer{
		"a reference": strings.NewReplacer("# one of many", "description: ${NOBODY_SETS_THIS:-x}"),
		"a hidden reference": strings.NewReplacer("# one of many",
			`description: "\u0024{NOBODY_SETS_THIS:-x}"`),
		"a hidden reference in a tree": strings.NewReplacer("# one of many",
			`vars: { a: { b: ["\x24{NOBODY_SETS_THIS:-x}"] } }`),
		"a schema in a file":  strings.NewReplacer("{ source", "{ schema: s.json, source"),
		"its name":            strings.NewReplacer("# one of many", "# of NAME"),
		"the first's name":    strings.NewReplacer("outputs:", "description: as g_1\noutputs:"),
		"quotes":              strings.NewReplacer("graph: NAME", `graph: "NAME"`),
		"a word":              strings.NewReplacer(),
		"it stands elsewhere": strings.NewReplacer("# one of many", "description: |\n  a\n  graph: x-1\n  b"),
	} {
		k := &Kinds{}
		k.Keep()
		text := func(of string) []byte { return []byte(strings.ReplaceAll(change.Replace(alikeText), "NAME", of)) }
		first, second := "g_1", "g_2"
		if name == "a word" {
			first, second = "gone", "gtwo"
		}
		a := parsed(t, k, text(first), filepath.Join(dir, "a.yaml"))
		b := parsed(t, k, text(second), filepath.Join(dir, "b.yaml"))
		shares := &a.Plan.Nodes()[0] == &b.Plan.Nodes()[0]
		if want := name == "it stands elsewhere"; shares != want {
			t.Errorf("%s: they share: %v", name, shares)
		}
		if a.Spec.Name != first || b.Spec.Name != second {
			t.Errorf("%s: the names are %s and %s", name, a.Spec.Name, b.Spec.Name)
		}
	}
}

// A graph that feeds itself is refused, though the same text under another name is not, and its name is hidden.
func TestAlikeGraphsFeedNotThemselves(t *testing.T) {
	t.Parallel()
	for of, change := range map[string]*strings.Replacer{
		"sink":   strings.NewReplacer("drop: {}", `graph: { name: "g\u005f2", accumulator: ticks }`),
		"source": strings.NewReplacer("websocket: {}", `graph: { name: "g\u005f2", output: mids }`),
	} {
		k := &Kinds{}
		k.Keep()
		text := func(name string) []byte { return []byte(change.Replace(string(alikeOf(name)))) }
		first := parsed(t, k, text("g_1"), "")
		if u, ds := k.Parse(text("g_2"), ""); u != nil || len(ds) != 1 || ds[0].Code != spec.CodeGraphCycle {
			t.Errorf("%s: a graph that feeds itself is told %v", of, ds)
		}
		if u := parsed(t, k, text("g_3"), ""); &u.Plan.Nodes()[0] != &first.Plan.Nodes()[0] {
			t.Errorf("%s: g_3 shares nothing", of)
		}
	}
}

// What one may reach who has declared the same another may not.
func TestAlikeGraphsAreCheckedEach(t *testing.T) {
	t.Parallel()
	k := &Kinds{}
	k.Keep()
	parsed(t, k, alikeOf("g_1"), "")
	own := *k // of the same daemon, with another policy
	own.Access = &policy.Policy{Kinds: []string{"source.http"}}
	if u, ds := own.Parse(alikeOf("g_2"), ""); u != nil || len(ds) == 0 {
		t.Error("a source is used that may not be, for another graph has it")
	}
}

// What nobody has any more is forgotten.
func TestAlikeGraphsAreForgotten(t *testing.T) {
	t.Parallel()
	k := &Kinds{}
	k.Keep()
	l, _ := likenessOf(alikeOf("g_1"), "")
	u, _ := k.ParseOf(checkpoint.DefaultTenant, alikeOf("g_1"), "")
	second, _ := k.ParseOf(checkpoint.DefaultTenant, alikeOf("g_2"), "")
	runtime.KeepAlive(u)
	runtime.GC()
	if k.kept.alike.find(l) == nil {
		t.Error("it is forgotten while one shares it")
	}
	runtime.KeepAlive(second)
	left := func() int {
		k.kept.alike.mu.Lock()
		defer k.kept.alike.mu.Unlock()
		return len(k.kept.alike.all)
	}
	for deadline := time.Now().Add(time.Minute); left() > 0; runtime.Gosched() {
		if runtime.GC(); time.Now().After(deadline) {
			t.Fatal("it is kept for nobody")
		}
	}
}
