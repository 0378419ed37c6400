package checkpointtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/audit"
	"github.com/graphd/graphd/internal/checkpoint"
)

// ErrInjected is the clean error of a [Fault] that names no other.
var ErrInjected = errors.New("injected fault")

// Op is a kind of call on a store.
type Op string

// The calls that [Faulty] can make fail. All others go through.
const (
	OpAcquire           Op = "acquire"
	OpLoad              Op = "load"
	OpCommit            Op = "commit"
	OpRelinquish        Op = "relinquish"
	OpAttempt           Op = "attempt"
	OpPutDeclaration    Op = "put_declaration"
	OpDeclarations      Op = "declarations"
	OpDeleteDeclaration Op = "delete_declaration"
	OpAddRecoveryEvent  Op = "add_recovery_event"
	OpPing              Op = "ping"
	OpAppendJournal     Op = "append_journal"
	OpReadJournal       Op = "read_journal"
	OpOutbox            Op = "outbox"
	OpAppendAudit       Op = "append_audit"
)

// Call is one call on a [Faulty] store.
type Call struct {
	Op Op
	ID checkpoint.ID // zero where the call names no graph
	// N counts the calls of this kind, from 1.
	N int
	// Commit is what a commit carries; nil for other calls.
	Commit *checkpoint.Commit
	// Journal is what an append carries, with the fence it goes under; nil for other calls.
	Journal []checkpoint.JournalEntry
	Fence   int64
}

// Outcome is what a [Fault] makes of a call, beside delaying it.
type Outcome int

// Outcomes. The unknown ones are for commits; for other calls they answer
// ErrUnknownOutcome too, after doing what their name says.
const (
	// Pass lets the call through.
	Pass Outcome = iota
	// Fail answers the fault's error without calling the store: a clean error.
	Fail
	// UnknownApplied calls the store and answers ErrUnknownOutcome all the same.
	UnknownApplied
	// UnknownLost answers ErrUnknownOutcome without calling the store.
	UnknownLost
	// UnknownLate answers ErrUnknownOutcome and keeps a copy of the commit or append on the
	// way; it arrives when Deliver is called. It is UnknownLost for other calls.
	UnknownLate
)

// Fault is what happens to one call. The zero value is nothing.
type Fault struct {
	// Delay passes before all else; the call ends early with its context.
	Delay time.Duration
	// Wait, when not nil, must be closed before the call goes on; it ends early with its context.
	Wait    <-chan struct{}
	Outcome Outcome
	// Err is the error of Fail; nil means ErrInjected.
	Err error
}

// Faulty is a store that fails by a script, over one that does not. It is safe for
// concurrent use.
type Faulty struct {
	checkpoint.Store
	decide func(Call) Fault

	// mu guards what follows; decide is called under it, so that a seeded script sees one
	// order of calls. It is never held while the store is called.
	mu    sync.Mutex
	calls map[Op]int
	late  []Call
}

var _ checkpoint.Store = (*Faulty)(nil)

// NewFaulty asks decide, one call at a time, what shall happen to each call on inner.
// decide must not call the store; nil lets everything through until Script is called.
func NewFaulty(inner checkpoint.Store, decide func(Call) Fault) *Faulty {
	return &Faulty{Store: inner, decide: decide, calls: map[Op]int{}}
}

// Script replaces decide: the next calls of one kind meet these faults in turn, and all
// other calls none.
func (f *Faulty) Script(op Op, faults ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.decide = func(c Call) Fault {
		if c.Op != op || len(faults) == 0 {
			return Fault{}
		}
		fault := faults[0]
		faults = faults[1:]
		return fault
	}
}

// Calls says how many calls of a kind have come.
func (f *Faulty) Calls(op Op) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[op]
}

// Deliver lets the late commits and appends arrive, in the order they were sent, and returns what
// the store said to each.
func (f *Faulty) Deliver(ctx context.Context) []error {
	f.mu.Lock()
	late := f.late
	f.late = nil
	f.mu.Unlock()
	var errs []error
	for _, c := range late {
		if c.Commit != nil {
			errs = append(errs, f.Store.Commit(ctx, c.Commit))
		} else {
			errs = append(errs, f.Store.AppendJournal(ctx, c.ID, c.Fence, c.Journal))
		}
	}
	return errs
}

