package memory

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/rules"
)

// Store is a store that is lost with the process (M39). It keeps copies of all it
// is given and hands out copies, so it behaves as a store on disk does.
type Store struct {
	rules.SoleOwner

	// mu guards everything below. It is held for one call only, never while a caller's
	// function runs.
	mu          sync.Mutex
	closed      bool
	graphs      map[checkpoint.ID]*graph
	numbers     map[checkpoint.ID]*numbers
	letters     map[checkpoint.ID][]checkpoint.DeadLetter // ascending by ID
	events      map[checkpoint.ID][]checkpoint.RecoveryEvent
	lastEvent   int64
	declared    map[checkpoint.ID]checkpoint.Declaration
	revisions   map[checkpoint.ID][]checkpoint.Declaration // ascending
	tables      map[string]*table                          // rows of co-transactions
	tokens      map[string]access.Token                    // by id
	passes      map[[sha256.Size]byte]checkpoint.Pass      // by sum
	chains      map[string]*chain                          // of the audit, by tenant
	newInstance func() (uuid.UUID, error)
}

var _ checkpoint.Store = (*Store)(nil)

// graph is one graph's state.
type graph struct {
	head    checkpoint.Head // attempts and unclean starts are in ledger
	ledger  rules.Ledger
	cells   map[cellName][]byte
	firings []checkpoint.Firing                 // ascending by place
	outbox  map[string][]checkpoint.OutboxEntry // by output, ascending by Seq; none is empty
	journal []checkpoint.JournalEntry           // ascending and dense
	pushes  map[pushName]checkpoint.PushKey
}

type cellName struct{ kind, name, key string }

// numbers are never given twice for one name, whatever is deleted.
type numbers struct{ fence, revision int64 }

// New returns an empty store.
func New() *Store {
	return newStore(uuid.NewRandom)
}

// NewSeeded is an empty store whose instance ids follow from the seed, for
// simulations that must be repeatable.
func NewSeeded(seed uint64) *Store {
	var key [32]byte
	for i := range 8 {
		key[i] = byte(seed >> (8 * i))
	}
	source := rand.NewChaCha8(key)
	return newStore(func() (uuid.UUID, error) { return uuid.NewRandomFromReader(source) })
}

func newStore(newInstance func() (uuid.UUID, error)) *Store {
	return &Store{
		graphs:      map[checkpoint.ID]*graph{},
		numbers:     map[checkpoint.ID]*numbers{},
		letters:     map[checkpoint.ID][]checkpoint.DeadLetter{},
		events:      map[checkpoint.ID][]checkpoint.RecoveryEvent{},
		declared:    map[checkpoint.ID]checkpoint.Declaration{},
		revisions:   map[checkpoint.ID][]checkpoint.Declaration{},
		chains:      map[string]*chain{},
		tables:      map[string]*table{},
		tokens:      map[string]access.Token{},
		passes:      map[[sha256.Size]byte]checkpoint.Pass{},
		newInstance: newInstance,
	}
}

// Kind is "memory".
func (m *Store) Kind() string { return "memory" }

// Ping answers checkpoint.ErrClosed after Close.
func (m *Store) Ping(ctx context.Context) error {
	unlock, err := m.enter(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return nil
}

// Close ends the store: what it held is gone, and later calls answer checkpoint.ErrClosed.
func (m *Store) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}

// enter begins a call.
func (m *Store) enter(ctx context.Context) (unlock func(), err error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return nil, checkpoint.ErrClosed
	}
	return m.mu.Unlock, nil
}

func (m *Store) numbersOf(id checkpoint.ID) *numbers {
	n := m.numbers[id]
	if n == nil {
		n = &numbers{}
		m.numbers[id] = n
	}
	return n
}

