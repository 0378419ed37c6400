// Package folder looks at the folder of declarations that a daemon has been given, and applies what has changed in it.
//
// Start with [Folder.Look]. Every *.yaml and *.yml in the folder is a declaration but NAME_test.yaml, which tests one,
// and NAME_part.yaml, which others include; in the folders below there are only files to include. A declaration is
// applied again when what it includes has changed, too.
//
// # Concurrency
//
// A Folder is for one goroutine.
package folder

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/includes"
	"github.com/graphd/graphd/internal/policy"
	"github.com/graphd/graphd/internal/reread"
	"github.com/graphd/graphd/internal/spec/decode"
)

// maxDeclarations bounds the files of the folder.
const maxDeclarations = 10_000

// Folder is a folder of declarations. Its fields are set before it is used.
type Folder struct {
	Dir string
	Log *slog.Logger
	// Apply applies a declaration; Refuse tells whom it declares that it has mistakes.
	Apply  func(ctx context.Context, path string, doc []byte, c api.Change) (api.ApplyResult, error)
	Refuse func(path string, found api.Diagnostics)

	seen     reread.Folder // the declarations as last applied
	parts    reread.Files  // what they include
	included map[string]map[string]digest
}

// digest is that of what a declaration has included; zero where it could not be read.
type digest = [sha256.Size]byte

// ForgetAll has everything be applied at the next look as if for the first time.
func (f *Folder) ForgetAll() {
	f.seen.ForgetAll()
	f.parts.ForgetAll()
	f.included = nil
}

// Look applies every declaration whose content is not the one seen last.
func (f *Folder) Look(ctx context.Context) {
	paths, err := f.seen.List(filepath.Join(f.Dir, "*.y*ml"), time.Now())
	if err != nil {
		f.Log.Error("the graphs directory cannot be listed", "dir", f.Dir, "err", err)
		return
	}
	if len(paths) > maxDeclarations {
		f.Log.Error("the graphs directory holds too many files; the first are read", "dir", f.Dir, "files", len(paths),
			"limit", maxDeclarations)
		paths = paths[:maxDeclarations]
	}
	for _, path := range f.seen.Only(paths) {
		f.Log.Warn("a declaration's file is gone; its graph goes on, and ends with 'graphd delete'", "file", path)
		delete(f.included, path)
	}
	f.forgetParts()
	for _, path := range paths {
		base := strings.TrimSuffix(strings.TrimSuffix(path, ".yaml"), ".yml")
		if base == path || strings.HasSuffix(base, "_test") || strings.HasSuffix(base, "_part") || ctx.Err() != nil {
			continue
		}
		now := time.Now()
		if f.stale(path, now) {
			f.seen.Forget(path)
		}
		doc, changed, err := f.seen.Read(path, now)
		if err != nil {
			f.Log.Error("a declaration cannot be read; its graph stays as it is", "file", path, "err", err)
		} else if changed {
			f.apply(ctx, path, doc)
		}
	}
}

// stale reports whether something that a declaration includes is not what it was.
func (f *Folder) stale(path string, now time.Time) bool {
	for part, was := range f.included[path] {
		if was != (digest{}) && f.parts.Digest(part, now) != was {
			return true
		}
		if was == (digest{}) {
			if _, err := policy.ReadBelow(f.Dir, part, decode.MaxBytes); err == nil {
				return true // it is there now
			}
		}
	}
	return false
}

// forgetParts forgets what no declaration includes any more.
func (f *Folder) forgetParts() {
	all := map[string]bool{}
	for _, parts := range f.included {
		for part := range parts {
			all[part] = true
		}
	}
	f.parts.Only(slices.Sorted(maps.Keys(all)))
}

func (f *Folder) apply(ctx context.Context, path string, doc []byte) {
	parts := map[string]digest{}
	whole, err := includes.InFolder(f.Dir, path, doc, func(path string, text []byte) {
		if parts[path] = (digest{}); text != nil {
			parts[path] = sha256.Sum256(text)
		}
	})
	delete(f.included, path)
	if len(parts) > 0 {
		if f.included == nil {
			f.included = map[string]map[string]digest{}
		}
		f.included[path] = parts
	}
	if found, ok := errors.AsType[api.Diagnostics](err); ok {
		f.Refuse(path, found)
		f.mistakes(found)
		return
	}
	var res api.ApplyResult
	if err == nil {
		res, err = f.Apply(ctx, path, whole.Text, api.Change{Place: whole.Place})
	}
	var refused *api.Error
	switch {
	case errors.As(err, &refused) && len(refused.Diagnostics) > 0:
		f.mistakes(refused.Diagnostics)
	case err != nil:
		if refused != nil && refused.Code == api.CodeAuditUnwritable {
			f.seen.Forget(path) // it is no mistake of the file
		}
		f.Log.Error("a declaration was not applied; its graph stays as it is", "file", path, "err", err)
	case res.Changed:
		f.Log.Info("applied", "file", path, "graph", res.Graph.Graph, "revision", res.Revision, "created", res.Created,
			"tenant", res.Graph.Tenant)
	}
}

func (f *Folder) mistakes(found api.Diagnostics) {
	for _, diag := range found {
		f.Log.Error("a declaration has a mistake; its graph stays as it is", "at", diag.String())
	}
}
