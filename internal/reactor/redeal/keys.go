package redeal

import (
	"encoding/binary"
	"fmt"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor/form"
)

// oldKey is the cell of a key.
type oldKey struct {
	key    boundary.Key
	head   form.KeyHead
	inputs []string // by slot
	slots  []form.Slot
	stamp  uint64 // of its last epoch, 0 before the first
	nodes  []byte // what is behind the stamp
}

// oldQueued is the cell of a boundary that waits in a key.
type oldQueued struct {
	form.Queued
	key   boundary.Key
	input string
}

func (o *old) readCell(c *checkpoint.Cell) error {
	switch c.Kind {
	case form.CellKey:
		return o.readKey(c)
	case form.CellQueue:
		q, input, err := form.ReadQueued(c)
		if err == nil && c.Key == "" {
			err = fmt.Errorf("%w: what all keys share does not wait in a queue", form.ErrShort)
		}
		o.queues = append(o.queues, oldQueued{q, boundary.Key(c.Key), input})
		return err
	case form.CellInput:
		s, err := form.ReadShared(c.Data)
		o.shared[c.Name] = &s
		return err
	case form.CellAccount:
		a, err := form.ReadAccount(c.Data)
		o.accs[c.Name] = &a
		return err
	case form.CellPart:
		o.readPart(c)
	}
	return nil // what else there is belongs to a declaration without keys
}

func (o *old) readKey(c *checkpoint.Cell) error {
	k := oldKey{key: boundary.Key(c.Key)}
	r := form.Reader{Rest: c.Data}
	k.head = r.KeyHead()
	layout := form.Reader{Rest: o.layouts[k.head.Layout]}
	layout.Text() // what the keys mean
	for n := layout.Uint(); n > 0 && layout.Err == nil; n-- {
		k.inputs = append(k.inputs, layout.Text())
	}
	if layout.Err != nil {
		return fmt.Errorf("its layout %d: %w", k.head.Layout, layout.Err)
	}
	for range k.inputs {
		k.slots = append(k.slots, r.Slot())
	}
	k.stamp = r.Uint()
	k.nodes = r.Rest
	o.keys = append(o.keys, k)
	return r.Err
}

// dealKeys gives each new shard its keys, with what waits in them.
func (d *dealer) dealKeys() {
	for i, o := range d.old {
		for k := range o.keys {
			key := &o.keys[k]
			n := d.next[key.key.Shard(d.of)]
			n.cells = append(n.cells, checkpoint.Cell{Kind: form.CellKey, Key: string(key.key),
				Data: d.keyCell(i, key)})
			n.used[d.layouts(o.layouts[key.head.Layout])] = true
			for s := range key.slots {
				if b := key.slots[s].Pend; b != nil {
					n.waiting[key.inputs[s]] += b.Events
				}
			}
		}
		for k := range o.queues {
			q := &o.queues[k]
			n := d.next[q.key.Shard(d.of)]
			it := q.Queued
			it.Seq, it.Since = d.seqs.of[i][it.Seq], d.seqs.of[i][it.Since]
			n.cells = append(n.cells, checkpoint.Cell{Kind: form.CellQueue, Name: form.QueueName(q.input, it.Seq),
				Key: string(q.key), Data: it.Append(nil)})
			n.waiting[q.input] += it.B.Events
		}
	}
}

// layouts is the number of a layout in the new shards.
func (d *dealer) layouts(data []byte) uint64 {
	n, ok := d.layout[string(data)]
	if !ok {
		n = uint64(len(d.layout) + 1)
		d.layout[string(data)] = n
	}
	return n
}

// keyCell is the cell of a key of old shard i in a new one.
func (d *dealer) keyCell(i int, k *oldKey) []byte {
	head := k.head
	head.Layout, head.Arrival = d.layouts(d.old[i].layouts[head.Layout]), d.seqs.of[i][head.Arrival]
	stamp := uint64(0) // it has never run: all is new to it
	if k.stamp > 0 {
		stamp = d.levels.stamp(d.stamps, d.levels.seen(i, k.stamp))
	}
	dst := head.Append(nil)
	for s := range k.slots {
		slot := k.slots[s]
		switch {
		case slot.Version <= 1: // none, or a default
		case slot.Version <= k.stamp:
			slot.Version = stamp
		default:
			slot.Version = stamp + 1
		}
		if slot.Pend != nil {
			slot.Since = d.seqs.of[i][slot.Since]
		}
		dst = slot.Append(dst)
	}
	return append(binary.AppendUvarint(dst, stamp), k.nodes...)
}