// Acquire takes a graph; see [checkpoint.Checkpoints].
func (m *Store) Acquire(ctx context.Context, id checkpoint.ID) (checkpoint.Head, error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return checkpoint.Head{}, rules.Wrap(err, "acquire graph %s", id)
	}
	defer unlock()
	g := m.graphs[id]
	if g == nil {
		instance, err := m.newInstance()
		if err != nil {
			return checkpoint.Head{}, fmt.Errorf("acquire graph %s: make an instance id: %w", id, err)
		}
		g = &graph{cells: map[cellName][]byte{}, outbox: map[string][]checkpoint.OutboxEntry{}}
		g.head.Instance = instance.String()
		m.graphs[id] = g
	}
	numbers := m.numbersOf(id)
	numbers.fence++
	prior := g.head.Fence
	clean := g.ledger.Clean || prior == 0
	g.head.Fence = numbers.fence
	g.head.Incarnation++
	g.ledger = g.ledger.Acquired(g.head.Epoch)
	head := g.head
	head.Meta = bytes.Clone(head.Meta)
	head.Attempts, head.AttemptedBy, head.UncleanStarts = g.ledger.Attempts, g.ledger.AttemptedBy, g.ledger.Unclean
	head.Prior, head.Clean = prior, clean
	head.Own = head.Fence - 1 // the store lives no longer than its process
	return head, nil
}

// Load hands every cell to visit; see [checkpoint.Checkpoints]. A graph that was
// never acquired is ErrNotFound. visit may call the store.
func (m *Store) Load(ctx context.Context, id checkpoint.ID, visit func(checkpoint.Cell) error) error {
	cells, err := m.copyCells(ctx, id)
	if err != nil {
		return rules.Wrap(err, "load graph %s", id)
	}
	for _, c := range cells {
		if err := context.Cause(ctx); err != nil {
			return rules.Wrap(err, "load graph %s", id)
		}
		if err := visit(c); err != nil {
			return rules.Wrap(err, "load graph %s", id)
		}
	}
	return nil
}

func (m *Store) copyCells(ctx context.Context, id checkpoint.ID) ([]checkpoint.Cell, error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	g := m.graphs[id]
	if g == nil {
		return nil, checkpoint.ErrNotFound
	}
	cells := make([]checkpoint.Cell, 0, len(g.cells))
	for c, data := range g.cells {
		cells = append(cells, checkpoint.Cell{Kind: c.kind, Name: c.name, Key: c.key, Data: copied(data)})
	}
	return cells, nil
}

// ShardHeads lists the shards of a graph; see [checkpoint.Deals].
func (m *Store) ShardHeads(ctx context.Context, graph checkpoint.ID) (all []checkpoint.ShardHead, err error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return nil, rules.Wrap(err, "look at the shards of graph %s", graph)
	}
	defer unlock()
	for id, g := range m.graphs {
		if id.Whole() == graph.Whole() {
			all = append(all, checkpoint.ShardHead{Shard: id.Shard, Epoch: g.head.Epoch,
				Meta: bytes.Clone(g.head.Meta)})
		}
	}
	slices.SortFunc(all, func(a, b checkpoint.ShardHead) int { return cmp.Compare(a.Shard, b.Shard) })
	return all, nil
}

// Commit applies c; see [checkpoint.Checkpoints].
func (m *Store) Commit(ctx context.Context, c *checkpoint.Commit) error {
	return checkpoint.CommitError(c.ID, c.Seq, m.commit(ctx, c))
}

