package site

import (
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd/docs"
)

func read(t *testing.T, s *Site, name string) (text string, packed int) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/docs/"+name, nil)
	w := httptest.NewRecorder()
	if !s.Manual(w, r, name) || w.Code != http.StatusOK {
		t.Fatalf("there is no page %q: %d", name, w.Code)
	}
	if csp := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'; ") {
		t.Errorf("%s: the policy is %q", name, csp)
	}
	raw, _ := io.ReadAll(w.Body)
	return string(raw), len(s.manual.files[name].packed)
}

var (
	linked   = regexp.MustCompile(` href="([^"#]*)(?:#([^"]*))?"`)
	anchored = regexp.MustCompile(` id="([^"]*)"`)
	loaded   = regexp.MustCompile(` (?:src|href)="(https?:[^"]*)"`)
)

// TestManualIsWhole: each page of docs is served and listed, each link between them and each anchor is there, nothing
// is loaded from elsewhere, and no style or script stands in a page.
func TestManualIsWhole(t *testing.T) {
	t.Parallel()
	s := open(t)
	names, err := fs.Glob(docs.All, "*.md")
	if err != nil {
		t.Fatal(err)
	}
	ids, pages, sum := map[string][]string{}, map[string]string{}, 0
	for _, name := range names {
		name = strings.TrimSuffix(name, ".md")
		if s.manual.files[name] == nil {
			t.Errorf("the page %s is not among the contents", name)
			continue
		}
		text, packed := read(t, s, name)
		pages[name], sum = text, sum+packed
		for _, m := range anchored.FindAllStringSubmatch(text, -1) {
			if slices.Contains(ids[name], m[1]) {
				t.Errorf("%s has %s twice", name, m[1])
			}
			ids[name] = append(ids[name], m[1])
		}
	}
	if len(pages) != len(s.manual.files)-2 || len(pages) < 30 {
		t.Errorf("%d pages of %d", len(pages), len(s.manual.files))
	}
	links := 0
	for name, text := range pages {
		for _, bad := range []string{"<script>", " style=", "<style", " onclick", ".md\""} {
			_, body, _ := strings.Cut(text, "<main")
			if i := strings.Index(body, bad); i >= 0 && !strings.Contains(body[max(0, i-120):i], "github.com/") {
				t.Errorf("%s has %s: %s", name, bad, body[max(0, i-80):i+40])
			}
		}
		for _, m := range linked.FindAllStringSubmatch(text, -1) {
			to, of := strings.CutPrefix(m[1], "/docs/")
			if m[1] == "" {
				to, of = name, true
			}
			if !of {
				continue
			}
			if links++; pages[to] == "" || m[2] != "" && !slices.Contains(ids[to], m[2]) {
				t.Errorf("%s links to %s#%s, which is not there", name, to, m[2])
			}
		}
		head, _, _ := strings.Cut(text, "<main")
		if m := loaded.FindString(head); m != "" {
			t.Errorf("%s loads %s", name, m)
		}
	}
	if links < 1000 {
		t.Errorf("only %d links were followed", links)
	}
	for at, id := range map[string]string{"codes": "graph_not_found", "diagnostics": "unknown_name",
		"configuration": "max_body"} {
		if !slices.Contains(ids[at], id) {
			t.Errorf("%s has no row %s that can be linked to", at, id)
		}
	}
	t.Logf("%d pages are %d KB packed", len(pages), sum>>10)
}

// TestManualIsSearched: the search has every section of every page, with where it is.
func TestManualIsSearched(t *testing.T) {
	t.Parallel()
	s := open(t)
	text, packed := read(t, s, searched)
	var all []section
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(all, func(s section) bool { return s.Page == "why" && s.ID == "why-not" })
	if at < 0 || all[at].Heading == "" || !strings.Contains(all[at].Text, "graphd why-not") {
		t.Error("the section on why not is not there")
	}
	if len(all) < 300 || packed > 300<<10 {
		t.Errorf("%d sections are %d KB packed", len(all), packed>>10)
	}
	t.Logf("%d sections are %d KB packed", len(all), packed>>10)
}
