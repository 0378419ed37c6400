package differential

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/postgres"
	"github.com/graphd/graphd/internal/engine"
	"github.com/graphd/graphd/internal/graphrun/parts"
	"github.com/graphd/graphd/internal/sink/stdout"
	"github.com/graphd/graphd/internal/testbed"
)

// pairs are databases on which two members share the shards of a graph, one for each that is compared at a time.
type pairs struct {
	free chan string
	n    atomic.Int64
}

// newPairs makes as many as there are workers.
func newPairs(t *testing.T) *pairs {
	p := &pairs{free: make(chan string, shardWorkers)}
	for range shardWorkers {
		p.free <- testbed.Postgres(t)
	}
	return p
}

// member is one of two daemons on a database. It answers the other one over JSON, as over a network.
type member struct {
	*postgres.Store
	name  string
	pair  *pair
	e     *engine.Engine
	alone atomic.Bool // the network is gone: the database does not answer
}

var errNoRoute = fmt.Errorf("no route to the database: %w", checkpoint.ErrUnreachable)

// RenewLease implements [checkpoint.Leases].
func (m *member) RenewLease(ctx context.Context, ttl time.Duration) (checkpoint.Lease, error) {
	if m.alone.Load() {
		return checkpoint.Lease{}, errNoRoute
	}
	return m.Store.RenewLease(ctx, ttl)
}

// Acquire implements [checkpoint.Checkpoints].
func (m *member) Acquire(ctx context.Context, id checkpoint.ID) (checkpoint.Head, error) {
	if m.alone.Load() {
		return checkpoint.Head{}, errNoRoute
	}
	head, err := m.Store.Acquire(ctx, id)
	if err == nil {
		m.pair.acquired(id, m.name, head.Epoch)
	}
	return head, err
}

// Commit implements [checkpoint.Checkpoints].
func (m *member) Commit(ctx context.Context, c *checkpoint.Commit) error {
	if m.alone.Load() {
		return errNoRoute
	}
	_ = m.pair.some.commit(ctx, nil, c)
	return m.Store.Commit(ctx, c)
}

// pair are two members with one graph.
type pair struct {
	members [2]*member
	out     *safeBuffer
	some    *counted
	events  int64

	mu    sync.Mutex
	owner map[checkpoint.ID]string
	moves int64
	// midway are the moves of shards that had fired, before all events were in the states.
	midway int64
	done   bool
}

func (p *pair) acquired(id checkpoint.ID, by string, epoch int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if was := p.owner[id]; was != "" && was != by {
		p.moves++
		if epoch > 0 && !p.done {
			p.midway++
		}
	}
	p.owner[id] = by
}

// Ask implements [parts.Members].
func (p *pair) Ask(ctx context.Context, m *checkpoint.Member, call *parts.Call) (*parts.Answer, bool, error) {
	sent, heard := new(parts.Call), new(parts.Answer)
	for _, other := range p.members {
		if other == nil || other.name != m.Name {
			continue
		}
		if err := carry(call, sent); err != nil {
			return nil, false, err
		}
		return heard, true, carry(other.e.AskPart(ctx, sent), heard)
	}
	return nil, false, errNoRoute
}

// Follow implements [parts.Members]: nobody subscribes.
func (p *pair) Follow(context.Context, *checkpoint.Member, *parts.Call) (*parts.Answer, parts.Frames, error) {
	return nil, nil, errNoRoute
}

func carry(from, to any) error {
	text, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	return err
}

// open starts two members over a database, and a graph at the first of them.
func (p *pairs) open(ctx context.Context, dsn, doc string, events int64) (*pair, error) {
	two := &pair{out: &safeBuffer{}, some: newCounted(4), owner: map[checkpoint.ID]string{}, events: events}
	for i := range two.members {
		if err := until(func() error { return p.join(ctx, dsn, two, i) }); err != nil {
			return two, err
		}
	}
	return two, until(func() error { // the machine, or the database, may be busy
		_, err := two.members[0].e.Apply(ctx, wideRef, []byte(doc), api.Change{})
		return err
	})
}

// join starts one member.
func (p *pairs) join(ctx context.Context, dsn string, two *pair, i int) error {
	name, to := fmt.Sprintf("%c%d", 'a'+i, p.n.Add(1)), stdout.NewOutput(two.out)
	store, err := postgres.Open(ctx, dsn, postgres.Options{Member: checkpoint.Member{
		Name: name, Address: name, Peer: name, Capacity: 1}})
	if err != nil {
		return err
	}
	m := &member{Store: store, name: name, pair: two}
	m.e = engine.New(engine.Config{
		Store: m, Log: slog.New(slog.DiscardHandler), ShutdownTimeout: patience, Spread: true, Members: two,
		Patience: 50 * time.Millisecond,
		Kinds:    &builtin.Kinds{Stdout: to, Sinks: lines(to)},
	})
	if err := m.e.Open(ctx); err != nil {
		_, _ = m.e.Close(), store.Close()
		return err
	}
	two.members[i] = m
	return nil
}

