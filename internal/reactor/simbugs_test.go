package reactor

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/graphd/graphd/internal/checkpoint"
)

// bug is a fault planted in the world around the core, to prove that the checks can fail.
type bug string

const (
	noBug         bug = ""
	lostFlag      bug = "dirty flags are not in the checkpoint"
	lostQueue     bug = "queued boundaries are not in the checkpoint"
	offsetFirst   bug = "positions are committed ahead of what was admitted"
	blindGoOn     bug = "an unknown commit outcome is taken for a success"
	lateWords     bug = "an old incarnation's handoff is admitted"
	noUndo        bug = "a failed epoch keeps what it took"
	volatilePause bug = "a pause is answered before it is durable"
	deafResume    bug = "restored work is not evaluated until the next arrival"
	deafFailure   bug = "a commit that failed is taken for a success"
	unfenced      bug = "the store takes the writes of old owners"
	effectFirst   bug = "values leave for the outbox's receiver before they are committed"
	emptyOutbox   bug = "the outbox is not in the commit, only in memory"
	markFirst     bug = "an entry counts as delivered before it is sent"
	lostMark      bug = "the first entry of an outbox is dropped at a restart"
	lostLetter    bug = "a refused value is marked as delivered without a letter"
	seqAnew       bug = "the numbers of an outbox begin anew at a restart"
	rowsApart     bug = "rows are committed apart from the state"
	rowsLost      bug = "rows of a commit that was tried again are left out"
	unstableID    bug = "the incarnation is in the id of a committed value"
	ackFirst      bug = "a push is acknowledged before the journal has it"
	releaseFirst  bug = "values leave before the journal has their epoch"
	showFirst     bug = "watchers see epochs before the journal has them"
	lostTail      bug = "a replay leaves out the last entry of the journal"
	admitOnly     bug = "a replay runs no epochs"
	journalTwice  bug = "a checkpoint does not say how far into the journal it goes"
	lostCarried   bug = "what a checkpoint carried over from the direct path is not taken up"
	tightRoom     bug = "room that a cut has made is not given back"
	backwards     bug = "engine time follows the clock backwards"
)

func allBugs() []bug {
	return []bug{
		lostFlag, lostQueue, offsetFirst, blindGoOn, lateWords, noUndo, volatilePause, deafResume, deafFailure, unfenced,
		effectFirst, emptyOutbox, markFirst, lostMark, lostLetter, seqAnew, rowsApart, rowsLost, unstableID,
		ackFirst, releaseFirst, showFirst, lostTail, admitOnly, journalTwice, lostCarried, tightRoom, backwards,
	}
}

// plantAtStart spoils an owner that has just been loaded.
func (w *world) plantAtStart(o *owner) {
	switch w.bug {
	case seqAnew:
		clear(o.core.holds.seq)
	case lostMark:
		for _, i := range []int{boxA, boxC} {
			if wr := o.r.Writers[i]; wr.pending.Load() > 0 {
				wr.delivered.Add(1)
				wr.pending.Add(-1)
				wr.next++
			}
		}
	}
}

func (w *world) plantBeforeTurn(o *owner) {
	switch w.bug {
	case backwards:
		o.core.now = w.now
	case tightRoom:
		o.deepest = max(o.deepest, o.inbox.lanes[inA].depth)
	}
}

func (w *world) plantAfterTurn(o *owner) {
	c := o.core
	switch w.bug {
	case noUndo:
		if n := c.ring.total; n > 0 {
			if r := c.ring.at(n - 1); r.Err != "" && !r.Inputs[inA].IsAbsent() {
				c.shared.slots[inA].cur = r.Inputs[inA]
			}
		}
	case effectFirst:
		for i := range c.holds.list {
			if h := &c.holds.list[i]; h.To == boxA || h.To == boxC {
				w.receive(o, h.To, &h.Message)
			}
		}
	case releaseFirst:
		for i := range o.r.pipe.waves {
			o.r.give(o.r.pipe.waves[i].out)
			o.r.pipe.waiting -= len(o.r.pipe.waves[i].out)
			o.r.pipe.waves[i].out = nil
		}
	case tightRoom:
		o.inbox.lanes[inA].depth = o.deepest
	case showFirst:
		c.Show(c.RecordsMade())
	}
}

// plantBeforeCommit spoils the seal that may be encoded now.
func (w *world) plantBeforeCommit(o *owner) {
	s := o.r.inflight
	if s == nil {
		return
	}
	switch w.bug {
	case lostFlag:
		for i := range s.slots {
			s.slots[i].pend = nil
		}
	case lostQueue:
		s.queue = nil
	case offsetFirst:
		for i := range s.accs {
			if s.accs[i].input == inA {
				s.accs[i].mark = w.sourceBatch(w.streams, 0, 0).Mark
			}
		}
	}
}

// planted is the store as the reactor sees it.
func (w *world) planted(o *owner) plantedStore { return plantedStore{w.store, w, o} }

type plantedStore struct {
	checkpoint.Store
	w *world
	o *owner
}

func (s plantedStore) Commit(ctx context.Context, c *checkpoint.Commit) error {
	switch s.w.bug {
	case emptyOutbox:
		c.Outbox = nil
	case journalTwice:
		c.JournalTo = 0
		c.Meta = forgetJournal(c.Meta)
	case unfenced:
		c.Fence, c.Seq = s.w.own.head.Fence, s.w.own.r.seq+1
	case rowsApart:
		rows := c.Rows
		c.Rows = nil
		if len(rows) > 0 {
			if err := s.w.commitApart(ctx, rows); err != nil {
				return err
			}
		}
	case rowsLost:
		if s.o.r.sealed.Failed > 0 {
			c.Rows = nil
		}
	}
	err := s.Store.Commit(ctx, c)
	switch {
	case s.w.bug == blindGoOn && errors.Is(err, checkpoint.ErrUnknownOutcome):
		return nil
	case s.w.bug == deafFailure && err != nil && !errors.Is(err, checkpoint.ErrFenced) && !errors.Is(err, checkpoint.ErrUnknownOutcome):
		return nil
	}
	return err
}

// receivedID is the id a receiver sees.
func (w *world) receivedID(m *Message) string {
	if w.bug == unstableID {
		plain := *m
		plain.Stable = false
		return plain.FiringID()
	}
	return m.FiringID()
}

// commitApart writes rows in a commit of their own.
func (w *world) commitApart(ctx context.Context, rows []checkpoint.SinkRows) error {
	id := checkpoint.ID{Tenant: "default", Graph: "apart"}
	head, err := w.memory.Acquire(ctx, id)
	if err != nil {
		return err
	}
	return w.memory.Commit(ctx, &checkpoint.Commit{ID: id, Fence: head.Fence, Seq: head.Seq + 1, Rows: rows})
}

// forgetJournal takes the place in the journal out of a head.
func forgetJournal(data []byte) []byte {
	var m meta
	if err := json.Unmarshal(data, &m); err != nil {
		return data
	}
	m.Journal = 0
	data, _ = json.Marshal(m)
	return data
}
