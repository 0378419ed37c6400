package reactor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor/form"
	"github.com/graphd/graphd/internal/sink"
)

// ErrNoMessage says that a dead letter does not hold what would be sent again.
var ErrNoMessage = errors.New("the letter was written by a release that kept no value to send again")

// Resend sends a value again that its sink refused (M5): by the path that output to has by now, behind what the
// output has taken so far, under the id it had. settled is told what becomes of it; see [sink.Again].
// The letter is for the next seal's commit to discard.
func (c *Core) Resend(now time.Time, to int, l *checkpoint.DeadLetter, settled func(code, reason string)) (
	seq int64, err error) {
	m, err := decodeRefused(l)
	if err != nil {
		return 0, err
	}
	c.Tick(now)
	m.Instance, m.To, m.Emitted = c.cfg.Instance, to, c.housekeeping()
	m.Seq = c.holds.number(to)
	m.Again = &sink.Again{Letter: l.ID, Attempts: max(1, l.Attempts), Settled: settled}
	c.changes.head = true // the number is in the head, and the letter goes with the next seal
	if c.path(to) == PathDirect {
		c.out = append(c.out, m)
	} else {
		c.hold(m)
	}
	return m.Seq, nil
}

// encodeRefused is what a dead letter holds of a message beside its columns.
func encodeRefused(m *sink.Message) []byte {
	dst := append(form.AppendTime(nil, m.At), boolByte(m.Stable))
	dst = form.AppendNames(binary.AppendVarint(dst, m.Incarnation), m.Degraded)
	return m.Value.AppendBinary(dst)
}

// decodeRefused is the message that a letter was made of, but for where it goes now.
func decodeRefused(l *checkpoint.DeadLetter) (sink.Message, error) {
	if len(l.Message) == 0 {
		return sink.Message{}, ErrNoMessage
	}
	r := form.Reader{Rest: l.Message}
	m := sink.Message{At: r.Time(), Stable: r.Uint() == 1, Incarnation: r.Int(), Degraded: r.Names(), Value: r.Value(),
		Epoch: l.Epoch, Key: boundary.Key(l.Key), Output: l.Output}
	if err := r.Done(); err != nil {
		return sink.Message{}, fmt.Errorf("the value in dead letter %s: %w", l.ID, err)
	}
	return m, nil
}

// RefusedValue is the value that a sink's dead letter holds, as it was.
func RefusedValue(l *checkpoint.DeadLetter) (boundary.Value, error) {
	m, err := decodeRefused(l)
	return m.Value, err
}

// appendAgain adds to an outbox entry what a value that is sent again has beside others.
func appendAgain(dst []byte, m *sink.Message) []byte {
	if m.Again == nil {
		return dst
	}
	dst = binary.AppendVarint(form.AppendText(dst, m.Again.Letter), m.Again.Attempts)
	return append(dst, boolByte(m.Stable))
}

func readAgain(r *form.Reader, m *sink.Message) {
	if len(r.Rest) > 0 {
		m.Again = &sink.Again{Letter: r.Text(), Attempts: r.Int()}
		m.Stable = r.Uint() == 1
	}
}
