package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/sink"
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
	markFirst     bug = "an entry counts as delivered whatever becomes of it"
	lostMark      bug = "the first entry of an outbox is dropped at a restart"
	lostLetter    bug = "a refused value is marked as delivered without a letter"
	lateLetter    bug = "a value refused behind a seal is in no commit until the next one"
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
		lostFlag, lostQueue, offsetFirst, blindGoOn, lateWords, noUndo, volatilePause, deafResume, deafFailure,
		unfenced,
		effectFirst, emptyOutbox, markFirst, lostMark, lostLetter, lateLetter, seqAnew, rowsApart, rowsLost, unstableID,
		ackFirst, releaseFirst, showFirst, lostTail, admitOnly, journalTwice, lostCarried, tightRoom, backwards,
	}
}

func (w *world) plantBeforeTurn(o *owner) {
	switch w.bug {
	case tightRoom:
		o.deepest = max(o.deepest, o.inbox.lanes[inA].depth)
	}
}

func (w *world) plantAfterTurn(o *owner) {
	c := o.core
	switch w.bug {
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

// plantBeforeCommit spoils what happens before a commit.
func (w *world) plantBeforeCommit(o *owner) {
	if s := o.r.inflight; s != nil && w.bug == effectFirst {
		s.Outbox(func(m *sink.Message) { w.receive(o, m.To, m) })
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
	s.spoil(c)
	switch s.w.bug {
	case seqAnew:
		c.Meta = forget(c.Meta, "outbox")
	case emptyOutbox:
		c.Outbox = nil
	case lateLetter:
		for _, m := range s.o.r.inflight.late {
			c.Outbox = slices.DeleteFunc(c.Outbox, func(e checkpoint.OutboxEntry) bool {
				return e.Output == m.Output && e.Seq == m.Seq
			})
		}
	case journalTwice:
		c.JournalTo = 0
		c.Meta = forget(c.Meta, "journal")
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
	case s.w.bug == deafFailure && err != nil && !errors.Is(err, checkpoint.ErrFenced) &&
		!errors.Is(err, checkpoint.ErrUnknownOutcome):
		return nil
	}
	return err
}

// receivedID is the id a receiver sees.
func (w *world) receivedID(m *sink.Message) string {
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

// forget takes a member out of a head.
func forget(data []byte, member string) []byte {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(data, &m); err != nil {
		return data
	}
	delete(m, member)
	data, _ = json.Marshal(m)
	return data
}

// spoil changes the cells of a commit.
func (s plantedStore) spoil(c *checkpoint.Commit) {
	w := s.w
	switch w.bug {
	case lostFlag:
		c.Cells = slices.DeleteFunc(c.Cells, func(x checkpoint.Cell) bool { return x.Kind == "in" && x.Name == "b" })
	case lostQueue:
		c.Cells = slices.DeleteFunc(c.Cells, func(x checkpoint.Cell) bool { return x.Kind == "queue" && x.Data != nil })
	case offsetFirst:
		s.replace(c, "acc", w.scratch(w.sourceBatch(w.streams, 0, 0)))
	case noUndo:
		s.o.core.RecordsBefore(math.MaxInt64, "", 1, func(r *reactor.Record) {
			if r.Err != "" && !r.Inputs[inA].IsAbsent() {
				s.replace(c, "in", w.scratch(&accumulator.Handoff{
					Boundaries: []boundary.Boundary{{Value: r.Inputs[inA], Events: 1}},
				}))
			}
		})
	}
}

// replace writes the cell of a that another commit has over that of this one, if it has one.
func (s plantedStore) replace(c *checkpoint.Commit, kind string, by *checkpoint.Commit) {
	is := func(x checkpoint.Cell) bool { return x.Kind == kind && x.Name == "a" }
	to, from := slices.IndexFunc(c.Cells, is), slices.IndexFunc(by.Cells, is)
	if to >= 0 && from >= 0 {
		c.Cells[to].Data = by.Cells[from].Data
	}
}

// scratch is the checkpoint of a graph like ours, in which nothing fails, after a handoff to a.
func (w *world) scratch(h *accumulator.Handoff) *checkpoint.Commit {
	core := reactor.NewCore(testConfig(w.t, strings.Replace(fmt.Sprintf(simGraph, ""), "7 / (", "7 + (", 1)))
	core.Start(w.now)
	for i := range simInputs {
		core.SetHealth(w.now, i, accumulator.Live, "", "")
	}
	core.Admit(w.now, inA, h, 0)
	core.Fire(w.now)
	return core.Seal(w.now).Commit()
}
