package graphd

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/folder"
	"github.com/graphd/graphd/internal/server/control"
)

// pollGraphs is how often the graphs directory is looked at for changes. Where there is so much in it that a look takes
// long, it is one part in pollShare of the time; pollSlowest is the longest that a change waits for one.
const (
	pollGraphs  = time.Second
	pollSlowest = 10 * time.Second
	pollShare   = 500
)

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
			d.graphs.ForgetAll()
		case <-ctx.Done():
			return
		}
		began := time.Now()
		d.applyGraphs(ctx)
		next.Reset(min(max(pollGraphs, pollShare*time.Since(began)), pollSlowest))
	}
}

// folderOf is the graphs directory, as the daemon applies it.
func (d *Daemon) folderOf() folder.Folder {
	return folder.Folder{
		Dir: d.cfg.Graphs, Log: d.log,
		Apply: func(ctx context.Context, path string, doc []byte, c api.Change) (api.ApplyResult, error) {
			return control.ApplyOwn(ctx, d.engine, d.trail, "--graphs", path, doc, c)
		},
		Refuse: func(path string, found api.Diagnostics) { d.engine.RefuseFile(checkpoint.DefaultTenant, path, found) },
	}
}

// applyGraphs applies what has changed there.
func (d *Daemon) applyGraphs(ctx context.Context) {
	if d.cfg.Graphs != "" {
		d.graphs.Look(ctx)
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
