package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
)

// What is deployed, what was before, and the way back.

// Revisions is what was applied of a graph, newest first: as much as the store keeps.
func (e *Engine) Revisions(ctx context.Context, g api.Ref) (api.Page[api.Revision], error) {
	m, err := e.graph(g)
	if err != nil {
		return api.Page[api.Revision]{}, err
	}
	all, err := e.cfg.Store.Revisions(ctx, m.ID())
	current := m.Declaration().Revision
	return page(all, "", err, func(d *checkpoint.Declaration) api.Revision { return toldRevision(d, current) })
}

func toldRevision(d *checkpoint.Declaration, current int64) api.Revision {
	return api.Revision{
		Revision: d.Revision, At: d.Updated, By: api.Author(d.By), Origin: d.Origin, Change: d.Change,
		Current: d.Revision == current, Declaration: d.Text,
	}
}

// Revision is one of them with its document, that which counts for 0.
func (e *Engine) Revision(ctx context.Context, g api.Ref, revision int64) (api.Revision, error) {
	m, err := e.graph(g)
	if err != nil {
		return api.Revision{}, err
	}
	current := m.Declaration()
	if revision == 0 {
		return toldRevision(&current, current.Revision), nil
	}
	d, err := e.earlier(ctx, m.ID(), revision)
	return toldRevision(&d, current.Revision), err
}

// earlier reads a revision from the store.
func (e *Engine) earlier(ctx context.Context, id checkpoint.ID, revision int64) (checkpoint.Declaration, error) {
	d, err := e.cfg.Store.Revision(ctx, id, revision)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return d, &api.Error{
			Status: http.StatusNotFound, Code: "revision_not_found",
			Detail: fmt.Sprintf("there is no revision %d of graph %s; the newest %d are kept, and 'graphd history %s' "+
				"lists them", revision, id.Graph, checkpoint.KeepRevisions, id.Graph),
		}
	}
	if err != nil {
		return d, fmt.Errorf("read the store: %w", err)
	}
	return d, nil
}

// written is a document that is as somebody has written it, for [Kinds.ParseFor].
func written(text string) func() ([]byte, error) {
	return func() ([]byte, error) { return []byte(text), nil }
}

// Rollback applies an earlier revision again, that before the present one for 0: an update as
// any other (M33), with a revision number of its own.
func (e *Engine) Rollback(ctx context.Context, g api.Ref, revision int64, c api.Change) (api.ApplyResult, error) {
	m, err := e.graph(g)
	if err != nil {
		return api.ApplyResult{}, err
	}
	now := m.Declaration()
	if revision == 0 {
		if revision, err = e.before(ctx, m.ID(), now.Revision); err != nil {
			return api.ApplyResult{}, err
		}
		if c.IfMatch == 0 {
			c.IfMatch = now.Revision // it is of this one that the revision is the one before
		}
	}
	d, err := e.earlier(ctx, m.ID(), revision)
	if err != nil {
		return api.ApplyResult{}, err
	}
	unit, err := e.cfg.Kinds.ParseFor(ctx, g.Tenant, written(d.Text), fileOf(d.Origin))
	if err != nil {
		return api.ApplyResult{}, err
	}
	res, err := e.applyUnit(ctx, g, &proposal{
		Change: c, unit: unit, text: d.Text, origin: d.Origin, restores: revision,
	})
	if file := fileOf(now.Origin); err == nil && file != "" && now.Text != d.Text {
		res.Notes = append(res.Notes, fmt.Sprintf("%s still holds what was rolled back: change it, or it is applied "+
			"again with the daemon's next start", file))
	}
	return res, err
}

// before is the newest revision that is older than one.
func (e *Engine) before(ctx context.Context, id checkpoint.ID, revision int64) (int64, error) {
	all, err := e.cfg.Store.Revisions(ctx, id)
	if err != nil {
		return 0, fmt.Errorf("read the store: %w", err)
	}
	for i := range all {
		if all[i].Revision < revision {
			return all[i].Revision, nil
		}
	}
	return 0, &api.Error{
		Status: http.StatusConflict, Code: "no_earlier_revision",
		Detail: fmt.Sprintf("revision %d of graph %s is the first that is known: there is nothing to go back to",
			revision, id.Graph),
	}
}

// inAWord is a difference for a list: which parts of the declaration it is in.
func inAWord(diff []string) string {
	const most = 3
	var parts []string
	for _, line := range diff {
		verb, path, _ := strings.Cut(line, " ")
		path, _, _ = strings.Cut(path, ":")
		steps := strings.SplitN(path, ".", 3)
		if len(steps) == 3 { // something of it
			verb = "changed"
		}
		part := verb + " " + strings.Join(steps[:min(2, len(steps))], ".")
		if !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	if n := len(parts) - most; n > 0 {
		parts = append(parts[:most], fmt.Sprintf("%d more", n))
	}
	return strings.Join(parts, ", ")
}
