// Package checkpoint is what a graph persists and the small interfaces to the
// store that keeps it: checkpoints, history, dead letters, recovery events and
// declarations. It knows no database: the packages under internal/dal implement the interfaces.
//
// One graph has one row, the head, carrying the fence. Every commit is one
// atomic statement that checks the fence and changes cells: a stale owner's
// write changes nothing and answers [ErrFenced].
package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/audit"
)

// Errors of a store. Implementations wrap them; callers use errors.Is.
var (
	// ErrNotFound says that the named graph, record or letter is not in the store.
	ErrNotFound = errors.New("not found")
	// ErrFenced says that another owner has taken the graph since: the write changed
	// nothing, and the caller must stop and discard what it holds.
	ErrFenced = errors.New("fenced: another owner has taken this graph")
	// ErrUnknownOutcome says that a commit may or may not have been applied. The caller
	// must not send it again: it discards its memory, acquires the graph anew and reloads.
	ErrUnknownOutcome = errors.New("commit outcome unknown")
	// ErrLocked says that another process holds the embedded store.
	ErrLocked = errors.New("store is locked by another process")
	// ErrConflict says that a revision was not the expected one.
	ErrConflict = errors.New("revision conflict")
	// ErrNewerSchema says that a newer release has migrated the store. Nothing was changed;
	// a person must act, so the daemon ends with exit code 78.
	ErrNewerSchema = errors.New("store was written by a newer release")
	// ErrOlderFormat says that the store was written by a release too old for this one to read.
	// Nothing was changed.
	ErrOlderFormat = errors.New("store was written by an older release than this one reads")
	// ErrCorrupt says that the store is damaged, or is no store. When opening, a person
	// must act, so the daemon ends with exit code 78; from Acquire or Load, one graph's
	// state is damaged and the others go on.
	ErrCorrupt = errors.New("store is damaged")
	// ErrSlow says that the store did not answer in time, and ErrUnreachable that there is no
	// connection to it. Of a write it is not known by that whether it was applied.
	ErrSlow        = errors.New("the store does not answer")
	ErrUnreachable = errors.New("the store cannot be reached")
	// ErrClosed says that the store has been closed.
	ErrClosed = errors.New("store is closed")
	// ErrBadCursor says that a Query's Before is not a cursor that this list has given.
	ErrBadCursor = errors.New(
		"bad cursor: pass the \"next\" of the previous page as it came, or nothing for the newest")
)

// Ailment is the code under which a graph's health tells that the store is overloaded, away, or raised
// beyond what this release reads; "" for every other error.
func Ailment(err error) string {
	switch {
	case errors.Is(err, ErrUnreachable):
		return "store_unreachable"
	case errors.Is(err, ErrSlow):
		return "store_slow"
	case errors.Is(err, ErrNewerSchema):
		return "store_newer"
	}
	return ""
}

// DefaultTenant owns the graphs of whoever names no tenant.
const DefaultTenant = access.DefaultTenant

// ID names a graph in the store, or a shard of one (M48).
type ID struct {
	Tenant, Graph string
	// Shard is 0 in a graph that has no others.
	Shard int
}

func (id ID) String() string {
	if id.Shard == 0 {
		return id.Tenant + "/" + id.Graph
	}
	return id.Tenant + "/" + id.Graph + "#" + strconv.Itoa(id.Shard)
}

// Whole is the graph that the shard is one of; declarations and recovery events are its.
func (id ID) Whole() ID { return ID{Tenant: id.Tenant, Graph: id.Graph} }

// Head is a graph's one row.
type Head struct {
	// Instance is made once, when the graph is first acquired (a UUID), and is new after its state was deleted.
	Instance string
	// Incarnation grows by one with every Acquire; it is in records, frames and headers.
	Incarnation int64
	// Fence is the token every later write must carry.
	Fence int64
	// Epoch is the last epoch the checkpoint covers; Seq counts commits.
	Epoch, Seq int64
	// Journal is the Seq of the last journal entry, 0 before the first.
	Journal int64
	// At is when the last commit was taken; zero before the first.
	At time.Time
	// Meta is the reactor's own record (format, plan hash, pause, counters), opaque to the store.
	Meta []byte
	// Attempts is how many owners have noted that they try the epoch after Epoch, without a
	// commit that covers it or a clean stop since (M43). 0 on a healthy start; see [Ledger].
	Attempts int
	// AttemptedBy is the fence of the last of those owners, Prior that of the owner before this one.
	AttemptedBy, Prior int64
	// Own is how many of the fences directly before this one the same process has taken, as far as
	// the store knows: runs of its own, and takings whose answers were lost.
	Own int64
	// Clean says that the owner before this one has relinquished the graph, or that there was none.
	Clean bool
	// UncleanStarts counts starts in a row, this one included, that were not followed by a
	// clean Relinquish or a commit that is Proven. 1 on a healthy start.
	UncleanStarts int
}

