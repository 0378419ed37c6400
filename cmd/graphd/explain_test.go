package main

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/graphd/graphd/cmd/graphd/internal/handbook"
)

var (
	// headings are the calls that make the head of a table, and heading a column in them.
	headings = regexp.MustCompile(`(?:NewTable\(|\bhead := \[\]string\{|append\(head, )((?:\s*"[A-Z ]+",?)+)`)
	heading  = regexp.MustCompile(`"([A-Z ]+)"`)
	// fact is the name of a line in what describes one thing.
	fact = regexp.MustCompile(`\bt\.Row\("([a-z][a-z ]*[a-z])",`)
)

// Every column of a table, every line of what describes a graph or an epoch, and every setting of the daemon is
// explained.
func TestWhatIsShownIsExplained(t *testing.T) {
	t.Parallel()
	words := map[string]string{}
	err := fs.WalkDir(os.DirFS("."), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, call := range headings.FindAllSubmatch(text, -1) {
			for _, m := range heading.FindAllSubmatch(call[1], -1) {
				words[string(m[1])] = path
			}
		}
		for _, m := range fact.FindAllSubmatch(text, -1) {
			words[string(m[1])] = path
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(words) < 100 || words["FULL IN"] == "" || words["SHARDS LIVE"] == "" || words["guarantee"] == "" {
		t.Errorf("only %d words were found", len(words))
	}
	for _, s := range serveSettings() {
		words[s.Key] = "graphd config settings"
	}
	for word, path := range words {
		found, err := handbook.Find(word)
		if err != nil || len(found) == 0 || found[0].Text == "" {
			t.Errorf("%s, of %s: nothing is written about it, %v", word, path, err)
		}
	}
}

// The words of the tables are found as they are typed, and the codes of runs with what to do.
func TestExplainHeadings(t *testing.T) {
	t.Parallel()
	server := newDaemon(t).Server
	for word, want := range map[string]string{
		"full in": "in how many seconds the queue is full", "PENDING": "not delivered yet",
		"guarantee": "what is promised of an output's values", "input_missing": "--input NAME=FILE",
		"guarante": "did you mean guarantee?", "joinFull": "did you mean join_full?",
		"join": "fields: left, right, on, within, tumbling, type, lateness, late, max_rows, max_bytes",
	} {
		if r := command(t.Context(), server, "", "explain", word); !strings.Contains(r.stdout+r.stderr, want) {
			t.Errorf("%s: %+v", word, r)
		}
	}
}
