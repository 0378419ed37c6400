package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/compile"
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
func (e *Engine) Apply(ctx context.Context, g Ref, document []byte, ifMatch int64, dryRun bool) (ApplyResult, error) {
	unit, diags := e.cfg.Kinds.Parse(document, "")
	if len(diags) > 0 {
		return ApplyResult{}, invalid(diags)
	}
	return e.applyUnit(ctx, g, unit, document, "api", ifMatch, dryRun)
}

// ApplyFile is Apply for a declaration from the graphs directory; the name comes from the document.
func (e *Engine) ApplyFile(ctx context.Context, tenant, path string, document []byte) (ApplyResult, error) {
	unit, diags := e.cfg.Kinds.Parse(document, path)
	if len(diags) > 0 {
		e.refuseFile(tenant, "file:"+path, diags)
		return ApplyResult{}, invalid(diags)
	}
	return e.applyUnit(ctx, Ref{Tenant: tenant, Name: unit.Spec.Name}, unit, document, "file:"+path, 0, false)
}

// refuseFile tells the graphs that a file declares that the file is broken: they run on as
// they are, and say so.
func (e *Engine) refuseFile(tenant, origin string, diags spec.Diagnostics) {
	for _, m := range e.all() {
		if m.ref.Tenant == tenant && m.decl.Origin == origin {
			m.updated("update_refused", origin, fmt.Sprintf("its file has %s, first %s; the graph runs on as it is", mistakes(len(diags)), diags[0].String()), false)
		}
	}
}

// plainly is an error without its code.
func plainly(err error) string {
	var refused *Error
	if errors.As(err, &refused) {
		return refused.Detail
	}
	return err.Error()
}

func mistakes(n int) string {
	if n == 1 {
		return "a mistake"
	}
	return fmt.Sprintf("%d mistakes", n)
}

func invalid(ds spec.Diagnostics) error {
	return &Error{Status: http.StatusUnprocessableEntity, Code: "declaration_invalid",
		Detail: fmt.Sprintf("the declaration has %s; nothing was changed", mistakes(len(ds))), Diagnostics: ds}
}

// rehearse is the rest of a dry run: what only shows beside the other graphs, and the plan.
func (e *Engine) rehearse(g Ref, unit *compile.Unit, res *ApplyResult) error {
	if err := e.refuseCircle(g, unit); err != nil {
		return err
	}
	plan, err := unit.Plan.JSON()
	if err != nil {
		return fmt.Errorf("encode the plan: %w", err)
	}
	res.Plan = json.RawMessage(plan)
	return nil
}

