package reactor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// writerCapacity bounds an output's queue, in messages: enough that a sink which flushes
// every few milliseconds never stops a fast graph, small enough that what a crash loses
// on the direct path stays below a checkpoint interval.
const writerCapacity = 4096

// WriterConfig is what a writer needs to know of its output.
type WriterConfig struct {
	Output string
	Sink   Sink
	// DeadLetter takes a message that the sink refused for good; nil means that the writer
	// blocks on it, trying again with backoff (on_error: block).
	DeadLetter func(m Message, code, reason string)
	// Room is called when a full queue has room again.
	Room func()
	// Retry is how a delivery that failed is tried again; its zero fields mean the defaults
	// named beside them.
	Retry RetryPolicy
}

// RetryPolicy says when deliveries are tried again. A pause is a random part of what it may
// be at most (full jitter), so that outputs which failed together do not come back together.
type RetryPolicy struct {
	// Base is the most of the first pause (50ms); it doubles up to Max (10s).
	Base, Max time.Duration
	// Attempts is how often one message is tried again before it counts as refused; 0 is
	// without end, as is a writer without DeadLetter.
	Attempts int
}

// backOff makes the pauses. The library spreads a pause evenly around its interval, by all
// of it: half the interval gives everything from nothing to the interval.
func (p RetryPolicy) backOff() *backoff.ExponentialBackOff {
	if p.Base <= 0 {
		p.Base = 50 * time.Millisecond
	}
	if p.Max <= 0 {
		p.Max = 10 * time.Second
	}
	return backoff.NewExponentialBackOff(backoff.WithInitialInterval(max(p.Base/2, 1)), backoff.WithMultiplier(2),
		backoff.WithMaxInterval(max(p.Max/2, 1)), backoff.WithRandomizationFactor(1), backoff.WithMaxElapsedTime(0))
}

// Writer is the goroutine between the reactor and one sink (M30, direct path). Put never
// blocks: the reactor asks for Free first and stops firing when there is no room.
type Writer struct {
	cfg  WriterConfig
	wake chan struct{} // capacity 1: "look"

	mu      sync.Mutex
	queue   []Message
	closing bool

	pending atomic.Int64 // in the queue and in delivery
	failed  atomic.Int64 // refused for good
	retries atomic.Int64
	trouble atomic.Pointer[string]
}

// NewWriter makes a writer; Run it on a goroutine of its own.
func NewWriter(cfg WriterConfig) *Writer {
	return &Writer{cfg: cfg, wake: make(chan struct{}, 1)}
}

// Free is how many messages Put may take now.
func (w *Writer) Free() int { return max(0, writerCapacity-int(w.pending.Load())) }

// Put queues messages; the slice stays the caller's.
func (w *Writer) Put(batch []Message) {
	w.pending.Add(int64(len(batch)))
	w.mu.Lock()
	w.queue = append(w.queue, batch...)
	w.mu.Unlock()
	w.look()
}

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
	Trouble                  string // the last failure, while it lasts
}

// Status may be called from any goroutine.
func (w *Writer) Status() WriterStatus {
	s := WriterStatus{Pending: w.pending.Load(), Failed: w.failed.Load(), Retries: w.retries.Load()}
	if t := w.trouble.Load(); t != nil {
		s.Trouble = *t
	}
	return s
}

// Run delivers until CloseWhenEmpty has been called and the queue is empty, or ctx is
// done; then it closes the sink. What was not delivered is counted by Status as pending.
func (w *Writer) Run(ctx context.Context) error {
	var batch []Message
	for ctx.Err() == nil {
		var closing bool
		batch, closing = w.take(batch)
		if len(batch) > 0 {
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
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	return w.cfg.Sink.Close(end)
}

// take swaps the queue for an empty array.
func (w *Writer) take(empty []Message) (batch []Message, closing bool) {
	clear(empty)
	w.mu.Lock()
	defer w.mu.Unlock()
	batch, w.queue = w.queue, empty[:0]
	return batch, w.closing
}

// deliver tries until the batch is through, a refused message is out of the way, or ctx is done.
func (w *Writer) deliver(ctx context.Context, batch []Message) {
	pause := w.cfg.Retry.backOff()
	for tries := 0; len(batch) > 0; {
		err := w.attempt(ctx, batch)
		if err == nil {
			w.done(len(batch))
			w.trouble.Store(nil)
			return
		}
		through, refused, after := w.judge(err, len(batch))
		if through > 0 {
			w.done(through)
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
		if code != "" && w.cfg.DeadLetter != nil {
			w.cfg.DeadLetter(batch[0], code, err.Error())
			w.failed.Add(1)
			w.done(1)
			batch = batch[1:]
			pause.Reset()
			tries = 0
			continue
		}
		text := err.Error()
		w.trouble.Store(&text)
		w.retries.Add(1)
		timer := time.NewTimer(max(pause.NextBackOff(), after))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// judge reads how far a failed delivery of n messages came: through of them were written,
// the next one is refused for good, or is to be tried again after a pause.
func (w *Writer) judge(err error, n int) (through int, refused *PermanentError, after time.Duration) {
	var again *RetryError
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
func (w *Writer) attempt(ctx context.Context, batch []Message) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic in the sink: %v", v)
		}
	}()
	return w.cfg.Sink.Deliver(ctx, batch)
}

// done counts n messages as delivered, and says so when a full queue has room again.
func (w *Writer) done(n int) {
	left := w.pending.Add(-int64(n))
	if left+int64(n) >= writerCapacity/2 && w.cfg.Room != nil {
		w.cfg.Room()
	}
}
