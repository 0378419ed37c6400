package graphrun

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/accumulator/pump/reader"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/graphrun/bell"
	"github.com/graphd/graphd/internal/graphrun/life"
	"github.com/graphd/graphd/internal/graphrun/lives"
	"github.com/graphd/graphd/internal/graphrun/parts"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/spec/trait"
	"github.com/graphd/graphd/internal/watch"
)

// MaxAttempts is how often an epoch is tried again after crashes without progress before
// the graph is quarantined (M43).
const MaxAttempts = lives.MaxAttempts

// Graph is one graph: what its shards have in common, and outlives their runs.
type Graph struct {
	host    *Host
	ref     api.Ref
	decl    checkpoint.Declaration
	unit    *compile.Unit // nil when the declaration does not compile
	asOne   string        // why it runs as one although it is declared with shards; "" otherwise
	shards  []*lives.Shard
	past    told.Past        // those that it had before
	readers []*reader.Reader // what all shards read by, per accumulator; nil of one shard
	deals   []*pump.Deal     // how the pushes to an input are dealt, per accumulator; nil of one shard
	gone    *told.Forgotten  // what retention has removed since the start
	changed bell.Bell
	letters chan struct{} // capacity 1: held while dead letters are replayed, so that each is once

	// gate is held while a push is let in; shutNow is open while none is, heir is the graph that takes them afterwards.
	gate    sync.RWMutex
	shutNow chan struct{}
	heir    *Graph

	mu     sync.Mutex
	swap   chan struct{} // closed when the update under way has ended; nil while there is none
	update *api.UpdateStatus
	kept   string  // why the keys are not dealt as declared; "" where they are, or it was not tried yet
	gaps   []int64 // per accumulator: how often it was let go on behind what its source had lost (M44)
}

// New makes a graph of a declaration; unit is nil when that does not compile. Start runs it.
func New(h *Host, d checkpoint.Declaration, unit *compile.Unit) *Graph {
	return newAs(h, d, unit, shardsOf(unit))
}

// newAs makes a graph that runs as so many shards, whatever its declaration says.
func newAs(h *Host, d checkpoint.Declaration, unit *compile.Unit, of int) *Graph {
	ref := api.Ref{Tenant: d.Tenant, Name: d.Graph}
	g := &Graph{host: h, ref: ref, decl: d, unit: unit, letters: make(chan struct{}, 1),
		gone: new(told.Forgotten)}
	restarts := new(told.Restarts)
	g.read(of)
	for n := range of {
		hub := watch.NewHub(ref)
		if of > 1 {
			hub = watch.NewShardHub(ref, n)
		}
		cfg := lives.Config{
			Host: &h.Host, Ref: ref, Number: n, Of: of, Unit: unit, Hub: hub, Restarts: restarts,
			Readers: g.readers, Known: g.known, Changed: g.changed.Ring,
		}
		if unit != nil {
			for range unit.Programs {
				cfg.Mailboxes = append(cfg.Mailboxes, pump.NewMailbox(h.MailboxEvents, h.MailboxBytes))
			}
		}
		g.shards = append(g.shards, lives.New(cfg))
	}
	if unit != nil {
		g.gaps, g.asOne = make([]int64, len(unit.Programs)), unit.OneLive()
		g.deal()
	}
	return g
}

// first is the shard that a graph has in any case.
func (g *Graph) first() *lives.Shard { return g.shards[0] }

// Ref names the graph.
func (g *Graph) Ref() api.Ref { return g.ref }

// Declaration is what the graph was made of, with the revision that the store has given it.
func (g *Graph) Declaration() checkpoint.Declaration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.decl
}

// Stored notes the revision that the store has given the declaration.
func (g *Graph) Stored(revision int64) {
	g.show(func() { g.decl.Revision = revision })
}

// Restated gives the graph another text of the same meaning, with the revision it was stored
// under. It runs on untouched.
func (g *Graph) Restated(d checkpoint.Declaration) {
	g.show(func() { g.decl, g.update = d, nil })
}

// Unit is the compiled declaration; nil when it does not compile.
func (g *Graph) Unit() *compile.Unit { return g.unit }

// Mailbox takes what another graph hands to an accumulator; nil when the graph has none of that name
// that takes it.
func (g *Graph) Mailbox(name string) *pump.Mailbox {
	if i := g.find(name); i >= 0 && !g.unit.Spec.Accumulators[i].Fed() {
		return g.first().Mailboxes()[i]
	}
	return nil
}

// Hands says what an accumulator's boundaries are; known is false where there is none of the name.
func (g *Graph) Hands(accumulator string) (hands trait.Hands, known bool) {
	if i := g.find(accumulator); i >= 0 {
		return g.unit.Spec.Accumulators[i].Folding().Hands, true
	}
	return trait.OneValue, false
}

