package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/engine/trial"
	"github.com/graphd/graphd/internal/feed"
	"github.com/graphd/graphd/internal/graphrun"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/quota"
	"github.com/graphd/graphd/internal/spec"
)

// fileOf is the file a declaration came from, "" when it came over the API.
func fileOf(origin string) string {
	file, _ := strings.CutPrefix(origin, "file:")
	if file == origin {
		return ""
	}
	return file
}

// Apply stores a declaration and runs it: a new graph starts, a changed one is stopped at
// its epoch boundary and goes on from its checkpoint under the new declaration (M33). When
// the document has a mistake, or the graph cannot start under it, nothing changes.
func (e *Engine) Apply(ctx context.Context, g api.Ref, document []byte, c api.Change) (api.ApplyResult, error) {
	sends := trial.Declaration{Text: document, Set: c.Set}
	unit, err := e.cfg.Kinds.ParseFor(ctx, g.Tenant, sends.Whole, "")
	c.Place = sends.Place
	if err != nil {
		return api.ApplyResult{}, trial.Placed(err, c.Place)
	}
	res, err := e.applyUnit(ctx, g, &proposal{Change: c, unit: unit, text: string(sends.Text), origin: "api"})
	return res, trial.Placed(err, c.Place)
}

// Test runs the tests of a declaration, which is not applied.
func (e *Engine) Test(ctx context.Context, g api.Ref, req api.TestRequest) (api.TestResult, error) {
	return e.tests.Test(ctx, g, &trial.Declaration{Text: []byte(req.Declaration), Set: api.Vars(req.Set)}, req.Tests)
}

// Complete is what can be put at a place of a declaration, which is not applied.
func (e *Engine) Complete(ctx context.Context, g api.Ref, req api.CompletionRequest) (api.Completion, error) {
	return e.speller.Complete(ctx, g.Tenant, &req)
}

// ApplyFile is Apply for a declaration from the graphs directory; the name comes from the document.
func (e *Engine) ApplyFile(ctx context.Context, tenant, path string, document []byte, c api.Change) (
	api.ApplyResult, error) {
	unit, diags := e.cfg.Kinds.ParseOf(tenant, document, path)
	if len(diags) > 0 {
		diags = c.Placed(diags)
		e.RefuseFile(tenant, path, diags)
		return api.ApplyResult{}, api.Invalid(diags)
	}
	res, err := e.applyUnit(ctx, api.Ref{Tenant: tenant, Name: unit.Spec.Name},
		&proposal{Change: c, unit: unit, text: string(document), origin: "file:" + path})
	return res, trial.Placed(err, c.Place)
}

// RefuseFile tells the graphs that a file declares that the file is broken: they run on as
// they are, and say so.
func (e *Engine) RefuseFile(tenant, path string, diags spec.Diagnostics) {
	origin := "file:" + path
	for _, m := range e.all() {
		if m.Ref().Tenant == tenant && m.Declaration().Origin == origin {
			m.Updated("update_refused", origin, fmt.Sprintf("its file has %s, first %s; the graph runs on as it is",
				api.Mistakes(len(diags)), diags[0].String()), false)
		}
	}
}

// plainly is an error without its code.
func plainly(err error) string {
	var refused *api.Error
	if errors.As(err, &refused) {
		return refused.Detail
	}
	return err.Error()
}

// rehearse is the rest of a dry run: what only shows beside the other graphs, and the plan.
func (e *Engine) rehearse(g api.Ref, p *proposal, res *api.ApplyResult) error {
	if refused := e.feeds.Check(g, p.unit.Spec, p.Sees); refused != nil {
		return api.Invalid(refused)
	}
	plan, err := p.unit.PlanJSON()
	if err != nil {
		return fmt.Errorf("encode the plan: %w", err)
	}
	res.Plan = json.RawMessage(plan)
	return nil
}

// proposal is a declaration that is to be applied.
type proposal struct {
	api.Change
	unit         *compile.Unit
	text, origin string
	restores     int64 // the earlier revision that it is; 0 of a new one
}

// declaration is the proposal as it is stored; change is what it changes, in a word.
func (p *proposal) declaration(g api.Ref, change string) checkpoint.Declaration {
	if p.restores != 0 {
		change = fmt.Sprintf("back to %d: %s", p.restores, change)
	}
	return checkpoint.Declaration{
		Tenant: g.Tenant, Graph: g.Name, Text: p.text, Origin: p.origin, Updated: time.Now().UTC(),
		By: checkpoint.Author(p.By), Change: change,
	}
}