// Cell is one piece of a graph's state. Kind, Name and Key identify it; Key is "" in
// an unkeyed graph. In a commit, nil Data deletes the cell.
type Cell struct {
	Kind, Name, Key string
	Data            []byte
}

// Firing is one record of the history ring.
type Firing struct {
	Epoch, Incarnation int64
	Key                string
	// Data is the record's JSON, opaque to the store.
	Data []byte
}

// DeadLetter is an event (or a folded boundary) that could not be used.
type DeadLetter struct {
	ID          string    `json:"id"` // unique in the graph, sorts by time; see [LetterID]
	At          time.Time `json:"at"`
	Accumulator string    `json:"accumulator"`
	// Shard keeps the letter; who lists those of several shards says so, and no store.
	Shard int `json:"-"`
	// Stage is where it failed: "decode", "size", "schema", "time", "where", "emit", "key", "fold",
	// "generate", "guard", "node", "output", "evict" or "sink".
	Stage string `json:"stage"`
	Code  string `json:"code"`
	// Reason is one line for people.
	Reason string `json:"reason"`
	// Epoch is the failed epoch, 0 when it never came to one.
	Epoch int64  `json:"epoch,omitempty"`
	Key   string `json:"key,omitempty"`
	// Position is the event's position, or "first..last" of a folded boundary; "" for pushed events.
	Position string `json:"position,omitempty"`
	// Events is how many events the letter accounts for (M42).
	Events int64 `json:"events"`
	// Payload is the original bytes, or the boundary's value as JSON when Folded.
	Payload []byte `json:"payload"`
	Folded  bool   `json:"folded,omitempty"`
	// ReplayOf links a letter to the letter it was replayed from.
	ReplayOf string `json:"replay_of,omitempty"`
	// Attempts is how often it was refused, this time included.
	Attempts int64 `json:"attempts,omitempty"`
	// Output, FiringID and Message are of a value that its sink refused: where it was to go, under which id,
	// and all else that sends it again as it was, opaque to the store.
	Output   string `json:"output,omitempty"`
	FiringID string `json:"firing_id,omitempty"`
	Message  []byte `json:"message,omitempty"`
}

// Commit is one atomic change of a graph's durable state.
type Commit struct {
	ID    ID
	Fence int64
	// Seq is the head's Seq plus one; Epoch the last epoch covered.
	Seq, Epoch int64
	At         time.Time
	Meta       []byte
	Cells      []Cell
	Firings    []Firing
	// KeepFirings bounds the history ring after this commit.
	KeepFirings int
	DeadLetters []DeadLetter
	// Discard are dead letters whose replay this commit covers: they go with it. One that is not there is no error.
	Discard []string
	// Outbox holds new entries; an output's go on densely from those before (M30).
	Outbox []OutboxEntry
	// Delivered removes entries that are through. It is applied after Outbox.
	Delivered []Delivered
	// Rows are written to tables of the store's own database; ErrNoTables where it has none.
	Rows []SinkRows
	// JournalTo is the last journal entry that this state covers: those up to it are removed. 0 for none.
	JournalTo int64
	// Proven resets UncleanStarts: the graph has run long enough to call the start good.
	Proven bool
	// Tried says that what the owner has noted in the crash ledger was tried, and that the commit covers what
	// came of it: the note is void, although no epoch came of it. See [Ledger].
	Tried bool
}

// Checkpoints is the state of graphs. Safe for concurrent use; calls for one graph come from one goroutine.
type Checkpoints interface {
	// Acquire takes a graph: it makes the head when there is none, and raises fence and
	// incarnation. The caller is the only owner from then on. While another daemon owns it the error is an *OwnedError.
	Acquire(ctx context.Context, id ID) (Head, error)
	// Load hands every cell to visit, in no particular order. The data is visit's to keep.
	Load(ctx context.Context, id ID, visit func(Cell) error) error
	// Commit applies c as a whole or not at all. A clean error means it was not applied
	// and may be sent again; otherwise it wraps ErrFenced or ErrUnknownOutcome.
	Commit(ctx context.Context, c *Commit) error
	// Relinquish says that the owner stopped cleanly after its last commit. It clears the
	// crash ledger; a wrong fence is ErrFenced.
	Relinquish(ctx context.Context, id ID, fence int64) error
}

