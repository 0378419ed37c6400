package live

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphd/graphd/internal/failpoint"
	"github.com/graphd/graphd/internal/sink"
)

const (
	// writerCapacity bounds an output's queue, in messages: enough that a sink which flushes
	// every few milliseconds never stops a fast graph, small enough that what a crash loses
	// on the direct path stays below a checkpoint interval.
	writerCapacity = 4096
	// backlogBytes bounds what an outbox's writer keeps in memory; what is past it waits in the store.
	backlogBytes = 16 << 20
	// outboxEntries and outboxBytes bound what may wait in the outbox of one output before the
	// graph stops firing: a sink that is away for a while holds nothing up, one that is away
	// for good does not fill the disk.
	outboxEntries = 100_000
	outboxBytes   = 256 << 20
)

// MaxCarried and MaxCarriedBytes bound what a writer of the direct path takes over from the
// store at its start; more than that is delivered as an outbox.
const (
	MaxCarried      = 2 * writerCapacity
	MaxCarriedBytes = 64 << 20
)

// WriterConfig is what a writer needs to know of its output.
type WriterConfig struct {
	Output string
	Sink   sink.Sink
	// DeadLetter takes a message that the sink refused for good; nil, or Block, means that the writer
	// blocks on it, trying again with backoff (on_error: block). One that is sent again from its dead letter
	// blocks nothing: it is a dead letter again.
	DeadLetter func(ctx context.Context, m *sink.Message, code, reason string) error
	Block      bool
	// Room is called when a full queue has room again, and when an outbox has been emptied.
	Room func()
	// Outbox is set for an output that is delivered from its outbox (M30); nil for a direct one.
	Outbox *OutboxConfig
	// Owned says whether the graph is still this daemon's; while it is not, nothing is
	// delivered. Nil means that it always is.
	Owned func() bool
	// Carried are, on the direct path, messages that a checkpoint took over before they were
	// through; they go first. CarriedAfter is the number before the first.
	Carried      []sink.Message
	CarriedAfter int64
	// EventClock says that engine time is no time of the wall clock: what is read back from the store has
	// then waited, as far as is known, since it was read.
	EventClock bool
	// Fail is the failpoint that is armed; nil for none.
	Fail *failpoint.Set
	// Retry is how a delivery that failed is tried again; its zero fields mean the defaults
	// named beside them.
	Retry RetryPolicy
}

// OutboxConfig is how a writer gets at what was committed for it.
type OutboxConfig struct {
	// Read answers the entries after a number, in order; none is an error here. It runs on
	// the writer's goroutine.
	Read func(ctx context.Context, after int64) ([]sink.Message, error)
	// Delivered and Committed are the last entry that is through and the last there is;
	// Bytes is what those between hold.
	Delivered, Committed, Bytes int64
}

// Writer is the goroutine between the reactor and one sink (M30). Put never blocks: the
// reactor asks for Free first and stops firing when there is no room. On the outbox path it
// delivers what is committed, from memory while that goes on without a gap, else from the store.
type Writer struct {
	cfg  WriterConfig
	wake chan struct{} // capacity 1: "look"
	// open ends when Run is to return whatever is left; over ends it.
	open context.Context
	over context.CancelFunc

	mu      sync.Mutex
	queue   []sink.Message
	closing bool
	stopped chan struct{}  // closed when the output goes on; nil while it is not stopped
	current []sink.Message // in delivery; written by Run alone
	// On the outbox path: what the queue holds, the number its next message has or would
	// have, and the last entry there is.
	queued          int64
	next, committed int64

	pending   atomic.Int64 // in the queue or the outbox, and in delivery
	bytes     atomic.Int64 // of the outbox, about
	delivered atomic.Int64 // the last message that is through
	oldest    atomic.Int64 // when the first message that is not through was emitted, in Unix nanoseconds; 0 for none
	failed    atomic.Int64 // refused for good
	retries   atomic.Int64
	awaited   atomic.Bool // somebody waits for the last message to be through
	trouble   sink.Trouble
}

// NewWriter makes a writer; Run it on a goroutine of its own.
func NewWriter(cfg WriterConfig) *Writer {
	w := &Writer{cfg: cfg, wake: make(chan struct{}, 1)}
	w.open, w.over = context.WithCancel(context.Background())
	if o := cfg.Outbox; o != nil {
		w.next, w.committed = o.Delivered+1, o.Committed
		w.delivered.Store(o.Delivered)
		w.pending.Store(o.Committed - o.Delivered)
		w.bytes.Store(o.Bytes)
		return w
	}
	w.delivered.Store(cfg.CarriedAfter)
	w.queue = append(w.queue, cfg.Carried...)
	w.date(w.queue)
	w.pending.Store(int64(len(w.queue)))
	return w
}

// Free is how many messages may be emitted now.
func (w *Writer) Free() int {
	if w.cfg.Outbox == nil {
		return max(0, writerCapacity-int(w.pending.Load()))
	}
	if w.bytes.Load() >= outboxBytes {
		return 0
	}
	return max(0, outboxEntries-int(w.pending.Load()))
}

