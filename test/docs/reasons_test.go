package docs

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/refused"
)

// reasonRow is a row of a table of codes: them, what they mean, and what to do.
var reasonRow = regexp.MustCompile("(?m)^\\| (`[a-z0-9_]+`(?:, (?:`[a-z0-9_]+`|…))*) \\|([^|\n]*)\\|([^|\n]*)\\|")

// TestDocsReasons holds what the documentation says of silence against the sources: each reason that why and why-not
// give is there with what to do, and nothing is there that they do not give.
func TestDocsReasons(t *testing.T) {
	atRoot(t)
	t.Parallel()
	given := map[string]bool{}
	for _, file := range sources(t, "internal/why") {
		ast.Inspect(file, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 && strings.HasPrefix(v.Names[0].Name, "Code") {
				if code, ok := literal(v.Values[0]); ok {
					given[code] = true
				}
			}
			return true
		})
	}
	for r := range refused.Reasons {
		given[r.String()] = true
	}
	for _, h := range []reactor.Health{reactor.HealthStarting, reactor.HealthWarming, reactor.HealthStandby,
		reactor.HealthHalted, reactor.HealthFailed, reactor.HealthStopped} {
		given["graph_"+string(h)] = true
	}
	if len(given) < 35 {
		t.Fatalf("only %d reasons were found", len(given))
	}
	codes, health := readPage(t, "docs/codes.md").text, readPage(t, "docs/operations.md").text
	rows := map[string]bool{}
	for _, m := range reasonRow.FindAllStringSubmatch(codes+"\n"+health, -1) {
		for code := range strings.SplitSeq(m[1], ", ") {
			rows[strings.Trim(code, "`")] = strings.TrimSpace(m[2]) != "" && strings.TrimSpace(m[3]) != ""
		}
	}
	for code := range given {
		if !rows[code] {
			t.Errorf("what %s means, and what to do then, is neither in docs/codes.md nor in docs/operations.md", code)
		}
	}
	_, silence, _ := strings.Cut(codes, "\n## Of silence\n")
	silence, _, _ = strings.Cut(silence, "\n## ")
	for _, m := range reasonRow.FindAllStringSubmatch(silence, -1) {
		for code := range strings.SplitSeq(m[1], ", ") {
			if code = strings.Trim(code, "`"); !given[code] {
				t.Errorf("the page has %s, which is never given", code)
			}
		}
	}
}