// Seen has those who watch all graphs of a tenant watch this one.
func (g *Graph) Seen(by *watch.Everyone) {
	for _, s := range g.shards {
		by.Attach(g.ref.Tenant, s.Hub())
	}
}

// Waiting is how many pushed events wait in the fullest mailbox.
func (g *Graph) Waiting() (events int) {
	for _, s := range g.shards {
		for _, box := range s.Mailboxes() {
			n, _ := box.Depth()
			events = max(events, n)
		}
	}
	return events
}

// Forgotten is what retention has removed since the start, for whoever removes it to count.
func (g *Graph) Forgotten() *told.Forgotten { return g.gone }

// Broken marks a graph whose declaration cannot be used.
func (g *Graph) Broken(err error) {
	for _, s := range g.shards {
		s.SetHealth(reactor.HealthFailed, "declaration_invalid", err.Error()+"; apply a fixed declaration")
	}
}

// Start has the graph supervised until ctx ends.
func (g *Graph) Start(ctx context.Context) {
	if g.unit == nil {
		return
	}
	for _, s := range g.shards {
		s.Start(ctx)
	}
}

// Stop ends the graph and waits until it has, within the shutdown timeout.
func (g *Graph) Stop() error { return g.stop(g.shards) }

func (g *Graph) stop(shards []*lives.Shard) error {
	ctx, cancel := context.WithTimeout(context.Background(), g.host.ShutdownTimeout)
	defer cancel()
	return eachOf(shards, func(s *lives.Shard) error { return s.StopWithin(ctx) })
}

// StopWithin ends the graph and waits until it has, or ctx is done: all of the stop, its last
// checkpoint too, has that time. What does not come to its end then is abandoned: it can change
// nothing in the store and sends nothing more, and the error names it.
func (g *Graph) StopWithin(ctx context.Context) error {
	return g.each(func(s *lives.Shard) error { return s.StopWithin(ctx) })
}

// StopError is how the last stop of the graph failed; nil when it was clean.
func (g *Graph) StopError() error {
	var errs []error
	for _, s := range g.shards {
		errs = append(errs, s.StopError())
	}
	return errors.Join(errs...)
}

// asked are the shards that are meant by what is asked under ctx: all, unless another member asks.
func (g *Graph) asked(ctx context.Context) (shards []*lives.Shard) {
	for n, s := range g.shards {
		if parts.Asked(ctx, n) {
			shards = append(shards, s)
		}
	}
	return shards
}

// each does something with all shards at one time, and answers when it is done with all.
func (g *Graph) each(do func(s *lives.Shard) error) error { return eachOf(g.shards, do) }

func eachOf(shards []*lives.Shard, do func(s *lives.Shard) error) error {
	if len(shards) == 1 {
		return do(shards[0])
	}
	var wait sync.WaitGroup
	errs := make([]error, len(shards))
	for i, s := range shards {
		wait.Go(func() { errs[i] = do(s) })
	}
	wait.Wait()
	return errors.Join(errs...)
}

// ID is the graph in the store.
func (g *Graph) ID() checkpoint.ID { return g.first().ID().Whole() }

// ShardIDs are the graph's shards in the store, by number.
func (g *Graph) ShardIDs() []checkpoint.ID {
	ids := make([]checkpoint.ID, len(g.shards))
	for n, s := range g.shards {
		ids[n] = s.ID()
	}
	return ids
}

// Shards is how many shards the graph has.
func (g *Graph) Shards() int { return len(g.shards) }

// running is the run in progress, or a refusal that names the graph's state.
func (g *Graph) running() (*life.Run, error) { return g.first().Running() }

// StandsBy says that the graph is another daemon's, or about to be.
func (g *Graph) StandsBy() bool { return g.first().StandsBy() }

// AnyStandsBy says that a shard of the graph is another daemon's, or about to be, or waits for this one's lease.
func (g *Graph) AnyStandsBy() bool { return slices.ContainsFunc(g.shards, (*lives.Shard).StandsBy) }

// Runs says that a shard of the graph runs here.
func (g *Graph) Runs(shard int) bool { return g.shards[shard].Run() != nil }

// GiveUp gives a graph up that has been removed, if it is this daemon's: applied again, it is not waited for here.
func (g *Graph) GiveUp() {
	for _, s := range g.shards {
		s.GiveUp()
	}
}

// WriteRecovery writes the recovery events that wait for the store, if any.
func (g *Graph) WriteRecovery() {
	for _, s := range g.shards {
		s.WriteRecovery()
	}
}

// path is how output i's values leave, as far as is known: from the run, or from the declaration.
func (g *Graph) path(i int) reactor.Path { return g.first().Path(i) }

// PathOf is how an output's values leave, as far as is known; ok is false when there is none
// of that name.
func (g *Graph) PathOf(output string) (p reactor.Path, ok bool) {
	for i := range g.unit.Spec.Outputs {
		if g.unit.Spec.Outputs[i].Name == output {
			return g.path(i), true
		}
	}
	return 0, false
}