// Put queues messages, on the outbox path committed ones; the slice stays the caller's.
func (w *Writer) Put(batch []sink.Message) {
	w.pending.Add(int64(len(batch)))
	w.mu.Lock()
	if w.cfg.Outbox == nil {
		w.queue = append(w.queue, batch...)
	} else {
		w.putCommitted(batch)
	}
	w.mu.Unlock()
	w.look()
}

// putCommitted keeps what goes on without a gap and within the bounds in memory; the rest is
// read from the store when its turn comes.
func (w *Writer) putCommitted(batch []sink.Message) {
	size := int64(0)
	for i := range batch {
		size += int64(batch[i].Value.Size())
	}
	w.bytes.Add(size)
	w.committed = batch[len(batch)-1].Seq
	if batch[0].Seq != w.next+int64(len(w.queue)) || len(w.queue)+len(batch) > writerCapacity ||
		w.queued+size > backlogBytes {
		return
	}
	w.queue = append(w.queue, batch...)
	w.queued += size
}

// giveUp lets Run return with what is left undelivered: it is in the outbox.
func (w *Writer) giveUp() { w.over() }

// CloseWhenEmpty lets Run return once everything queued has been delivered.
func (w *Writer) CloseWhenEmpty() {
	w.mu.Lock()
	w.closing = true
	w.mu.Unlock()
	w.look()
}

func (w *Writer) look() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// WriterStatus is what an operator sees of an output's writer.
type WriterStatus struct {
	Pending, Failed, Retries int64
	// Oldest is when the first message that is not through was emitted; zero when none waits
	// or the writer has not come to it yet.
	Oldest time.Time
	// Trouble is the last failure while it lasts, Since when the first of them was after the last
	// delivery that went well.
	Trouble string
	Since   time.Time
}

// Status may be called from any goroutine.
func (w *Writer) Status() WriterStatus {
	s := WriterStatus{Pending: w.pending.Load(), Failed: w.failed.Load(), Retries: w.retries.Load()}
	if at := w.oldest.Load(); at != 0 {
		s.Oldest = time.Unix(0, at).UTC()
	}
	s.Trouble, s.Since = w.trouble.Last()
	return s
}

// Delivered is the last message that is through: delivered, or given to DeadLetter before. It
// may be called from any goroutine.
func (w *Writer) Delivered() int64 { return w.delivered.Load() }

// through reports whether nothing waits. When something does, the reactor is rung as soon as
// it is through.
func (w *Writer) through() bool {
	if w == nil {
		return true
	}
	w.awaited.Store(true) // before the look, so that neither side misses the other
	if w.pending.Load() > 0 {
		return false
	}
	w.awaited.Store(false)
	return true
}

// Undelivered are, on the direct path, the messages numbered above one number and up to
// another that are not through. It may be called from any goroutine.
func (w *Writer) Undelivered(above, upTo int64) (list []sink.Message) {
	if w.cfg.Outbox != nil || w.pending.Load() == 0 {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	above = max(above, w.delivered.Load())
	for _, part := range [][]sink.Message{w.current, w.queue} {
		for i := range part {
			if n := part[i].Seq; n > above && n <= upTo {
				list = append(list, part[i])
			}
		}
	}
	return list
}

// Run delivers until CloseWhenEmpty has been called and the queue is empty, or ctx is
// done; then it closes the sink. What was not delivered is counted by Status as pending.
func (w *Writer) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.open, cancel)()
	var batch []sink.Message
	pause := w.cfg.Retry.backOff()
	for ctx.Err() == nil && w.open.Err() == nil {
		var closing, more bool
		batch, closing, more = w.pop(batch)
		if len(batch) == 0 && more {
			stored, err := w.cfg.Outbox.Read(ctx, w.delivered.Load())
			if err == nil && len(stored) == 0 {
				err = errors.New("entries that were committed are not there")
			}
			if err != nil {
				w.retry(ctx, pause.NextBackOff(), fmt.Errorf("read the outbox: %w", err))
				continue
			}
			w.date(stored)
			batch = append(batch, stored...)
			w.readTo(batch[len(batch)-1].Seq)
		}
		if len(batch) > 0 {
			pause.Reset()
			w.deliver(ctx, batch)
			continue
		}
		if closing {
			break
		}
		select {
		case <-w.wake:
		case <-ctx.Done():
		}
	}
	// The sink is closed even when the deadline has passed, but not for long.
	end, shut := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer shut()
	if w.disowned() {
		shut() // what the sink still buffers is not to go out
	}
	return w.cfg.Sink.Close(end)
}

// pop swaps the queue for an empty array. more says that there is nothing in it but in the store.
func (w *Writer) pop(empty []sink.Message) (batch []sink.Message, closing, more bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(empty)
	batch, w.queue = w.queue, empty[:0]
	w.current = batch
	w.next += int64(len(batch))
	w.queued = 0
	return batch, w.closing, w.cfg.Outbox != nil && w.next <= w.committed
}