func (m *Store) commit(ctx context.Context, c *checkpoint.Commit) error {
	unlock, err := m.enter(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := m.fits(c); err != nil {
		return err
	}
	tables, err := m.stageRows(c)
	if err != nil {
		return err
	}
	m.apply(c)
	maps.Copy(m.tables, tables)
	return nil
}

// fits reports why a commit cannot be applied; nil when it can.
func (m *Store) fits(c *checkpoint.Commit) error {
	g := m.graphs[c.ID]
	found, fence, seq := g != nil, int64(0), int64(0)
	if found {
		fence, seq = g.head.Fence, g.head.Seq
	}
	if err := rules.CheckCommit(c, found, fence, seq); err != nil {
		return err
	}
	return g.checkRoom(c)
}

// apply applies a commit that fits, but for its rows.
func (m *Store) apply(c *checkpoint.Commit) {
	g := m.graphs[c.ID]
	g.head.Seq, g.head.Epoch, g.head.At = c.Seq, c.Epoch, rules.Instant(c.At)
	g.head.Meta = rules.OrNil(copied(c.Meta))
	if c.Proven {
		g.ledger = g.ledger.Proven()
	}
	if c.Tried {
		g.ledger = g.ledger.Tried()
	}
	for i := range c.Cells {
		cell := &c.Cells[i]
		if name := (cellName{cell.Kind, cell.Name, cell.Key}); cell.Data == nil {
			delete(g.cells, name)
		} else {
			g.cells[name] = copied(cell.Data)
		}
	}
	for _, f := range rules.RingTail(c.Firings, c.KeepFirings) {
		g.addFiring(f)
	}
	g.trimFirings(c.KeepFirings)
	for _, l := range c.DeadLetters {
		m.addLetter(c.ID, l)
	}
	m.dropLetters(c.ID, c.Discard)
	g.applyOutbox(c)
}

// Redeal applies r; see [checkpoint.Deals].
func (m *Store) Redeal(ctx context.Context, r *checkpoint.Redeal) (int64, error) {
	id := checkpoint.ID{Tenant: r.Declaration.Tenant, Graph: r.Declaration.Graph}
	unlock, err := m.enter(ctx)
	if err != nil {
		return 0, rules.Wrap(err, "deal the keys of graph %s anew", id)
	}
	defer unlock()
	for _, c := range r.Commits {
		if err := m.fits(c); err != nil {
			return 0, rules.Wrap(err, "deal the keys of graph %s anew", c.ID)
		}
	}
	revision, err := m.declare(r.Declaration, r.IfRevision)
	if err != nil {
		return 0, rules.Wrap(err, "deal the keys of graph %s anew", id)
	}
	for _, c := range r.Commits {
		m.apply(c)
	}
	return revision, nil
}

// Attempt notes that an epoch is tried; see [checkpoint.Ledger].
func (m *Store) Attempt(ctx context.Context, id checkpoint.ID, fence, epoch int64) (int, error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return 0, rules.Wrap(err, "note that epoch %d of graph %s is tried", epoch, id)
	}
	defer unlock()
	g := m.graphs[id]
	if g == nil || g.head.Fence != fence {
		return 0, rules.Wrap(checkpoint.ErrFenced, "note that epoch %d of graph %s is tried", epoch, id)
	}
	g.ledger = g.ledger.Attempted(fence, epoch)
	return g.ledger.Attempts, nil
}

// Absolve takes an owner's start out of the count; see [checkpoint.Ledger].
func (m *Store) Absolve(ctx context.Context, id checkpoint.ID, fence, of int64) error {
	unlock, err := m.enter(ctx)
	if err != nil {
		return rules.Wrap(err, "clear the crash ledger of graph %s", id)
	}
	defer unlock()
	g := m.graphs[id]
	if g == nil || g.head.Fence != fence {
		return rules.Wrap(checkpoint.ErrFenced, "clear the crash ledger of graph %s", id)
	}
	g.ledger = g.ledger.Absolved(fence, of)
	return nil
}

// Relinquish notes a clean stop; see [checkpoint.Checkpoints].
func (m *Store) Relinquish(ctx context.Context, id checkpoint.ID, fence int64) error {
	unlock, err := m.enter(ctx)
	if err != nil {
		return rules.Wrap(err, "relinquish graph %s", id)
	}
	defer unlock()
	g := m.graphs[id]
	if g == nil || g.head.Fence != fence {
		return rules.Wrap(checkpoint.ErrFenced, "relinquish graph %s", id)
	}
	g.ledger = g.ledger.Relinquished()
	return nil
}

// copied is never nil: a cell with empty data is a cell.
func copied(data []byte) []byte { return append(make([]byte, 0, len(data)), data...) }
