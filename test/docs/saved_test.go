package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	graphName = regexp.MustCompile(`(?m)^graph: *([a-z0-9_]+)`)
	pathName  = regexp.MustCompile(`^# ([a-z0-9_]+(?:/[a-z0-9_]+)*\.yaml)\n`)
)

// save puts a declaration or test document where the page's commands look for it.
func (r *reader) save(b *block) {
	name := ""
	if m := pathName.FindStringSubmatch(b.text); m != nil {
		name = m[1]
	} else if m := graphName.FindStringSubmatch(b.text); m != nil {
		name = m[1] + ".yaml"
		if strings.Contains(b.text, "\ncases:\n") {
			name = m[1] + "_test.yaml"
		}
	}
	if name == "" {
		return
	}
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(b.text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}
