package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/engine/contracts"
	"github.com/graphd/graphd/internal/engine/refusals"
	"github.com/graphd/graphd/internal/graphrun"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/supervisor"
)

// Parsing reads and compiles declarations.
type Parsing interface {
	// ParseOf reads and compiles a tenant's declaration from a file, or "". Its unit is nil with diagnostics.
	ParseOf(tenant string, document []byte, name string) (*compile.Unit, spec.Diagnostics)
	// ParseFor is ParseOf for a caller who may go, in turn with those of other tenants: document is called within it.
	ParseFor(ctx context.Context, tenant string, document func() ([]byte, error), name string) (*compile.Unit, error)
	// ParseStored and ParseStoredFor are the same of a declaration in the store. It was checked when it was applied,
	// and is not refused because this machine has more to do than that one had.
	ParseStored(tenant string, document []byte, name string) (*compile.Unit, spec.Diagnostics)
	ParseStoredFor(ctx context.Context, tenant string, document func() ([]byte, error), name string) (
		*compile.Unit, error)
}

// stored is the graph of a declaration in the store, with its links claimed. One that cannot be used has no unit.
func (e *Engine) stored(d checkpoint.Declaration) *graphrun.Graph {
	unit, diags := e.cfg.Kinds.ParseStored(d.Tenant, []byte(d.Text), fileOf(d.Origin))
	m := graphrun.New(e.host, d, unit)
	if err := diags.Err(); err != nil {
		m.Broken(err)
		e.cfg.Log.Error("a stored declaration cannot be used; its graph is not running", "graph", d.Graph, "tenant",
			d.Tenant, "err", err)
	}
	if unit != nil {
		if settle, refused := e.feeds.Claim(m.Ref(), unit.Spec, nil); refused == nil {
			settle(true)
		} else {
			m = graphrun.New(e.host, d, nil)
			m.Broken(api.Invalid(refused))
		}
	}
	if m.Unit() == nil {
		e.contracts().Doubt(&d, false)
	}
	return m
}

// restated notes a declaration that means what runs.
func (e *Engine) restated(m *graphrun.Graph, d checkpoint.Declaration) {
	m.Restated(d)
	e.feeds.Undoubted(func(g api.Ref) bool { return g == m.Ref() })
}

// follow takes over what other daemons have changed in the declarations, until ctx is done.
func (e *Engine) follow(ctx context.Context, _ *supervisor.Node) error {
	var again <-chan time.Time
	for {
		select {
		case <-e.own.Declared():
		case <-again:
		case <-ctx.Done():
			return nil
		}
		err := e.takeDeclarations(ctx)
		pause := e.Untaken.Tried()
		if err != nil && ctx.Err() == nil {
			e.cfg.Log.Warn("what other daemons have declared cannot be read; it is tried again", "err", err)
			pause = time.Second
		}
		if again = nil; pause > 0 {
			again = time.After(pause)
		}
	}
}

func (e *Engine) takeDeclarations(ctx context.Context) error {
	decls, err := e.cfg.Store.Declarations(ctx)
	if err != nil {
		return err
	}
	there := make(map[api.Ref]bool, len(decls))
	for _, d := range decls {
		there[api.Ref{Tenant: d.Tenant, Name: d.Graph}] = true
		e.expect(&d)
	}
	for _, d := range decls {
		e.takeDeclaration(ctx, d)
	}
	e.feeds.Undoubted(func(g api.Ref) bool { return !there[g] && e.Find(g) != nil }) // they were never taken
	for _, m := range e.all() {
		if !there[m.Ref()] {
			if err := e.takeDeletion(ctx, m.Ref()); err != nil {
				return err
			}
		}
	}
	return nil
}

// expect has a leader that is taken before one that follows it wait for that one: both may have been applied elsewhere
// at about one time.
func (e *Engine) expect(d *checkpoint.Declaration) {
	if !contracts.MayFollow(d) {
		return
	}
	g := api.Ref{Tenant: d.Tenant, Name: d.Graph}
	if old, err := e.graph(g); err == nil && old.Declaration().Revision >= d.Revision {
		return
	}
	defer e.changing.Lock(g)()
	if old, err := e.graph(g); err != nil || old.Declaration().Revision < d.Revision {
		e.contracts().Doubt(d, true)
	}
}