func (e *Engine) applyUnit(ctx context.Context, g api.Ref, p *proposal) (api.ApplyResult, error) {
	if err := trial.Misnamed(p.unit.Spec.Name, g.Name); err != nil {
		return api.ApplyResult{}, err
	}
	if diags := append(feed.Outside(g, p.unit.Spec, p.Sees), unread(g, p.unit.Spec, p.Reads)...); len(diags) > 0 {
		return api.ApplyResult{}, api.Invalid(diags)
	}
	defer e.changing.Lock(g)()
	if err := e.contracts().Fits(g, p.unit, p.Sees); err != nil {
		return api.ApplyResult{}, err
	}
	old, err := e.graph(g)
	exists := err == nil
	if err := e.mayApply(exists, old, p.IfMatch); err != nil {
		return api.ApplyResult{}, err
	}
	deals := false
	res := api.ApplyResult{Created: !exists, Changed: true, DryRun: p.DryRun, Restored: p.restores,
		Files: e.cfg.Kinds.Files(p.unit)}
	if exists {
		res.Revision = old.Declaration().Revision
		if old.Unit() != nil {
			res.Diff = append(spec.Diff(old.Unit().Spec, p.unit.Spec), e.moved(old.Unit(), p.unit)...)
			res.Changed = !e.sameMeaning(old.Unit(), p.unit) || !old.AsDeclared()
			res.State = graphrun.Changes(old.Unit(), p.unit)
			moving, err := old.Moving(ctx, p.unit)
			if err != nil {
				return api.ApplyResult{}, err
			}
			res.Diff, deals = append(res.Diff, moving...), len(moving) > 0
		}
		res.Restated = !res.Changed && old.Declaration().Text != p.text
	}
	if res.Changed {
		if diags := e.cfg.Kinds.Check(ctx, p.unit); len(diags) > 0 {
			return api.ApplyResult{}, api.Invalid(diags)
		}
	}
	if !exists && p.origin == "api" {
		free, err := e.cfg.Quotas.Take(g.Tenant, quota.Graphs) // until it is counted itself
		if err != nil {
			return api.ApplyResult{}, err
		}
		defer free()
	}
	switch err = p.Would(ctx, g, &res); {
	case err != nil:
	case p.DryRun:
		err = e.rehearse(g, p, &res)
	case !res.Changed:
		err = e.restate(ctx, old, p, &res)
	case exists && deals:
		err = e.together(ctx, old, func(ctx context.Context) error { return e.update(ctx, old, p, &res) })
	case exists:
		err = e.update(ctx, old, p, &res)
	default:
		err = e.create(ctx, g, p, &res)
	}
	if err != nil {
		return api.ApplyResult{}, err
	}
	return res, nil
}

// sameMeaning says that what runs under one declaration runs under the other.
func (e *Engine) sameMeaning(a, b *compile.Unit) bool {
	return a.Spec.Hash == b.Spec.Hash && len(e.moved(a, b)) == 0
}

// moved are the references that both declarations have and that are another value in the next, such as a secret that
// was put in the place of another, and the relative paths that are other files there: its folder is another.
func (e *Engine) moved(old, next *compile.Unit) (lines []string) {
	lines = spec.Reread(old.Spec, next.Spec)
	was := map[string]string{}
	for _, f := range e.cfg.Kinds.Files(old) {
		was[f.Of+" "+f.Path] = f.File
	}
	for _, f := range e.cfg.Kinds.Files(next) {
		if file, ok := was[f.Of+" "+f.Path]; ok && file != f.File {
			lines = append(lines, fmt.Sprintf("moved %s: %s → %s", strings.Replace(f.Of, " ", "s.", 1), file, f.File))
		}
	}
	return lines
}

// create makes a graph and runs it.
func (e *Engine) create(ctx context.Context, g api.Ref, p *proposal, res *api.ApplyResult) error {
	settle, refused := e.claim(g, p.unit.Spec, p.Sees)
	if refused != nil {
		return api.Invalid(refused)
	}
	decl := p.declaration(g, "made")
	if p.origin == "api" {
		decl.Most = e.cfg.Quotas.Limits(g.Tenant).Graphs // which daemons that apply at one time share
	}
	m := graphrun.New(e.host, decl, p.unit)
	if err := e.put(context.WithoutCancel(ctx), e.cfg.Store.PutDeclaration, m, decl, p.IfMatch); err != nil {
		settle(false)
		return err
	}
	settle(true)
	e.adopt(m)
	e.applied(ctx, m, p.origin == "api", res)
	return nil
}

