package handbook

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/graphd/graphd/api"
	"github.com/graphd/graphd/docs"
	"go.yaml.in/yaml/v3"
)

// plainWord is what a reader would ask about: a name, or a path of names.
var plainWord = regexp.MustCompile(`^[a-z][a-z0-9]*([_.][a-z0-9]+)+$`)

// fileName matches what is a file and not a word.
var fileName = regexp.MustCompile(`\.(yaml|md|go|db|json|csv|ndjson|sh|acks)$`)

// Every word with parts that a page has in code marks is explained, by the page itself if by no table.
func TestWordsOfThePagesAreExplained(t *testing.T) {
	t.Parallel()
	words := map[string]string{}
	names, err := fs.Glob(docs.Pages, "*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := docs.Pages.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range quoted.FindAllStringSubmatch(string(text), -1) {
			if plainWord.MatchString(m[1]) && !fileName.MatchString(m[1]) {
				words[m[1]] = name
			}
		}
	}
	for word, page := range words {
		explained(t, word, "docs/"+page)
	}
	if len(words) < 100 {
		t.Errorf("only %d words were found", len(words))
	}
}

// Every code that a request is answered with has a row of its own, and so has every reason of health.
func TestCodesOfTheAPIAreExplained(t *testing.T) {
	t.Parallel()
	var doc struct {
		Components struct {
			Schemas map[string]struct{ Enum []string }
		}
	}
	if err := yaml.Unmarshal([]byte(api.OpenAPI()), &doc); err != nil {
		t.Fatal(err)
	}
	codes := doc.Components.Schemas["ProblemCode"].Enum
	if len(codes) < 50 {
		t.Fatalf("only %d codes were found", len(codes))
	}
	page, err := docs.Pages.ReadFile("codes.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range codes {
		explained(t, code, "api/openapi.yaml")
		if !strings.Contains(string(page), "\n| `"+code+"` |") {
			t.Errorf("%s has no row in docs/codes.md", code)
		}
	}
}

func explained(t *testing.T, word, of string) {
	t.Helper()
	if found, err := Find(word); err != nil || len(found) == 0 || found[0].Text == "" {
		t.Errorf("%s, of %s: nothing is found, %v", word, of, err)
	}
}

// spoken are the places where the code gives something a code: of an event, a request, a health, a frame.
var spoken = regexp.MustCompile(`(?:\bCode: |ReasonOf\(|\bCode[A-Z]\w* += |\.halt\(|\.set\(Health\w+, |` +
	`setHealth\(reactor\.\w+, |\b(?:Kind: |Kind = |goOn\(.{0,30}, ))"([a-z][a-z0-9_]+)"`)

// Every code that the program itself gives is explained.
func TestCodesOfTheProgramAreExplained(t *testing.T) {
	t.Parallel()
	codes := map[string]string{}
	root := os.DirFS("../../../..")
	err := fs.WalkDir(root, "internal", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := fs.ReadFile(root, path)
		for _, m := range spoken.FindAllStringSubmatch(string(text), -1) {
			codes[m[1]] = path
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for code, path := range codes {
		if strings.HasSuffix(code, "_") {
			code += "404" // what follows is the other side's
		}
		explained(t, code, path)
	}
	if len(codes) < 100 {
		t.Errorf("only %d codes were found", len(codes))
	}
}
