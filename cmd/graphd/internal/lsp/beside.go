package lsp

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/language/text"
	"github.com/graphd/graphd/internal/policy"
	"github.com/graphd/graphd/internal/spec/decode"
)

// maxBeside is how many files beside one that is included are looked at for a declaration that includes it.
const maxBeside = 64

// beside checks a file that declarations include as the first one beside it has it which does, for none is open.
func (r *result) beside(ctx context.Context, kinds *builtin.Kinds, open map[string]string) {
	dir := filepath.Dir(r.doc.path)
	entries, err := os.ReadDir(dir)
	if err != nil || r.doc.path == "" {
		return // it is no file yet: nothing includes it
	}
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool {
		ext := filepath.Ext(e.Name())
		return e.IsDir() || ext != ".yaml" && ext != ".yml" && ext != ".json" || e.Name() == filepath.Base(r.doc.path)
	})
	var operator *policy.Policy // who edits it may read what stands beside it
	for _, e := range entries[:min(len(entries), maxBeside)] {
		if ctx.Err() != nil {
			return
		}
		path := filepath.Join(dir, e.Name())
		data, err := operator.Read(path, decode.MaxBytes)
		if err != nil || !strings.Contains(string(data), "include") {
			continue
		}
		of := &result{doc: &document{path: path, text: text.New(string(data))}}
		if sortOf(of.doc) != declaration {
			continue
		}
		of.do(ctx, kinds, open, false)
		if found, includes := of.found[r.doc.path]; includes {
			r.found[r.doc.path] = found
			r.hints = map[string][]api.Diagnostic{r.doc.path: of.hints[r.doc.path]}
			return
		}
	}
}