// update has a graph go on under another declaration (M33).
func (e *Engine) update(ctx context.Context, old *graphrun.Graph, p *proposal, res *api.ApplyResult) (err error) {
	settle, refused := e.claim(old.Ref(), p.unit.Spec, p.Sees)
	if refused != nil {
		return api.Invalid(refused)
	}
	if old, err = e.asDealt(ctx, old); err != nil {
		settle(false)
		return err
	}
	decl := p.declaration(old.Ref(), inAWord(res.Diff))
	m := graphrun.New(e.host, decl, p.unit)
	m.Stored(old.Declaration().Revision) // until the store has given the next
	put := func(by graphrun.Put) error { return e.put(context.WithoutCancel(ctx), by, m, decl, p.IfMatch) }
	if err := e.replace(ctx, old, m, put); err != nil {
		settle(false)
		old.Updated("update_failed", p.origin, plainly(err), false)
		return err
	}
	settle(true)
	m.Updated("updated", p.origin, fmt.Sprintf("revision %d follows %d: %s", m.Declaration().Revision,
		old.Declaration().Revision, res.State), true)
	e.applied(ctx, m, true, res)
	return nil
}

// restate stores a text that means what runs already, if it is another.
func (e *Engine) restate(ctx context.Context, m *graphrun.Graph, p *proposal, res *api.ApplyResult) error {
	m.Unchanged()
	if res.Restated {
		decl := p.declaration(m.Ref(), "text only")
		revision, err := e.store(context.WithoutCancel(ctx), e.cfg.Store.PutDeclaration, decl, p.IfMatch)
		if err != nil {
			return err
		}
		decl.Revision, res.Revision = revision, revision
		e.restated(m, decl)
	}
	sum := m.Summary(ctx)
	res.Graph, res.Troubles = &sum, told.Troubles(&sum)
	return nil
}

// applied tells how the graph stands that was applied; wait is for it to have come up.
func (e *Engine) applied(ctx context.Context, m *graphrun.Graph, wait bool, res *api.ApplyResult) {
	sum := m.Applied(ctx, wait)
	if wait && e.spread.Apart(m) {
		sum = e.spread.Settled(ctx, m)
	}
	res.Revision, res.Graph, res.Troubles = m.Declaration().Revision, &sum, told.Troubles(&sum)
}

// put stores the declaration of m.
func (e *Engine) put(ctx context.Context, by graphrun.Put, m *graphrun.Graph, decl checkpoint.Declaration,
	ifMatch int64) error {
	revision, err := e.store(ctx, by, decl, ifMatch)
	if err == nil {
		m.Stored(revision)
	}
	return err
}

// store stores a declaration, and answers with its revision.
func (e *Engine) store(ctx context.Context, by graphrun.Put, decl checkpoint.Declaration, ifMatch int64) (
	int64, error) {
	revision, err := by(ctx, decl, ifMatch)
	if errors.Is(err, checkpoint.ErrConflict) {
		return 0, conflict(ifMatch)
	}
	if many, ok := errors.AsType[*checkpoint.TooManyError](err); ok {
		return 0, e.cfg.Quotas.Refuse(decl.Tenant, quota.Graphs, many.Have, decl.Most)
	}
	if err != nil {
		return 0, fmt.Errorf("store the declaration: %w", err)
	}
	return revision, nil
}

// replace puts next in old's place, or leaves old as it was.
func (e *Engine) replace(ctx context.Context, old, next *graphrun.Graph, put func(by graphrun.Put) error) error {
	return graphrun.Replace(ctx, e.ctx, old, next, put, func() {
		e.set(next)
		e.rewired(next)
	})
}

func conflict(ifMatch int64) error {
	said := "there is a graph of this name already; give the new one another name, or apply to what is there"
	if ifMatch != api.IfNone {
		said = fmt.Sprintf("the graph is not at revision %d any more; read it again and apply to what is there",
			ifMatch)
	}
	return &api.Error{Status: http.StatusPreconditionFailed, Code: "revision_conflict", Detail: said}
}

func (e *Engine) mayApply(exists bool, old *graphrun.Graph, ifMatch int64) error {
	e.mu.RLock()
	n, closing := len(e.graphs), e.closing
	e.mu.RUnlock()
	switch {
	case closing:
		return &api.Error{
			Status: http.StatusServiceUnavailable, Code: "shutting_down", Detail: "the daemon is shutting down",
		}
	case !exists && n >= e.cfg.MaxGraphs:
		return e.refusals.Count(&api.Error{Status: http.StatusTooManyRequests, Code: "too_many_graphs",
			Detail: fmt.Sprintf("the daemon runs %d graphs, its limit; delete one first", n)})
	case ifMatch == api.IfNone && exists:
		return conflict(ifMatch)
	case ifMatch > 0 && (!exists || old.Declaration().Revision != ifMatch):
		return conflict(ifMatch)
	}
	if !exists {
		return e.hasMemory()
	}
	return nil
}