// date notes of messages that come from the store since when they wait.
func (w *Writer) date(stored []sink.Message) {
	if !w.cfg.EventClock {
		return
	}
	now := time.Now()
	for i := range stored {
		stored[i].Emitted = now
	}
}

// emitted is when a message was emitted by the wall clock, or what comes nearest to it.
func emitted(m *sink.Message) time.Time {
	if m.Emitted.IsZero() {
		return m.At
	}
	return m.Emitted
}

// readTo notes that entries up to seq were read from the store.
func (w *Writer) readTo(seq int64) {
	w.mu.Lock()
	w.next = seq + 1
	w.mu.Unlock()
}

// retry shows the failure and waits for the next try; false when ctx is done first.
func (w *Writer) retry(ctx context.Context, pause time.Duration, err error) bool {
	w.trouble.Fails(err)
	w.retries.Add(1)
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// deliver tries until the batch is through, a refused message is out of the way, or ctx is done.
func (w *Writer) deliver(ctx context.Context, batch []sink.Message) {
	pause := w.cfg.Retry.backOff()
	for tries := 0; len(batch) > 0; {
		w.oldest.Store(emitted(&batch[0]).UnixNano())
		if !w.mayDeliver(ctx) {
			return
		}
		err := w.attempt(ctx, batch)
		if err == nil {
			w.took(batch)
			w.trouble.Ends()
			return
		}
		through, refused, after := w.judge(err, len(batch))
		if through > 0 {
			w.trouble.Ends()
			w.took(batch[:through])
			batch = batch[through:]
			pause.Reset()
			tries = 0
		}
		if ctx.Err() != nil {
			return
		}
		code := ""
		if refused != nil {
			code = refused.Code
		} else if tries++; w.cfg.Retry.Attempts > 0 && tries > w.cfg.Retry.Attempts {
			code = "retries_exhausted"
		}
		if code != "" && w.cfg.DeadLetter != nil && (!w.cfg.Block || batch[0].Again != nil) {
			// The letter is on its way before its entry counts as through: a commit that
			// marks the one holds the other.
			if w.cfg.DeadLetter(ctx, &batch[0], code, err.Error()) != nil {
				return // the reactor has ended, or ctx has
			}
			w.trouble.Fails(err)
			w.failed.Add(1)
			w.done(batch[:1])
			batch = batch[1:]
			pause.Reset()
			tries = 0
			continue
		}
		if !w.retry(ctx, max(pause.NextBackOff(), after), err) {
			return
		}
	}
}

// judge reads how far a failed delivery of n messages came: through of them were written,
// the next one is refused for good, or is to be tried again after a pause.
func (w *Writer) judge(err error, n int) (through int, refused *sink.PermanentError, after time.Duration) {
	var again *sink.RetryError
	switch {
	case errors.As(err, &refused) && refused.Index < n:
		return refused.Index, refused, 0
	case errors.As(err, &again) && again.Index < n:
		return again.Index, nil, again.After
	}
	return 0, nil, 0
}

// attempt delivers once. A panic in a sink is a failed delivery like any other: it is
// tried again, shown as the output's trouble, and takes nothing else down.
func (w *Writer) attempt(ctx context.Context, batch []sink.Message) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic in the sink: %v", v)
		}
	}()
	if w.disowned() {
		return ErrDisowned
	}
	w.cfg.Fail.Hit("outbox_send")
	err = w.cfg.Sink.Deliver(ctx, batch)
	w.cfg.Fail.Hit("outbox_sent")
	return err
}

func (w *Writer) disowned() bool { return w.cfg.Owned != nil && !w.cfg.Owned() }

// took notes that the sink has taken messages.
func (w *Writer) took(batch []sink.Message) {
	w.done(batch)
	for i := range batch {
		batch[i].Settle("", "")
	}
}

// done counts messages as through, and says so when a full queue has room again.
func (w *Writer) done(through []sink.Message) {
	n := int64(len(through))
	if n == 0 {
		return
	}
	w.oldest.Store(0)
	full := int64(writerCapacity)
	if w.cfg.Outbox != nil {
		full = outboxEntries
	}
	w.delivered.Store(through[n-1].Seq)
	left := w.pending.Add(-n)
	unblocked := w.cfg.Outbox != nil && w.freed(through)
	// What is through of an outbox is marked with the next commit.
	if unblocked || left+n >= full/2 || left == 0 && (w.cfg.Outbox != nil || w.awaited.Load()) {
		w.ring()
	}
}

// freed takes what is through off the outbox's bytes, and reports whether they were what held
// the graph up. An empty outbox has none, whatever was estimated.
func (w *Writer) freed(through []sink.Message) (unblocked bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	full := w.bytes.Load() >= outboxBytes
	for i := range through {
		w.bytes.Add(-int64(through[i].Value.Size()))
	}
	if w.pending.Load() == 0 {
		w.bytes.Store(0)
	}
	return full && w.bytes.Load() < outboxBytes
}

func (w *Writer) ring() {
	if w.cfg.Room != nil {
		w.cfg.Room()
	}
}