// meet runs a call through the fault that is due.
func (f *Faulty) meet(ctx context.Context, c Call, call func() error) error {
	f.mu.Lock()
	f.calls[c.Op]++
	c.N = f.calls[c.Op]
	var fault Fault
	if f.decide != nil {
		fault = f.decide(c)
	}
	f.mu.Unlock()
	if err := fault.pause(ctx); err != nil {
		return err
	}
	switch fault.Outcome {
	case Fail:
		if fault.Err != nil {
			return fault.Err
		}
		return fmt.Errorf("%s %d: %w", c.Op, c.N, ErrInjected)
	case UnknownApplied:
		if err := call(); err != nil {
			return err
		}
		return unknown(c)
	case UnknownLost:
		return unknown(c)
	case UnknownLate:
		if c.Commit != nil || c.Journal != nil {
			f.mu.Lock()
			f.late = append(f.late, cloneCall(c))
			f.mu.Unlock()
		}
		return unknown(c)
	}
	return call()
}

func unknown(c Call) error {
	return fmt.Errorf("%s %d: %w", c.Op, c.N, checkpoint.ErrUnknownOutcome)
}

func (f Fault) pause(ctx context.Context) error {
	if f.Delay > 0 {
		timer := time.NewTimer(f.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if f.Wait != nil {
		select {
		case <-f.Wait:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func cloneCall(c Call) Call {
	if c.Commit != nil {
		c.Commit = cloneCommit(c.Commit)
	}
	c.Journal = slices.Clone(c.Journal)
	for i := range c.Journal {
		c.Journal[i].Data = bytes.Clone(c.Journal[i].Data)
	}
	return c
}

// cloneCommit copies all the way down: the sender may reuse what it sent.
func cloneCommit(c *checkpoint.Commit) *checkpoint.Commit {
	copied := *c
	copied.Meta = bytes.Clone(c.Meta)
	copied.Cells = slices.Clone(c.Cells)
	for i := range copied.Cells {
		copied.Cells[i].Data = bytes.Clone(c.Cells[i].Data)
	}
	copied.Firings = slices.Clone(c.Firings)
	for i := range copied.Firings {
		copied.Firings[i].Data = bytes.Clone(c.Firings[i].Data)
	}
	copied.DeadLetters = slices.Clone(c.DeadLetters)
	for i := range copied.DeadLetters {
		copied.DeadLetters[i].Payload = bytes.Clone(c.DeadLetters[i].Payload)
	}
	copied.Discard = slices.Clone(c.Discard)
	copied.Outbox = slices.Clone(c.Outbox)
	for i := range copied.Outbox {
		copied.Outbox[i].Data = bytes.Clone(c.Outbox[i].Data)
	}
	copied.Delivered = slices.Clone(c.Delivered)
	copied.Rows = slices.Clone(c.Rows)
	for i := range copied.Rows {
		copied.Rows[i].Rows = slices.Clone(c.Rows[i].Rows) // values are immutable
	}
	return &copied
}

// Acquire is OpAcquire.
func (f *Faulty) Acquire(ctx context.Context, id checkpoint.ID) (head checkpoint.Head, err error) {
	err = f.meet(ctx, Call{Op: OpAcquire, ID: id}, func() (err error) {
		head, err = f.Store.Acquire(ctx, id)
		return err
	})
	if err != nil {
		return checkpoint.Head{}, err
	}
	return head, nil
}

// Load is OpLoad.
func (f *Faulty) Load(ctx context.Context, id checkpoint.ID, visit func(checkpoint.Cell) error) error {
	return f.meet(ctx, Call{Op: OpLoad, ID: id}, func() error { return f.Store.Load(ctx, id, visit) })
}

// Commit is OpCommit.
func (f *Faulty) Commit(ctx context.Context, c *checkpoint.Commit) error {
	err := f.meet(ctx, Call{Op: OpCommit, ID: c.ID, Commit: c}, func() error { return f.Store.Commit(ctx, c) })
	return checkpoint.CommitError(c.ID, c.Seq, err)
}

// Attempt is OpAttempt.
func (f *Faulty) Attempt(ctx context.Context, id checkpoint.ID, fence, epoch int64) (attempts int, err error) {
	err = f.meet(ctx, Call{Op: OpAttempt, ID: id}, func() (err error) {
		attempts, err = f.Store.Attempt(ctx, id, fence, epoch)
		return err
	})
	return attempts, err
}

// Relinquish is OpRelinquish.
func (f *Faulty) Relinquish(ctx context.Context, id checkpoint.ID, fence int64) error {
	return f.meet(ctx, Call{Op: OpRelinquish, ID: id}, func() error { return f.Store.Relinquish(ctx, id, fence) })
}

// PutDeclaration is OpPutDeclaration.
func (f *Faulty) PutDeclaration(ctx context.Context, d checkpoint.Declaration, ifRevision int64) (
	revision int64, err error) {
	id := checkpoint.ID{Tenant: d.Tenant, Graph: d.Graph}
	err = f.meet(ctx, Call{Op: OpPutDeclaration, ID: id}, func() (err error) {
		revision, err = f.Store.PutDeclaration(ctx, d, ifRevision)
		return err
	})
	if err != nil {
		return 0, err
	}
	return revision, nil
}

// Declarations is OpDeclarations.
func (f *Faulty) Declarations(ctx context.Context) (all []checkpoint.Declaration, err error) {
	err = f.meet(ctx, Call{Op: OpDeclarations}, func() (err error) {
		all, err = f.Store.Declarations(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// DeleteDeclaration is OpDeleteDeclaration.
func (f *Faulty) DeleteDeclaration(ctx context.Context, id checkpoint.ID, state bool) error {
	return f.meet(ctx, Call{Op: OpDeleteDeclaration, ID: id}, func() error {
		return f.Store.DeleteDeclaration(ctx, id, state)
	})
}

// AddRecoveryEvent is OpAddRecoveryEvent.
func (f *Faulty) AddRecoveryEvent(ctx context.Context, id checkpoint.ID, ev checkpoint.RecoveryEvent) error {
	return f.meet(ctx, Call{Op: OpAddRecoveryEvent, ID: id}, func() error {
		return f.Store.AddRecoveryEvent(ctx, id, ev)
	})
}

// AppendAudit is OpAppendAudit.
func (f *Faulty) AppendAudit(ctx context.Context, e audit.Entry) (seq int64, err error) {
	err = f.meet(ctx, Call{Op: OpAppendAudit, ID: checkpoint.ID{Tenant: e.Tenant}}, func() (err error) {
		seq, err = f.Store.AppendAudit(ctx, e)
		return err
	})
	return seq, err
}

// Ping is OpPing.
func (f *Faulty) Ping(ctx context.Context) error {
	return f.meet(ctx, Call{Op: OpPing}, func() error { return f.Store.Ping(ctx) })
}

// AppendJournal is OpAppendJournal.
func (f *Faulty) AppendJournal(ctx context.Context, id checkpoint.ID, fence int64,
	entries []checkpoint.JournalEntry) error {
	return f.meet(ctx, Call{Op: OpAppendJournal, ID: id, Fence: fence, Journal: entries}, func() error {
		return f.Store.AppendJournal(ctx, id, fence, entries)
	})
}

// ReadJournal is OpReadJournal.
func (f *Faulty) ReadJournal(ctx context.Context, id checkpoint.ID, after int64,
	visit func(checkpoint.JournalEntry) error) error {
	return f.meet(ctx, Call{Op: OpReadJournal, ID: id}, func() error {
		return f.Store.ReadJournal(ctx, id, after, visit)
	})
}

// Outbox is OpOutbox.
func (f *Faulty) Outbox(ctx context.Context, id checkpoint.ID, output string, after int64, limit int, maxBytes int64) (
	page []checkpoint.OutboxEntry, err error) {
	err = f.meet(ctx, Call{Op: OpOutbox, ID: id}, func() (err error) {
		page, err = f.Store.Outbox(ctx, id, output, after, limit, maxBytes)
		return err
	})
	if err != nil {
		return nil, err
	}
	return page, nil
}