func (e *Engine) applyUnit(ctx context.Context, g Ref, unit *compile.Unit, document []byte, origin string, ifMatch int64, dryRun bool) (ApplyResult, error) {
	if unit.Spec.Name != g.Name {
		return ApplyResult{}, &Error{Status: http.StatusUnprocessableEntity, Code: "name_mismatch",
			Detail: fmt.Sprintf("the document declares graph %q but the address names %q; make them equal", unit.Spec.Name, g.Name)}
	}
	defer e.changing.lock(g)()
	old, err := e.graph(g)
	exists := err == nil
	if err := e.mayApply(exists, old, ifMatch); err != nil {
		return ApplyResult{}, err
	}
	res := ApplyResult{Created: !exists, Changed: true, DryRun: dryRun}
	if exists {
		res.Revision = old.decl.Revision
		if old.unit != nil {
			res.Diff = spec.Diff(old.unit.Spec, unit.Spec)
			res.Changed = old.unit.Spec.Hash != unit.Spec.Hash
			res.State = stateChange(old.unit, unit)
		}
	}
	if res.Changed {
		if diags := e.cfg.Kinds.Check(ctx, unit); len(diags) > 0 {
			return ApplyResult{}, invalid(diags)
		}
	}
	if dryRun {
		err := e.rehearse(g, unit, &res)
		return res, err
	}
	if !res.Changed {
		old.mu.Lock()
		old.update = nil // what is applied is what runs: an earlier refusal is of the past
		old.mu.Unlock()
		sum, err := e.Graph(ctx, g)
		res.Graph = &sum
		return res, err
	}
	decl := checkpoint.Declaration{Tenant: g.Tenant, Graph: g.Name, Text: string(document), Origin: origin, Updated: time.Now().UTC()}
	unclaim, err := e.wiring.claim(g, unit)
	if err != nil {
		return ApplyResult{}, err
	}
	m := e.manage(decl, unit)
	put := func() (err error) {
		m.decl.Revision, err = e.cfg.Store.PutDeclaration(context.WithoutCancel(ctx), decl, ifMatch)
		if errors.Is(err, checkpoint.ErrConflict) {
			return conflict(ifMatch)
		}
		if err != nil {
			return fmt.Errorf("store the declaration: %w", err)
		}
		return nil
	}
	if exists {
		m.decl.Revision = old.decl.Revision // until the store has given the next
		err = e.update(ctx, old, m, put)
		if err != nil {
			unclaim()
			old.updated("update_failed", origin, plainly(err), false)
			return ApplyResult{}, err
		}
		m.updated("updated", origin, fmt.Sprintf("revision %d follows %d: %s", m.decl.Revision, old.decl.Revision, res.State), true)
	} else {
		if err := put(); err != nil {
			unclaim()
			return ApplyResult{}, err
		}
		e.adopt(m)
	}
	res.Revision, res.Graph = m.decl.Revision, m.applied(ctx, exists || origin == "api")
	return res, nil
}

// applied is the graph as it was applied: once it runs, or, of a directory whose graphs all
// start at once, as it is.
func (m *managed) applied(ctx context.Context, wait bool) *GraphSummary {
	var sum GraphSummary
	if wait {
		sum = m.after(ctx, loaded)
	} else {
		sum = m.summary(ctx)
	}
	return &sum
}

func conflict(ifMatch int64) error {
	return &Error{Status: http.StatusPreconditionFailed, Code: "revision_conflict",
		Detail: fmt.Sprintf("the graph is not at revision %d any more; read it again and apply to what is there", ifMatch)}
}

func (e *Engine) mayApply(exists bool, old *managed, ifMatch int64) error {
	e.mu.RLock()
	n, closing := len(e.graphs), e.closing
	e.mu.RUnlock()
	switch {
	case closing:
		return &Error{Status: http.StatusServiceUnavailable, Code: "shutting_down", Detail: "the daemon is shutting down"}
	case !exists && n >= e.cfg.MaxGraphs:
		return e.refused(&Error{Status: http.StatusTooManyRequests, Code: "too_many_graphs",
			Detail: fmt.Sprintf("the daemon runs %d graphs, its limit; delete one first", n)})
	case ifMatch > 0 && (!exists || old.decl.Revision != ifMatch):
		return conflict(ifMatch)
	}
	if !exists {
		return e.hasMemory()
	}
	return nil
}

// Delete stops a graph and removes it, with deleteState all it ever persisted too.
func (e *Engine) Delete(ctx context.Context, g Ref, deleteState bool) error {
	defer e.changing.lock(g)()
	m, err := e.graph(g)
	if err != nil {
		return err
	}
	if err := m.stop(); err != nil {
		e.cfg.Log.Warn("the graph did not stop cleanly before its removal", "graph", g.Name, "err", err)
	}
	if err := e.cfg.Store.DeleteDeclaration(ctx, m.id(), deleteState); err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
		return fmt.Errorf("remove the graph from the store: %w", err)
	}
	e.forget(m)
	return nil
}

// forget drops a graph that has been stopped.
func (e *Engine) forget(m *managed) {
	e.mu.Lock()
	delete(e.graphs, m.ref)
	e.mu.Unlock()
	e.wiring.forget(m.ref)
	for _, box := range m.mailboxes {
		box.Close()
	}
	m.hub.close()
}
