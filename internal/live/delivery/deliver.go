package delivery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/sink"
)

// Run delivers until CloseWhenEmpty has been called and the queue is empty, or ctx is
// done; then it closes the sink. What was not delivered is counted by Status as pending.
func (w *Writer) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.open, cancel)()
	if w.several != nil {
		w.several.run(ctx)
	} else {
		w.inTurn(ctx)
	}
	// The sink is closed even when the deadline has passed, but not for long.
	end, shut := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer shut()
	if w.disowned() {
		shut() // what the sink still buffers is not to go out
	}
	return w.cfg.Sink.Close(end)
}

// inTurn delivers batch after batch.
func (w *Writer) inTurn(ctx context.Context) {
	var batch []sink.Message
	pause := w.cfg.Retry.backOff()
	for ctx.Err() == nil && w.open.Err() == nil && !w.leaves() {
		var closing bool
		var err error
		if batch, closing, err = w.Next(ctx, batch); err != nil {
			w.retry(ctx, pause.NextBackOff(), err)
			continue
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
}

// Next is what is to be delivered next, from memory or the store, in the array of empty; closing says that
// nothing comes after what there is. It is for the goroutine of Run, as is Try: a simulator that does not Run
// calls both, one after the other.
func (w *Writer) Next(ctx context.Context, empty []sink.Message) (batch []sink.Message, closing bool, err error) {
	batch, closing, more := w.pop(empty)
	if len(batch) > 0 || !more {
		return batch, closing, nil
	}
	after := w.delivered.Load()
	if w.several != nil {
		after = max(after, w.several.last)
	}
	stored, err := w.cfg.Outbox.Read(ctx, after)
	if err == nil && len(stored) == 0 {
		err = errors.New("entries that were committed are not there")
	}
	if err != nil {
		return batch, closing, fmt.Errorf("read the outbox: %w", err)
	}
	w.date(stored)
	w.trace(stored)
	batch = append(batch, stored...)
	w.readTo(batch[len(batch)-1].Seq)
	return batch, closing, nil
}

// pop swaps the queue for an empty array. more says that there is nothing in it but in the store.
func (w *Writer) pop(empty []sink.Message) (batch []sink.Message, closing, more bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(empty)
	batch, w.queue = w.queue, empty[:0]
	if w.several != nil {
		w.current = append(w.current, batch...)
	} else {
		w.current = batch
	}
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

func (w *Writer) fails(err error) {
	w.trouble.Fails(err)
	w.retries.Add(1)
}

// retry shows the failure and waits for the next try; false when ctx is done first.
func (w *Writer) retry(ctx context.Context, pause time.Duration, err error) bool {
	w.fails(err)
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
	for len(batch) > 0 {
		w.oldest.Store(emitted(&batch[0]).UnixNano())
		if !w.mayDeliver(ctx) || w.leaves() {
			return
		}
		few := batch
		if w.singly {
			few = batch[:1]
		}
		left, after, err := w.Try(ctx, few)
		if len(left) < len(few) {
			pause.Reset()
		}
		batch = batch[len(few)-len(left):]
		switch {
		case err == nil:
		case ctx.Err() != nil, errors.Is(err, errLetter), !w.retry(ctx, max(pause.NextBackOff(), after), err):
			return
		}
	}
}

// errLetter says that nobody takes a dead letter any more: the reactor has ended, or the context has.
var errLetter = errors.New("a dead letter is taken by nobody")

// Try delivers once, and answers what is left of the batch. A message that was refused for good is a dead
// letter then. With an error the first that is left is to be tried again, after a pause and not before after.
func (w *Writer) Try(ctx context.Context, batch []sink.Message) (left []sink.Message, after time.Duration, err error) {
	if err = w.attempt(ctx, batch); err == nil {
		w.took(batch)
		w.tries = 0
		w.trouble.Ends()
		return nil, 0, nil
	}
	through, refused, after := w.judge(err, len(batch))
	if through > 0 {
		w.trouble.Ends()
		w.took(batch[:through])
		batch = batch[through:]
		w.tries = 0
	}
	if ctx.Err() != nil {
		return batch, after, err
	}
	if refused == nil {
		w.tries++
	}
	code := w.refusal(refused, w.tries)
	if code == "" || !w.letters(&batch[0]) {
		return batch, after, err
	}
	// The letter is on its way before its entry counts as through: a commit that
	// marks the one holds the other.
	if lost := w.cfg.DeadLetter(ctx, &batch[0], code, err.Error()); lost != nil {
		return batch, 0, fmt.Errorf("%w: %w", errLetter, lost)
	}
	w.trouble.Refuses(err)
	w.settled(batch[:1], time.Now(), code)
	w.done(batch[:1])
	w.tries = 0
	return batch[1:], 0, nil
}

// refusal is the code with which a message is given up that has failed so often; "" where it is tried again.
func (w *Writer) refusal(refused *sink.PermanentError, tries int) string {
	switch {
	case refused != nil:
		return refused.Code
	case w.cfg.Retry.Attempts > 0 && tries > w.cfg.Retry.Attempts:
		return "retries_exhausted"
	}
	return ""
}

// letters reports whether a message that is given up becomes a dead letter.
func (w *Writer) letters(m *sink.Message) bool {
	return w.cfg.DeadLetter != nil && (!w.cfg.Block || m.Again != nil)
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

// attempt delivers once, and tells of it.
func (w *Writer) attempt(ctx context.Context, batch []sink.Message) error {
	began := time.Now()
	err := w.once(ctx, batch)
	if !errors.Is(err, errDisowned) {
		w.tried(batch, began, time.Now(), err)
	}
	return err
}

// once delivers once. A panic in a sink is a failed delivery like any other: it is tried again, shown as the output's
// trouble, and takes nothing else down.
func (w *Writer) once(ctx context.Context, batch []sink.Message) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic in the sink: %v", v)
		}
	}()
	if w.disowned() {
		return errDisowned
	}
	w.cfg.Fail.Hit("outbox_send")
	err = w.cfg.Sink.Deliver(ctx, batch)
	w.cfg.Fail.Hit("outbox_sent")
	return err
}

// errDisowned is what an operator sees while nothing is delivered (M45).
var errDisowned = errors.New("nothing is delivered: this daemon is not known to own the graph any more")

func (w *Writer) disowned() bool { return w.cfg.Owned != nil && !w.cfg.Owned() }

// took notes that the sink has taken messages.
func (w *Writer) took(batch []sink.Message) {
	ended := time.Now()
	w.time(batch, ended)
	w.done(batch)
	w.settled(batch, ended, "")
	for i := range batch {
		batch[i].Settle("", "")
	}
}

// time counts how long messages took.
func (w *Writer) time(batch []sink.Message, ended time.Time) {
	w.timing.Lock()
	defer w.timing.Unlock()
	w.taken = ended
	for i := range batch {
		w.times.Observe(max(0, ended.Sub(emitted(&batch[i]))))
	}
}

// done counts messages as through, and says so when a full queue has room again.
func (w *Writer) done(through []sink.Message) {
	n := int64(len(through))
	if n == 0 {
		return
	}
	w.oldest.Store(0)
	full := int64(Capacity)
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