// Query pages through a list, newest first.
type Query struct {
	Limit  int    // at most this many; 0 means 50, more than 1,000 means 1,000
	Before string // the previous page's cursor; "" starts at the newest
	Key    string // only this key, where the list has keys; "" means all
}

// History reads the firing ring.
type History interface {
	// Firings lists records, newest first; next is the cursor of the following page, "" at the end.
	Firings(ctx context.Context, id ID, q Query) (items []Firing, next string, err error)
	// Firing is the newest incarnation's record of one epoch; ErrNotFound.
	Firing(ctx context.Context, id ID, epoch int64) (Firing, error)
}

// LetterQuery chooses dead letters, newest first. What is zero in it chooses all.
type LetterQuery struct {
	Query
	Code, Stage, Accumulator, Output string
	// Since and Until bound At: from the first on, and before the second.
	Since, Until time.Time
	// Oldest turns the order around; then After, the id of a letter, takes the place of Before, and the
	// last letter is that with the id UpTo, where that is not "".
	Oldest      bool
	After, UpTo string
}

// DeadLetters reads and clears the dead letters that commits have written.
type DeadLetters interface {
	DeadLetters(ctx context.Context, id ID, q LetterQuery) (items []DeadLetter, next string, err error)
	DeadLetter(ctx context.Context, id ID, letter string) (DeadLetter, error)
	// DiscardDeadLetters removes those that are there, and says how many they were.
	DiscardDeadLetters(ctx context.Context, id ID, letters []string) (int64, error)
	// PruneDeadLetters removes letters older than keep, then the oldest past max letters or
	// maxBytes of payload, and says how many went.
	PruneDeadLetters(ctx context.Context, id ID, olderThan time.Time, max int, maxBytes int64) (int64, error)
}

// RecoveryEvent is one restart or other act of the supervisor.
type RecoveryEvent struct {
	ID    int64     `json:"id"`
	At    time.Time `json:"at"`
	Graph string    `json:"graph"`
	Shard int       `json:"shard,omitempty"`
	// Component is "reactor", "graph" or "accumulator/NAME".
	Component string `json:"component"`
	// Kind is "restart", "gave_up", "operator_restart", "quarantined", "unclean_start",
	// "state_dropped", "source_data_lost", "gap_skipped", "updated", "update_failed",
	// "update_refused", "state_reset" or "rewound".
	Kind    string        `json:"kind"`
	Reason  string        `json:"reason"`
	Stack   string        `json:"stack,omitempty"`
	Attempt int           `json:"attempt"`
	Delay   time.Duration `json:"delay_ns"`
	// Outcome is "restarted", "failed", "pending".
	Outcome     string `json:"outcome"`
	Incarnation int64  `json:"incarnation"`
}

// RecoveryEvents is the supervisor's log.
type RecoveryEvents interface {
	// AddRecoveryEvent keeps an event of a graph or a shard; a list has those of all shards.
	AddRecoveryEvent(ctx context.Context, id ID, ev RecoveryEvent) error
	RecoveryEvents(ctx context.Context, id ID, q Query) (items []RecoveryEvent, next string, err error)
	// PruneRecoveryEvents removes what is older and says how many went.
	PruneRecoveryEvents(ctx context.Context, olderThan time.Time) (int64, error)
}

// Store is everything a daemon keeps. sqlite.Store, postgres.Store and memory.Store implement it.
type Store interface {
	Checkpoints
	Deals
	Ledger
	Journal
	PushKeys
	Outbox
	Leases
	Members
	Claims
	History
	DeadLetters
	RecoveryEvents
	Declarations
	Revisions
	Tokens
	Passes
	Sizes
	audit.Log
	// Ping says whether the store answers.
	Ping(ctx context.Context) error
	// Kind is "sqlite", "memory" or "postgres", for people.
	Kind() string
	Close() error
}

// CommitError wraps a store error with what was being done.
func CommitError(id ID, seq int64, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("commit %d of graph %s: %w", seq, id, err)
}
