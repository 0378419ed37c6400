package reactor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor/form"
	"github.com/graphd/graphd/internal/sink"
)

// Path is how an output's values reach its sink (M30).
type Path uint8

// The paths. Values of the first leave when their epoch ends, or, in a journaled graph,
// when it is in the journal; those of the others are held until a commit takes them.
const (
	PathDirect        Path = iota
	PathOutbox             // committed with the state, delivered afterwards
	PathCoTransaction      // rows written by the commit itself
)

func (p Path) String() string { return [...]string{"direct", "outbox", "co-transaction"}[p] }

// Route is how one output's values leave.
type Route struct {
	Path   Path
	Unread bool // nobody takes them: they are counted, and no messages are made of them
	// Table and Row are those of the RowSink of a co-transaction.
	Table checkpoint.Table
	Row   func(m *sink.Message) ([]boundary.Value, error)
	// DeadLetter makes a dead letter of a row that is refused; otherwise it blocks the commits.
	DeadLetter bool
}

// held is a message that waits for a commit.
type held struct {
	sink.Message
	row []boundary.Value     // of a co-transaction
	bad *sink.PermanentError // why it is no row; it blocks the output
}

// holds are the messages since the last seal, in order.
type holds struct {
	list []held
	// bytes is about what they hold, the ones in the seal that is out included; count is their number.
	bytes   int64
	count   int
	seq     []int64 // per output, the last number given out
	base    []int64 // per output, the same as of the checkpoint that was restored
	pending []int64 // per output, what waits for a commit
	// known are the last numbers that were restored, by output: one that is gone and comes back goes on with them, for
	// who follows.
	known map[string]int64
}

// Stable reports whether the firing ids of output i stay the same across crashes.
func (c *Config) Stable(i int) bool {
	return c.Journal || c.Routes != nil && c.Routes[i].Path != PathDirect
}

// SetOutboxSeq says that output i's outbox holds entries up to seq already: the numbers go on behind them.
func (c *Core) SetOutboxSeq(i int, seq int64) {
	c.holds.seq[i], c.holds.base[i] = max(c.holds.seq[i], seq), max(c.holds.base[i], seq)
}

// OutboxSeq is the last number of output i that the restored checkpoint covers. What a replay
// has given out since is not in the store.
func (c *Core) OutboxSeq(i int) int64 { return c.holds.base[i] }

// SetRoutes says how the outputs' values leave, before the first does.
func (c *Core) SetRoutes(routes []Route) { c.cfg.Routes = routes }

// path is how output i's values leave.
func (c *Core) path(i int) Path {
	if c.cfg.Routes == nil {
		return PathDirect
	}
	return c.cfg.Routes[i].Path
}

// hold keeps a message of the outbox or of a co-transaction for the next seal.
func (c *Core) hold(m sink.Message) {
	route := &c.cfg.Routes[m.To]
	if m.Again == nil { // else its id is the one it had
		m.Stable = true
	}
	h := held{Message: m}
	if route.Path == PathCoTransaction {
		row, err := route.Row(&m)
		if err != nil {
			h.bad = permanent(err)
			if route.DeadLetter || m.Again != nil {
				c.DeadLetterMessage(&m, h.bad.Code, h.bad.Err.Error())
				return
			}
		}
		h.row = row
	}
	c.holds.list = append(c.holds.list, h)
	c.holds.count++
	c.holds.pending[m.To]++
	c.holds.bytes += int64(m.Value.Size())
}

func (h *holds) init(outputs int) {
	h.seq, h.base = make([]int64, outputs), make([]int64, outputs)
	h.pending = make([]int64, outputs)
}

// number is the next message's of an output.
func (h *holds) number(output int) int64 {
	h.seq[output]++
	return h.seq[output]
}

// gone takes a message off the counts: it is in the store, or a dead letter.
func (h *holds) gone(m *sink.Message) {
	h.count--
	h.pending[m.To]--
	h.bytes -= int64(m.Value.Size())
}

func permanent(err error) *sink.PermanentError {
	var p *sink.PermanentError
	if errors.As(err, &p) {
		return p
	}
	return &sink.PermanentError{Code: "row_refused", Err: err}
}

// Held is how many messages wait for a commit, those in the seal that is out included, and
// about how many bytes they hold.
func (c *Core) Held() (messages int, bytes int64) { return c.holds.count, c.holds.bytes }

// Holding reports whether messages wait for the next seal.
func (c *Core) Holding() bool { return len(c.holds.list) > 0 }

// Blocked says why nothing can be committed: a value that is no row of its table, in an
// output that blocks. "" when nothing is in the way.
func (c *Core) Blocked() string {
	for i := range c.holds.list {
		if h := &c.holds.list[i]; h.bad != nil {
			return fmt.Sprintf("output %s: the value of epoch %d is no row of its table: %v", h.Output, h.Epoch, h.bad)
		}
	}
	return ""
}