// close ends both, and leaves nothing in the database.
func (p *pair) close(ctx context.Context) error {
	var err error
	if m := p.members[0]; m != nil {
		err = until(func() error {
			err := m.e.Delete(ctx, wideRef, true)
			if gone, ok := errors.AsType[*api.Error](err); ok && gone.Status == http.StatusNotFound {
				return nil // the answer to the first word was lost
			}
			return err
		})
	}
	for _, m := range p.members {
		if m != nil {
			// What the other one may have taken this one cannot let go of, and its lease is over by itself.
			_, _ = m.e.Close(), m.Store.Close()
		}
	}
	return err
}

// move has one of the two run nothing, and the other one what it had: it is drained, or the database does not answer it
// any more until its lease is over.
func (p *pair) move(ctx context.Context, r *rand.Rand, cut bool) error {
	k := r.IntN(2)
	from, other := p.members[k], p.members[1-k]
	if cut && r.IntN(4) == 0 {
		from.alone.Store(true)
		defer from.alone.Store(false)
	} else {
		if err := until(func() error { return other.e.DrainMember(ctx, from.Self(), true, "test") }); err != nil {
			return err // even after the leases of both have come back
		}
		defer func() {
			_ = until(func() error { return other.e.DrainMember(ctx, from.Self(), false, "test") })
		}()
	}
	return until(func() error {
		if p.has(from.name) {
			return p.stuck(ctx, from, other)
		}
		return nil
	})
}

// stuck says which shards a member still has, and how they stand.
func (p *pair) stuck(ctx context.Context, from, other *member) error {
	p.mu.Lock()
	var has []checkpoint.ID
	for id, by := range p.owner {
		if by == from.name {
			has = append(has, id)
		}
	}
	p.mu.Unlock()
	roster, err := other.Store.Roster(ctx)
	sum, failed := other.e.Graph(ctx, wideRef)
	return fmt.Errorf("%s still has %v: %+v, %w; %s %w", from.name, has, roster, err, text(sum.Shards), failed)
}

// until tries again until it is done, or for so long that it never will be.
func until(done func() error) (err error) {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if err = done(); err == nil {
			return nil
		}
	}
	return err
}

// has says that a member took some shard last.
func (p *pair) has(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, by := range p.owner {
		if by == name {
			return true
		}
	}
	return false
}

// through waits until all events are taken in and the books are as they should be.
func (p *pair) through(ctx context.Context, s, want *spoken) error {
	sum, right, still := api.GraphSummary{}, time.Time{}, standstill{}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		k := 0
		if p.has(p.members[1].name) { // of what is run as one the other knows nothing
			k = 1
		}
		got, err := p.members[k].e.Graph(ctx, wideRef)
		if err != nil {
			continue // its shards are between two members
		}
		if sum = got; sum.Health != "live" || sum.Counters.Received < p.events {
			if still.lasts(&sum) {
				break
			}
			continue
		}
		for _, a := range sum.Accumulators {
			s.books[a.Name] = booksOf(&a.Counters)
		}
		s.gone = goneOf(&sum)
		if _, err := p.members[k].e.Checkpoint(ctx, wideRef); err != nil {
			continue
		}
		if right.IsZero() {
			right = time.Now().Add(settling)
		}
		pending := slices.ContainsFunc(sum.Outputs, func(o api.OutputSummary) bool { return o.Pending > 0 })
		if !pending && s.sameBooks(want) || time.Now().After(right) {
			return nil
		}
	}
	return fmt.Errorf("not through in time: %s", text(sum))
}

// moved is what a live graph says that finds all events in its files, while its shards go from one member to the other.
func (p *pairs) moved(w *wide, t *testing.T, doc tree, seed uint64, want *spoken, all *tally) (s *spoken, err error) {
	dir := t.TempDir()
	for _, in := range w.inputs {
		if err := in.append(dir, in.texts()...); err != nil {
			return nil, err
		}
	}
	live, err := written(doc, func(doc tree) {
		w.overFiles(dir, true)(doc)
		doc["durability"] = w.often(doc, seed)
	})
	if err != nil {
		return nil, err
	}
	return p.run(t, live, w.events(), want, all, func(two *pair) error {
		r := rand.New(rand.NewPCG(seed, 52))
		for range 3 {
			two.some.wait(t)
			if err := two.move(t.Context(), r, true); err != nil {
				return err
			}
		}
		return nil
	})
}

// run has two members on a database of their own, and answers what they have said.
func (p *pairs) run(t *testing.T, doc string, events int64, want *spoken, all *tally, do func(two *pair) error) (
	*spoken, error) {
	dsn := <-p.free
	defer func() { p.free <- dsn }() // another one, where something is left in this one
	two, err := p.open(t.Context(), dsn, doc, events)
	s := newSpoken()
	if err == nil {
		err = do(two)
	}
	two.mu.Lock()
	two.done = true
	all.moves.Add(two.moves)
	all.midway.Add(two.midway)
	two.mu.Unlock()
	if err == nil {
		err = two.through(t.Context(), s, want)
	}
	if closed := two.close(t.Context()); closed != nil {
		dsn, err = testbed.Postgres(t), errors.Join(err, closed)
	}
	if err == nil {
		err = s.values(two.out.b.Bytes())
	}
	return s, err
}
