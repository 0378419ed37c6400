package graphd

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/control"
)

// pollGraphs is how often the graphs directory is looked at for changes.
const pollGraphs = time.Second

// maxDeclarations bounds the files of the graphs directory.
const maxDeclarations = 10_000

// watchGraphs applies what changes in the graphs directory until ctx is done. A broken file keeps the graph as it was
// and says so.
func (d *Daemon) watchGraphs(ctx context.Context) {
	if d.cfg.Graphs == "" {
		return
	}
	ticker := time.NewTicker(pollGraphs)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-d.cfg.Reload:
			d.log.Info("reload asked for", "graphs", d.cfg.Graphs)
			clear(d.seen)
		case <-ctx.Done():
			return
		}
		d.applyGraphs(ctx)
	}
}

// applyGraphs applies every file whose content is not the one seen last.
func (d *Daemon) applyGraphs(ctx context.Context) {
	if d.cfg.Graphs == "" {
		return
	}
	paths, err := filepath.Glob(filepath.Join(d.cfg.Graphs, "*.y*ml"))
	if err != nil {
		d.log.Error("the graphs directory cannot be listed", "dir", d.cfg.Graphs, "err", err)
		return
	}
	if len(paths) > maxDeclarations {
		d.log.Error("the graphs directory holds too many files; the first are read", "dir", d.cfg.Graphs, "files",
			len(paths), "limit", maxDeclarations)
		paths = paths[:maxDeclarations]
	}
	for path := range d.seen {
		if !slices.Contains(paths, path) {
			delete(d.seen, path)
			d.log.Warn("a declaration's file is gone; its graph goes on, and ends with 'graphd delete'", "file", path)
		}
	}
	for _, path := range paths {
		base := strings.TrimSuffix(strings.TrimSuffix(path, ".yaml"), ".yml")
		if base == path || strings.HasSuffix(base, "_test") || ctx.Err() != nil {
			continue
		}
		doc, err := os.ReadFile(path)
		if err != nil {
			d.log.Error("a declaration cannot be read; its graph stays as it is", "file", path, "err", err)
			continue
		}
		sum := sha256.Sum256(doc)
		if d.seen[path] == sum {
			continue
		}
		d.seen[path] = sum
		d.applyFile(ctx, path, doc)
	}
}

func (d *Daemon) applyFile(ctx context.Context, path string, doc []byte) {
	res, err := control.ApplyOwn(ctx, d.engine, d.trail, "--graphs", path, doc)
	var refused *api.Error
	switch {
	case errors.As(err, &refused) && len(refused.Diagnostics) > 0:
		for _, diag := range refused.Diagnostics {
			d.log.Error("a declaration has a mistake; its graph stays as it is", "at", diag.String())
		}
	case err != nil:
		if refused != nil && refused.Code == api.CodeAuditUnwritable {
			delete(d.seen, path) // it is no mistake of the file
		}
		d.log.Error("a declaration was not applied; its graph stays as it is", "file", path, "err", err)
	case res.Changed:
		d.log.Info("applied", "file", path, "graph", res.Graph.Graph, "revision", res.Revision, "created", res.Created,
			"tenant", res.Graph.Tenant)
	}
}

// checkGraphs refuses a folder of declarations that is none: a daemon with a misspelled one
// would start, and run nothing.
func (c *Config) checkGraphs() error {
	if c.Graphs == "" {
		return nil
	}
	info, err := os.Stat(c.Graphs)
	switch {
	case err != nil:
		return fmt.Errorf("%w: the folder of declarations cannot be read: %w; make it, or correct --graphs", ErrConfig,
			err)
	case !info.IsDir():
		return fmt.Errorf("%w: %s is not a folder; --graphs names the folder that holds the declarations", ErrConfig,
			c.Graphs)
	}
	return nil
}
