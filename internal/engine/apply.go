package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
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
// the document has a mistake nothing changes.
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
		return ApplyResult{}, invalid(diags)
	}
	return e.applyUnit(ctx, Ref{tenant, unit.Spec.Name}, unit, document, "file:"+path, 0, false)
}

func invalid(ds spec.Diagnostics) error {
	return &Error{Status: http.StatusUnprocessableEntity, Code: "declaration_invalid",
		Detail: fmt.Sprintf("the declaration has %d mistakes; nothing was changed", len(ds)), Diagnostics: ds}
}

func (e *Engine) applyUnit(ctx context.Context, g Ref, unit *compile.Unit, document []byte, origin string, ifMatch int64, dryRun bool) (ApplyResult, error) {
	if unit.Spec.Name != g.Name {
		return ApplyResult{}, &Error{Status: http.StatusUnprocessableEntity, Code: "name_mismatch",
			Detail: fmt.Sprintf("the document declares graph %q but the address names %q; make them equal", unit.Spec.Name, g.Name)}
	}
	e.apply.Lock()
	defer e.apply.Unlock()
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
		}
	}
	if dryRun {
		plan, err := unit.Plan.JSON()
		if err != nil {
			return ApplyResult{}, fmt.Errorf("encode the plan: %w", err)
		}
		res.Plan = json.RawMessage(plan)
		return res, nil
	}
	if !res.Changed {
		sum, err := e.Graph(ctx, g)
		res.Graph = &sum
		return res, err
	}
	decl := checkpoint.Declaration{Tenant: g.Tenant, Graph: g.Name, Text: string(document), Origin: origin, Updated: time.Now().UTC()}
	if decl.Revision, err = e.cfg.Store.PutDeclaration(ctx, decl, ifMatch); err != nil {
		if errors.Is(err, checkpoint.ErrConflict) {
			return ApplyResult{}, conflict(ifMatch)
		}
		return ApplyResult{}, fmt.Errorf("store the declaration: %w", err)
	}
	if exists {
		if err := old.stop(); err != nil {
			e.cfg.Log.Warn("the graph did not stop cleanly before its update; it goes on from its last checkpoint", "graph", g.Name, "err", err)
		}
	}
	m := e.manage(decl, unit)
	if exists {
		m.inherit(old)
	}
	e.adopt(m)
	res.Revision = decl.Revision
	var sum GraphSummary
	if origin == "api" {
		sum = m.after(ctx, loaded)
	} else { // a directory of graphs starts all of them at once
		sum = m.summary(ctx)
	}
	res.Graph = &sum
	return res, nil
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
		return &Error{Status: http.StatusTooManyRequests, Code: "too_many_graphs",
			Detail: fmt.Sprintf("the daemon runs %d graphs, its limit; delete one first", n)}
	case ifMatch > 0 && (!exists || old.decl.Revision != ifMatch):
		return conflict(ifMatch)
	}
	return nil
}

// inherit takes over what outlives an update: the watchers, and the mailboxes of inputs that
// are still there, with the pushes that wait in them. The others are closed.
func (m *managed) inherit(old *managed) {
	m.hub = old.hub
	if old.unit == nil {
		return
	}
	for k := range old.unit.Spec.Accumulators {
		i := slices.IndexFunc(m.unit.Spec.Accumulators, func(a spec.Accumulator) bool { return a.Name == old.unit.Spec.Accumulators[k].Name })
		if i >= 0 {
			m.mailboxes[i] = old.mailboxes[k]
		} else {
			old.mailboxes[k].Close()
		}
	}
}

// Delete stops a graph and removes it, with deleteState all it ever persisted too.
func (e *Engine) Delete(ctx context.Context, g Ref, deleteState bool) error {
	e.apply.Lock()
	defer e.apply.Unlock()
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
	e.mu.Lock()
	delete(e.graphs, g)
	e.mu.Unlock()
	for _, box := range m.mailboxes {
		box.Close()
	}
	m.hub.close()
	return nil
}