// takeDeclaration runs a graph that another daemon has applied, or its newer revision.
func (e *Engine) takeDeclaration(ctx context.Context, d checkpoint.Declaration) {
	g := api.Ref{Tenant: d.Tenant, Name: d.Graph}
	if old, err := e.graph(g); err == nil && old.Declaration().Revision >= d.Revision {
		return // the common case waits for no change that is under way
	}
	defer e.changing.Lock(g)()
	old, err := e.graph(g)
	exists := err == nil
	if exists && old.Declaration().Revision >= d.Revision {
		return
	}
	var unit *compile.Unit
	if err = e.mayApply(exists, old, 0); err == nil {
		unit, err = e.cfg.Kinds.ParseStoredFor(ctx, d.Tenant, written(d.Text), fileOf(d.Origin))
	}
	if e.isClosing() || ctx.Err() != nil {
		return
	}
	if e.Untaken.Later(e.cfg.Log, &d, err) {
		e.contracts().Doubt(&d, true)
		return
	}
	m := graphrun.New(e.host, d, unit)
	if err = refusals.Mistakes(err); err != nil {
		e.cfg.Log.Error("another daemon has applied a declaration that this one cannot use", "graph", d.Graph, "tenant",
			d.Tenant, "revision", d.Revision, "err", err)
		e.contracts().Doubt(&d, false)
		if exists {
			return // the graph stays as it is; it may be another release's
		}
		m.Broken(err)
		e.adopt(m)
		return
	}
	same := exists && old.Unit() != nil && e.sameMeaning(old.Unit(), unit)
	if same && !old.AsDeclared() {
		fits, _ := m.Dealing(ctx)
		same = !fits
	}
	if same {
		e.restated(old, d)
		return
	}
	settle, refused := e.claim(g, unit.Spec, nil)
	if refused != nil { // each daemon has allowed one of two links that together close a cycle
		e.cfg.Log.Error("another daemon has applied a declaration that is refused here", "graph", d.Graph, "tenant",
			d.Tenant, "revision", d.Revision, "err", refused)
		e.contracts().Doubt(&d, false)
		return
	}
	e.cfg.Log.Info("another daemon has applied a declaration", "graph", d.Graph, "tenant", d.Tenant, "revision",
		d.Revision)
	if !exists {
		settle(true)
		e.adopt(m)
		return
	}
	if err := e.replace(ctx, old, m, func(graphrun.Put) error { return nil }); err != nil {
		e.contracts().Doubt(&d, false) // before its links go, which wakes who waits for it
		settle(false)
		old.Updated("update_failed", d.Origin, plainly(err), false)
		return
	}
	settle(true)
	m.Updated("updated", d.Origin, fmt.Sprintf("another daemon has applied revision %d: %s", d.Revision,
		graphrun.Changes(old.Unit(), unit)), true)
}

// takeDeletion removes a graph that another daemon has deleted.
func (e *Engine) takeDeletion(ctx context.Context, g api.Ref) error {
	defer e.changing.Lock(g)()
	m, err := e.graph(g)
	if err != nil {
		return nil // removed meanwhile
	}
	decls, err := e.cfg.Store.Declarations(ctx) // it may have been applied here since
	if err != nil {
		return err
	}
	for _, d := range decls {
		if d.Tenant == g.Tenant && d.Graph == g.Name {
			return nil
		}
	}
	e.cfg.Log.Info("another daemon has deleted a graph", "graph", g.Name, "tenant", g.Tenant)
	if err := m.Stop(); err != nil {
		e.cfg.Log.Warn("the graph did not stop cleanly before its removal", "graph", g.Name,
			"tenant", g.Tenant, "err", err)
	}
	e.forget(m)
	return nil
}
