package poll

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
)

// rowsRun is one run of a source of rows.
type rowsRun struct {
	*Rows
	reader reader
	ledger *ledger
	live   func() // tells that a poll has succeeded, before what it has found waits to be taken
}

// maxKeyBytes bounds a key of a whole result, which the position holds.
const maxKeyBytes = 256

// found is what one poll has found.
type found struct {
	changes []change
	met     map[string]bool // the ids of all rows that were read
	bytes   int
}

// add takes in a row: as a change, where the ledger has not the same.
func (f *found) add(l *ledger, id string, w *row) error {
	if f.met[id] {
		return &failure{text: "two rows have the same key; name columns in key that are unique together"}
	}
	f.met[id] = true
	value, raw := w.document()
	c := change{id: id, digest: digestOf(raw), value: value, raw: raw, bad: w.bad}
	if d, ok := l.get(id); ok && d == c.digest {
		f.bytes += len(id)
		return nil
	}
	if w.fresh {
		c.after = w.after
	}
	f.bytes += c.size()
	f.changes = append(f.changes, c)
	return nil
}

// whole reads the whole result and hands over what has changed since the last.
func (r *rowsRun) whole(ctx context.Context, out accumulator.Out) error {
	f := found{met: map[string]bool{}}
	err := r.ask(ctx, r.reader, bound{kind: nothing}, r.cfg.RowLimit+1, func(w *row) error {
		key, err := w.keyOf(r.cfg.Key)
		if err != nil {
			return err
		}
		id := boundary.List(key).AppendBinary(nil)
		switch {
		case len(id) > maxKeyBytes:
			return &failure{text: fmt.Sprintf("a row's key has %d bytes, more than %d", len(id), maxKeyBytes)}
		case r.cfg.Deletes && indexOf(w.names, deleted) >= 0:
			return &failure{text: "a column of the statement is named deleted, as the field that deletes adds; " +
				"give it another name with AS"}
		case len(f.met) == r.cfg.RowLimit:
			return &failure{text: fmt.Sprintf("the result has more than %d rows; raise row_limit, or read fewer rows",
				r.cfg.RowLimit)}
		case f.bytes > maxResultBytes:
			return &failure{text: fmt.Sprintf("what is new in the result has more than %d MiB; read fewer rows",
				maxResultBytes>>20)}
		}
		return f.add(r.ledger, string(id), w)
	})
	if err != nil {
		return err
	}
	for _, id := range r.ledger.ids() {
		if !f.met[id] {
			gone, err := r.gone(id)
			if err != nil {
				return err
			}
			f.changes = append(f.changes, gone)
		}
	}
	return r.hand(ctx, out, f.changes)
}

// deleted is the field of an event about a row that is gone.
const deleted = "deleted"

// gone is the change of a row that is not there any more.
func (r *rowsRun) gone(id string) (change, error) {
	key, _, err := boundary.DecodeBinary([]byte(id))
	if err != nil || key.Len() != len(r.cfg.Key) {
		return change{}, errors.Join(errPosition, err)
	}
	w := row{names: append([]string{deleted}, r.cfg.Key...), values: []boundary.Value{boundary.Bool(true)}}
	for v := range key.Items() {
		w.values = append(w.values, v)
	}
	c := change{id: id, gone: true}
	if r.cfg.Deletes {
		c.value, c.raw = w.document()
	}
	return c, nil
}

// after reads the rows from so far behind the greatest value on, and hands over those that it
// has not. What it knows of rows that have fallen further behind is dropped.
func (r *rowsRun) after(ctx context.Context, out accumulator.Out) error {
	f := found{met: map[string]bool{}}
	read, behind, caughtUp := 0, 0, false
	known := r.ledger.len()
	limit := known + r.cfg.RowLimit
	err := r.ask(ctx, r.reader, r.ledger.bound, limit, func(w *row) error {
		key, err := w.keyOf(r.cfg.Key)
		if err != nil {
			return err
		}
		if caughtUp = w.fresh; !w.fresh {
			behind++
		}
		read++
		id := digestOf(boundary.List(key).AppendBinary(nil), []byte(w.after))
		if err := f.add(r.ledger, string(id[:]), w); err != nil {
			return err
		}
		if f.bytes > maxResultBytes {
			return errFull
		}
		return nil
	})
	cut := read == limit || errors.Is(err, errFull)
	switch {
	case err != nil && !errors.Is(err, errFull):
		return err
	case behind > r.cfg.RowLimit:
		return &failure{text: fmt.Sprintf("more than %d rows have values within lookback of the greatest, "+
			"or that one; raise row_limit, shorten lookback, or follow a column whose values differ", r.cfg.RowLimit)}
	}
	if caughtUp || !cut { // all rows behind were met: others are gone, or too far behind to be met again
		for _, id := range r.ledger.ids() {
			if !f.met[id] {
				r.ledger.remove(id)
			}
		}
	}
	if err := r.hand(ctx, out, f.changes); err != nil {
		return err
	}
	if cut && len(f.changes) > 0 {
		return errMore
	}
	return nil
}

// errFull ends the reading of a poll that holds enough.
var errFull = errors.New("enough was read")

// handAtOnce is how many events are handed over together: each carries its part of the ledger.
const handAtOnce = 64

// hand hands over changes in their order. The ledger of each event's position is that behind
// this event.
func (r *rowsRun) hand(ctx context.Context, out accumulator.Out, changes []change) error {
	r.live()
	batch := accumulator.NewBatch(out, handAtOnce)
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := out.Emit(ctx, batch)
		batch = accumulator.NewBatch(out, handAtOnce)
		return err
	}
	for i := range changes {
		c := &changes[i]
		ev := r.event(c)
		bad := r.bad(c)
		if bad == nil && c.raw != nil {
			if batch = append(batch, ev); len(batch) < handAtOnce {
				continue
			}
			if err := flush(); err != nil {
				return err
			}
			continue
		}
		err := flush()
		switch {
		case err != nil:
		case bad != nil:
			ev.Value = boundary.Value{}
			ev.Raw = ev.Raw[:min(len(ev.Raw), max(r.maxBytes, shownBytes))]
			if len(c.raw) > r.maxBytes {
				ev.Raw = ev.Raw[:min(len(ev.Raw), shownBytes)]
			}
			err = out.Refuse(ctx, ev, bad)
		default:
			err = out.Advance(ctx, ev.Pos) // a row that is gone, and nobody asked
		}
		if err != nil {
			return err
		}
	}
	return flush()
}

// event enters a change into the ledger, and makes the event of it.
func (r *rowsRun) event(c *change) boundary.Event {
	if c.gone {
		r.ledger.remove(c.id)
	} else {
		r.ledger.set(c.id, c.digest)
	}
	if c.after != "" {
		r.ledger.bound = bound{handed, c.after}
	}
	return boundary.Event{Raw: c.raw, Value: c.value, At: time.Now(), Pos: r.ledger.position(c.id)}
}

// bad says why a change cannot be an event; nil where it can.
func (r *rowsRun) bad(c *change) *accumulator.BadEvent {
	switch {
	case len(c.raw) > r.maxBytes:
		return &accumulator.BadEvent{Stage: "size", Code: "too_large",
			Text: fmt.Sprintf("the row has %d bytes, the limit is %d", len(c.raw), r.maxBytes)}
	case c.bad != nil:
		return &accumulator.BadEvent{Stage: "decode", Code: "bad_value", Text: c.bad.Error()}
	}
	return nil
}
