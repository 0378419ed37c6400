package lsp

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/language/text"
)

// What a check has found in a document that has changed meanwhile is told to nobody; nor is that of one that was given
// up, which is checked again.
func TestCheckOfAnOlderVersion(t *testing.T) {
	t.Parallel()
	const uri = "untitled:x"
	for _, c := range []struct {
		what       string
		version    int
		over, told bool
	}{
		{"as it is now", 2, false, true}, {"as it was before", 1, false, false}, {"given up", 2, true, false},
	} {
		var out bytes.Buffer
		s := &server{Config: Config{Out: &out}}
		s.documents.init()
		s.documents.open[uri] = &document{uri: uri, version: 2, text: text.New("graph: g\n")}
		s.checks.wanted = map[string]bool{}
		_, s.checks.stop = context.WithCancel(t.Context())
		found := map[string][]api.Diagnostic{"": {{Line: 1, Column: 1, Code: "wrong", Text: "it is wrong"}}}
		s.checked(&result{doc: &document{uri: uri, version: c.version, text: text.New("")}, found: found, over: c.over})
		if told := strings.Contains(out.String(), "it is wrong"); told != c.told || s.checks.wanted[uri] != c.over {
			t.Errorf("%s: told is %v, checked again %v: %s", c.what, told, s.checks.wanted[uri], &out)
		}
	}
}
