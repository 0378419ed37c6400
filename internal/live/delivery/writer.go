package delivery

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphd/graphd/internal/failpoint"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/trace"
)

const (
	// Capacity bounds an output's queue, in messages: enough that a sink which flushes
	// every few milliseconds never stops a fast graph, small enough that what a crash loses
	// on the direct path stays below a checkpoint interval.
	Capacity = 4096
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
	MaxCarried      = 2 * Capacity
	MaxCarriedBytes = 64 << 20
)

// Config is what a writer needs to know of its output.
type Config struct {
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
	Outbox *Outbox
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
	// Trace is told of the tries and of what became of the messages; nil tells nobody.
	Trace *trace.Output
	// Fail is the failpoint that is armed; nil for none.
	Fail *failpoint.Set
	// Retry is how a delivery that failed is tried again; its zero fields mean the defaults
	// named beside them.
	Retry RetryPolicy
}

// Outbox is how a writer gets at what was committed for it.
type Outbox struct {
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
	cfg  Config
	wake chan struct{} // capacity 1: "look"
	// open ends when Run is to return whatever is left; over ends it.
	open context.Context
	over context.CancelFunc

	singly  bool     // the sink is given one message at a time
	several *several // it is given several so; nil for one

	mu      sync.Mutex
	queue   []sink.Message
	closing bool
	left    bool           // nothing more is delivered here
	stopped chan struct{}  // closed when the output goes on; nil while it is not stopped
	current []sink.Message // in delivery; written by the goroutine of Run alone
	// On the outbox path: what the queue holds, the number its next message has or would
	// have, and the last entry there is.
	queued          int64
	next, committed int64

	pending   atomic.Int64 // in the queue or the outbox, and in delivery
	bytes     atomic.Int64 // of the outbox, about
	delivered atomic.Int64 // the last message that is through
	oldest    atomic.Int64 // when the first message that is not through was emitted, in Unix nanoseconds; 0 for none
	retries   atomic.Int64
	timing    sync.Mutex
	times     reactor.Histogram // from an epoch's end until the sink has had its value
	taken     time.Time         // when the sink has last taken one
	awaited   atomic.Bool       // somebody waits for the last message to be through
	trouble   sink.Trouble
	tries     int // of the message that is delivered next; Try's alone
}

// NewWriter makes a writer; Run it on a goroutine of its own.
func NewWriter(cfg Config) *Writer {
	w := &Writer{cfg: cfg, wake: make(chan struct{}, 1)}
	w.open, w.over = context.WithCancel(context.Background())
	_, w.singly = cfg.Sink.(sink.Singly)
	w.several = newSeveral(w)
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
	w.trace(w.queue)
	w.pending.Store(int64(len(w.queue)))
	return w
}

// Free is how many messages may be emitted now.
func (w *Writer) Free() int {
	if w.cfg.Outbox == nil {
		return max(0, Capacity-int(w.pending.Load()))
	}
	if w.bytes.Load() >= outboxBytes {
		return 0
	}
	return max(0, outboxEntries-int(w.pending.Load()))
}

// Put queues messages, on the outbox path committed ones; the slice stays the caller's.
func (w *Writer) Put(batch []sink.Message) {
	w.pending.Add(int64(len(batch)))
	if w.leaves() {
		return // it is in the outbox
	}
	w.trace(batch)
	w.mu.Lock()
	if w.cfg.Outbox == nil {
		w.queue = append(w.queue, batch...)
	} else {
		w.putCommitted(batch)
	}
	w.mu.Unlock()
	if to, ok := w.cfg.Sink.(sink.Announced); ok && w.cfg.Outbox != nil && !w.disowned() {
		to.Committed(batch)
	}
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
	if batch[0].Seq != w.next+int64(len(w.queue)) || len(w.queue)+len(batch) > Capacity ||
		w.queued+size > backlogBytes {
		return
	}
	w.queue = append(w.queue, batch...)
	w.queued += size
}

// GiveUp lets Run return with what is left undelivered: it is in the outbox.
func (w *Writer) GiveUp() { w.over() }

// Leave lets Run return when what is on its way is through. It is for an outbox: who goes on with the graph delivers
// the rest.
func (w *Writer) Leave() {
	w.mu.Lock()
	w.left, w.closing = true, true
	w.mu.Unlock()
	w.look()
}

// leaves reports whether no other delivery is to begin.
func (w *Writer) leaves() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.left
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

// Status is what an operator sees of an output's writer.
type Status struct {
	Pending, Retries int64
	// Took is how long messages took from their epoch's end until the sink had them.
	Took reactor.Histogram
	// Taken is when the sink has last taken a message; zero before the first.
	Taken time.Time
	// Oldest is when the first message that is not through was emitted; zero when none waits
	// or the writer has not come to it yet.
	Oldest time.Time
	// Trouble is the last failure since a delivery went well, Since when the first was, and Refused how many
	// messages have been refused for good in that time.
	Trouble string
	Since   time.Time
	Refused int64
}

// Status may be called from any goroutine.
func (w *Writer) Status() Status {
	s := Status{Pending: w.pending.Load(), Retries: w.retries.Load()}
	if at := w.oldest.Load(); at != 0 {
		s.Oldest = time.Unix(0, at).UTC()
	}
	w.timing.Lock()
	s.Took, s.Taken = w.times, w.taken
	w.timing.Unlock()
	s.Trouble, s.Since, s.Refused = w.trouble.Last()
	return s
}

// Holds is about how many bytes the messages in the queue have, by some of them; 0 for nil. It may be called from any
// goroutine.
func (w *Writer) Holds() (bytes int64) {
	if w == nil {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	const looks, each = 16, 192 // a message without its value
	n := len(w.queue)
	if n == 0 {
		return 0
	}
	for i := range min(n, looks) {
		bytes += each + int64(w.queue[i*n/min(n, looks)].Value.Size())
	}
	return bytes * int64(n) / int64(min(n, looks))
}

// Delivered is the last message that is through: delivered, or given to DeadLetter before. It
// may be called from any goroutine.
func (w *Writer) Delivered() int64 { return w.delivered.Load() }

// Through reports whether nothing waits. When something does, the reactor is rung as soon as
// it is through.
func (w *Writer) Through() bool {
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

// forget lets go of what is through.
func (w *Writer) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, through := 0, w.delivered.Load()
	for n < len(w.current) && w.current[n].Seq <= through {
		w.current[n] = sink.Message{}
		n++
	}
	w.current = w.current[n:]
}

// Waits says whether what an epoch of a run has put out is not through. known is false where what is in the outbox is
// not
// all in memory, and it was not found there. It may be called from any goroutine.
func (w *Writer) Waits(incarnation, epoch int64) (waits, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	through := w.delivered.Load()
	for _, part := range [][]sink.Message{w.current, w.queue} {
		for i := range part {
			m := &part[i]
			if m.Epoch == epoch && m.Incarnation == incarnation && m.Again == nil && m.Seq > through {
				return true, true
			}
		}
	}
	return false, w.pending.Load() <= int64(len(w.current)+len(w.queue))
}

// FromOutbox reports whether it delivers what is in an outbox.
func (w *Writer) FromOutbox() bool { return w.cfg.Outbox != nil }

// Carried is the number of the last message that a checkpoint took over; 0 for none.
func (w *Writer) Carried() int64 {
	if n := len(w.cfg.Carried); n > 0 {
		return w.cfg.Carried[n-1].Seq
	}
	return 0
}
