package handbook

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd/api"
	"github.com/graphd/graphd/docs"
	"go.yaml.in/yaml/v3"
)

// An operator is no path, the words of the concepts are rows of a table, and what a page tells its tests is for nobody.
func TestOperatorsAndConcepts(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"?.": "unless it is read by ?.", "boundary": "a typed snapshot that an accumulator hands to the reactor",
		"passthrough": "hands over: every event", "websocket": "Nothing but the socket",
	} {
		found, err := Find(word)
		if err != nil || len(found) == 0 || !strings.Contains(found[0].Text, want) {
			t.Errorf("%s: %v %+v", word, err, found)
		}
		for _, e := range found {
			if strings.Contains(e.Text, "<!--") || e.Term != word {
				t.Errorf("%s: %+v", word, e)
			}
		}
	}
}

// Every code on the page of diagnostics is explained, first of all by that page, and with
// the same words.
func TestEveryCodeIsExplained(t *testing.T) {
	t.Parallel()
	page, err := docs.Pages.ReadFile("diagnostics.md")
	if err != nil {
		t.Fatal(err)
	}
	codes := 0
	for line := range strings.Lines(string(page)) {
		cells := cut(strings.TrimRight(line, "\n"))
		if len(cells) != 3 || !strings.HasPrefix(cells[0], "`") {
			continue
		}
		for _, code := range words(cells[0]) {
			codes++
			found, err := Find(code)
			if err != nil || len(found) == 0 || !strings.HasPrefix(found[0].Where, "docs/diagnostics.md") ||
				!strings.Contains(found[0].Text, plain(cells[1])) || !strings.Contains(found[0].Text, plain(cells[2])) {
				t.Errorf("%s: %v %+v", code, err, found)
			}
		}
	}
	if codes < 60 {
		t.Errorf("only %d codes were found on the page", codes)
	}
}

// Every field of the upper levels of a declaration that the pages write about is explained,
// and so are kinds and health reasons.
func TestFieldsAreExplained(t *testing.T) {
	t.Parallel()
	var schema struct {
		Defs map[string]struct {
			Properties map[string]any
		} `yaml:"$defs"`
	}
	if err := yaml.Unmarshal(api.GraphSchema(), &schema); err != nil {
		t.Fatal(err)
	}
	var all string
	for _, page := range pages {
		text, err := docs.Pages.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		all += string(text)
	}
	looked := 0
	for def, path := range map[string]string{
		"accumulator": "accumulators.ticks.", "reactor": "reactor.", "node": "nodes.mid.", "output": "outputs.o.",
	} {
		if len(schema.Defs[def].Properties) == 0 {
			t.Errorf("the schema has no %s", def)
		}
		for field := range schema.Defs[def].Properties {
			if row := regexp.MustCompile("(?m)^\\|.*`([a-z_]+\\.)?" + field + "[`.]"); field == "key" ||
				!row.MatchString(all) {
				continue // no page has a row for it; that of key is of an output
			}
			looked++
			if found, err := Find(path + field); err != nil || len(found) == 0 {
				t.Errorf("%s%s: %v, nothing found", path, field, err)
			}
		}
	}
	if looked < 35 {
		t.Errorf("only %d fields were looked for", looked)
	}
	for term, where := range map[string]string{
		"accumulators.ticks.source.file.follow": "docs/kinds.md, file",
		"file":                                  "docs/kinds.md, file",
		"crash_loop":                            "docs/operations.md, Health",
		"durability.interval":                   "docs/declaration.md, durability, history, dead_letters",
		"accumulators.paid.join.within":         "docs/joins.md, The fields of join",
		"join.type":                             "docs/joins.md, The fields of join",
		"nth_left":                              "docs/joins.md, What is handed over",
		"accumulators.clicks.window.lateness":   "docs/windows.md, The fields of window",
		"loops.settle.until":                    "docs/loops.md, Loops",
		"window.late":                           "docs/windows.md, The fields of window",
	} {
		if found, err := Find(term); err != nil || len(found) == 0 || found[0].Where != where || found[0].Text == "" {
			t.Errorf("%s: %v %+v", term, err, found)
		}
	}
	for _, term := range []string{"held_back", "checkpoint_corrupt", "accumulator_connecting", "GraphdLeaseLost"} {
		found, err := Find(term)
		leads := func(e Entry) bool { return e.Where == "docs/runbook.md, "+term }
		if err != nil || !slices.ContainsFunc(found, leads) {
			t.Errorf("%s does not lead to the runbook: %v %+v", term, err, found)
		}
	}
	if found, err := Find("nothing_of_this_name"); err != nil || len(found) > 0 {
		t.Errorf("%v %+v", err, found)
	}
}