// sealHeld moves what is held into the seal.
func (c *Core) sealHeld(s *Seal) {
	s.held, c.holds.list = c.holds.list, nil
	s.numbers = append([]int64(nil), c.holds.seq...)
	for i := range s.held {
		h := &s.held[i]
		if c.path(h.To) != PathCoTransaction {
			continue
		}
		k := 0
		for k < len(s.sinks) && s.sinks[k] != h.To {
			k++
		}
		if k == len(s.sinks) {
			s.sinks = append(s.sinks, h.To)
			s.commit.Rows = append(s.commit.Rows, checkpoint.SinkRows{Table: c.cfg.Routes[h.To].Table})
			s.rows = append(s.rows, nil)
		}
		s.commit.Rows[k].Rows = append(s.commit.Rows[k].Rows, h.row)
		s.rows[k] = append(s.rows[k], i)
	}
}

// heldSealed takes note of what became of a seal's messages. A row that the store refused
// becomes a dead letter, where the output wants that, and the next seal goes without it.
func (c *Core) heldSealed(s *Seal, err error) {
	if err == nil {
		for i := range s.held {
			m := &s.held[i].Message
			c.holds.gone(m)
			if c.path(m.To) == PathCoTransaction {
				m.Settle("", "")
			}
		}
		return
	}
	var refused *checkpoint.RowError
	if errors.As(err, &refused) && refused.Sink < len(s.rows) && refused.Row < len(s.rows[refused.Sink]) {
		i := s.rows[refused.Sink][refused.Row]
		h := &s.held[i]
		if c.cfg.Routes[h.To].DeadLetter || h.Again != nil {
			c.DeadLetterMessage(&h.Message, refused.Code, refused.Err.Error())
			c.holds.gone(&h.Message)
			s.refused = h.To + 1
			s.held = append(s.held[:i:i], s.held[i+1:]...)
		}
	}
	c.holds.list = append(s.held, c.holds.list...)
}

// Outbox calls each for the messages that the seal has committed to an output's outbox, in
// order. It is for after a good commit.
func (s *Seal) Outbox(each func(m *sink.Message)) {
	for i := range s.held {
		if m := &s.held[i].Message; s.cfg.Routes[m.To].Path == PathOutbox {
			each(m)
		}
	}
}

// JournalTo is the entry of the journal that the seal covers: it is not committed before.
func (s *Seal) JournalTo() int64 { return s.commit.JournalTo }

// At is the engine time of the seal.
func (s *Seal) At() time.Time { return s.commit.At }

// Numbered is the last number of output i that the sealed state covers.
func (s *Seal) Numbered(i int) int64 { return s.numbers[i] }

// Carry puts messages of the direct path that are not through into the commit: the checkpoint
// covers their epochs, so nothing else would bring them back after a crash.
func (s *Seal) Carry(list []sink.Message) { s.carried = list }

// Carried is what Carry was given.
func (s *Seal) Carried() []sink.Message { return s.carried }

// Positions calls each for the inputs whose accumulators have moved, with where they stand.
func (s *Seal) Positions(each func(input int, at []boundary.Position)) {
	for i := range s.accs {
		each(s.accs[i].input, s.accs[i].mark.Positions)
	}
}

// Refused is the output whose row the store refused and that now is a dead letter: the seal
// can be tried again at once. -1 when that is not what happened.
func (s *Seal) Refused() int { return s.refused - 1 }

// outboxEntries encodes the outbox part of what is held, and what is on the direct path.
func (s *Seal) outboxEntries() (entries []checkpoint.OutboxEntry) {
	add := func(m *sink.Message) {
		entries = append(entries, checkpoint.OutboxEntry{
			Output: m.Output, Seq: m.Seq, Epoch: m.Epoch, Key: string(m.Key), FiringID: m.FiringID(), At: m.At,
			Data: encodeMessage(m),
		})
	}
	s.Outbox(add)
	for i := range s.carried {
		add(&s.carried[i])
	}
	return entries
}

// encodeMessage is what an outbox entry holds beside its columns.
func encodeMessage(m *sink.Message) []byte {
	dst := binary.AppendVarint(nil, m.Incarnation)
	dst = form.AppendNames(dst, m.Degraded)
	return appendAgain(m.Value.AppendBinary(dst), m)
}

// DecodeMessage is the message of an outbox entry of output number to; stable is as in Config.Stable.
func DecodeMessage(instance uuid.UUID, to int, stable bool, e *checkpoint.OutboxEntry) (sink.Message, error) {
	r := form.Reader{Rest: e.Data}
	m := sink.Message{
		Instance: instance, Incarnation: r.Int(), Epoch: e.Epoch, Key: boundary.Key(e.Key), Output: e.Output, To: to,
		At: e.At, Stable: stable, Seq: e.Seq, Degraded: r.Names(),
	}
	m.Value = r.Value()
	readAgain(&r, &m)
	if err := r.Done(); err != nil {
		return sink.Message{}, fmt.Errorf("entry %d of the outbox of %s: %w", e.Seq, e.Output, err)
	}
	return m, nil
}
