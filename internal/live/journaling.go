package live

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/live/rising"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/sink"
)

const (
	// maxLog bounds what waits for the journal, in bytes. Past it the reactor neither admits
	// nor fires: an append takes milliseconds, in which a fast graph logs less than this.
	maxLog = 8 << 20
	// sealLog asks for a checkpoint when so much has been appended since the last: a replay
	// after a crash is bounded by it.
	sealLog = 64 << 20
	// appendAgain is how long a failed append waits to be tried again.
	appendAgain = 200 * time.Millisecond
)

// pipeline is the reactor's side of the journal (M29): what follows from an entry waits
// here until the entry is in the store. One append is on its way at a time; what is logged
// meanwhile goes with the next, which is the group commit.
type pipeline struct {
	appends  chan appended // capacity 1
	inflight bool
	unsent   []checkpoint.JournalEntry // on their way, or to be sent again after a clean error
	retryAt  time.Time
	since    int64       // bytes appended since the last checkpoint
	durable  int64       // the last entry in the store
	waves    []wave      // in order
	waiting  int         // messages in the waves
	mark     rising.Mark // durable, for commands
}

type appended struct {
	err  error
	took time.Duration
}

// wave is what may be released once an entry is in the store.
type wave struct {
	seq     int64
	puts    int64 // handoffs admitted
	records int64 // records that watchers may see
	out     []sink.Message
}

// holdBack keeps what was released until the journal has what it follows from.
func (r *Reactor) holdBack(out []sink.Message) {
	p := &r.pipe
	w := wave{seq: r.Core.NextJournalSeq(), puts: r.Inbox.Drained(), records: r.Core.RecordsMade()}
	if n := len(p.waves); n > 0 && p.waves[n-1].seq == w.seq {
		last := &p.waves[n-1]
		last.puts, last.records, last.out = w.puts, w.records, append(last.out, out...)
		p.waiting += len(out)
		return
	}
	if w.seq <= p.durable {
		r.letGo(&w, out)
		return
	}
	w.out = append(w.out, out...)
	p.waiting += len(out)
	p.waves = append(p.waves, w)
}

// letGo releases a wave.
func (r *Reactor) letGo(w *wave, out []sink.Message) {
	r.give(out)
	r.Inbox.Journaled(w.puts)
	r.Core.Show(w.records)
}

// write appends what was logged when no append is on its way.
func (r *Reactor) write(now time.Time) {
	p := &r.pipe
	if r.held || !r.Core.Config().Journal || p.inflight || now.Before(p.retryAt) {
		return
	}
	if len(p.unsent) == 0 {
		r.settle()
		if p.unsent = r.Core.DrainJournal(); len(p.unsent) == 0 {
			return
		}
	}
	p.inflight = true
	entries := p.unsent
	r.spawn(func() {
		began := time.Now()
		err := protect(func() error {
			// A stop does not cut an append short: its outcome would be unknown.
			ctx, cancel := r.reach.Within(r.Term, commitTimeout)
			defer cancel()
			if r.disowned() {
				return ErrDisowned
			}
			r.Fail.Hit("journal_sent")
			err := r.Journal.AppendJournal(ctx, r.Core.Config().ID, r.Core.Config().Fence, entries)
			r.Fail.Hit("journal_acknowledged")
			return err
		})
		p.appends <- appended{err: err, took: time.Since(began)}
	})
}

// appendDone takes in the outcome of the append on its way.
func (r *Reactor) appendDone(done appended, now time.Time) error {
	p := &r.pipe
	p.inflight, r.shown.stirred = false, true // what is held, and how far the store is
	if done.err != nil {
		if final(done.err) {
			return fmt.Errorf("journal entry %d: %w", p.unsent[0].Seq, done.err)
		}
		r.sealing(func(c *CheckpointStatus) { c.JournalFailed++ })
		p.retryAt = now.Add(appendAgain)
		r.persistError(journalFails, "the journal cannot be written, so nothing leaves the graph: ", done.err)
		r.Log.Warn("journal failed; it will be tried again", "entry", p.unsent[0].Seq, "err", done.err)
		return nil
	}
	r.persistError(journalFails, "", nil)
	r.journalTook(done.took)
	for i := range p.unsent {
		p.since += int64(len(p.unsent[i].Data))
	}
	p.durable = p.unsent[len(p.unsent)-1].Seq
	p.unsent = nil
	if p.since >= sealLog {
		r.sealNow = true
	}
	n := 0
	for ; n < len(p.waves) && p.waves[n].seq <= p.durable; n++ {
		p.waiting -= len(p.waves[n].out)
		r.letGo(&p.waves[n], p.waves[n].out)
	}
	clear(p.waves[:n])
	p.waves = append(p.waves[:0], p.waves[n:]...)
	p.mark.Raise(p.durable)
	r.launch()
	r.look(now)
	return nil
}

// logRoom reports whether the journal keeps up.
func (r *Reactor) logRoom() bool {
	if !r.Core.Config().Journal {
		return true
	}
	n := r.Core.LogBytes()
	for i := range r.pipe.unsent {
		n += len(r.pipe.unsent[i].Data)
	}
	return n < maxLog && r.Core.Hidden() < max(r.Core.Config().KeepFirings/2, fireBatch)
}

// Journaled waits until the journal holds everything the core has been told; without one it returns at once.
func (r *Reactor) Journaled(ctx context.Context) error {
	if !r.Core.Config().Journal {
		return nil
	}
	seq, err := ask(ctx, r, func(time.Time) (int64, error) { return r.Core.NextJournalSeq(), nil })
	if err != nil {
		return err
	}
	return r.pipe.mark.Wait(ctx, seq)
}

// What keeps the graph from being durable; each shows until it is over.
const (
	checkpointFails = iota
	journalFails
	rowsBlock
	persistReasons
)

// persistError shows or clears one reason why nothing can be made durable: a text, and what the
// store has said where it was the store. A store that is away or overloaded has a code of its own.
func (r *Reactor) persistError(reason int, text string, err error) {
	var why reactor.Obstacle
	if text != "" {
		why.Code, why.Detail = "checkpoint_failing", text
	}
	if err != nil {
		why.Code, why.Detail = cmp.Or(checkpoint.Ailment(err), why.Code), text+err.Error()
	}
	if r.persist[reason] == why {
		return
	}
	if r.persist == nil {
		r.persist = make(map[int]reactor.Obstacle, persistReasons)
	}
	r.persist[reason] = why
	for first := range persistReasons {
		if o := r.persist[first]; o.Code != "" {
			why = o
			break
		}
	}
	r.Core.SetPersistError(why)
}

// journalTook counts an append. What is published is not changed.
func (r *Reactor) journalTook(d time.Duration) {
	next := reactor.Histogram{}
	if r.sealed.Journaled != nil {
		next = *r.sealed.Journaled
	}
	next.Observe(d)
	r.sealing(func(c *CheckpointStatus) { c.Journaled = &next })
}
