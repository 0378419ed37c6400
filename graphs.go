package graphd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/control"
)

// pollGraphs is how often the graphs directory is looked at for changes. Where there is so much in it that a look takes
// long, it is one part in pollShare of the time; pollSlowest is the longest that a change waits for one.
const (
	pollGraphs  = time.Second
	pollSlowest = 10 * time.Second
	pollShare   = 500
)

// maxDeclarations bounds the files of the graphs directory.
const maxDeclarations = 10_000

// watchGraphs applies what changes in the graphs directory until ctx is done. A broken file keeps the graph as it was
// and says so.
func (d *Daemon) watchGraphs(ctx context.Context) {
	if d.cfg.Graphs == "" {
		return
	}
	next := time.NewTimer(pollGraphs)
	defer next.Stop()
	for {
		select {
		case <-next.C:
		case <-d.cfg.Reload:
			d.log.Info("reload asked for", "graphs", d.cfg.Graphs)
			d.seen.ForgetAll()
		case <-ctx.Done():
			return
		}
		began := time.Now()
		d.applyGraphs(ctx)
		next.Reset(min(max(pollGraphs, pollShare*time.Since(began)), pollSlowest))
	}
}

// applyGraphs applies every file whose content is not the one seen last.
func (d *Daemon) applyGraphs(ctx context.Context) {
	if d.cfg.Graphs == "" {
		return
	}
	paths, err := d.seen.List(filepath.Join(d.cfg.Graphs, "*.y*ml"), time.Now())
	if err != nil {
		d.log.Error("the graphs directory cannot be listed", "dir", d.cfg.Graphs, "err", err)
		return
	}
	if len(paths) > maxDeclarations {
		d.log.Error("the graphs directory holds too many files; the first are read", "dir", d.cfg.Graphs, "files",
			len(paths), "limit", maxDeclarations)
		paths = paths[:maxDeclarations]
	}
	for _, path := range d.seen.Only(paths) {
		d.log.Warn("a declaration's file is gone; its graph goes on, and ends with 'graphd delete'", "file", path)
	}
	for _, path := range paths {
		base := strings.TrimSuffix(strings.TrimSuffix(path, ".yaml"), ".yml")
		if base == path || strings.HasSuffix(base, "_test") || ctx.Err() != nil {
			continue
		}
		doc, changed, err := d.seen.Read(path, time.Now())
		if err != nil {
			d.log.Error("a declaration cannot be read; its graph stays as it is", "file", path, "err", err)
		} else if changed {
			d.applyFile(ctx, path, doc)
		}
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
			d.seen.Forget(path) // it is no mistake of the file
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
