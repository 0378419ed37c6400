package reactor

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/graph"
	"github.com/graphd/graphd/internal/reactor/form"
)

// The cells of keys. With a million of them names would be most of what is written: what
// lies where stands once, in a layout cell, and a key's cell bears its number. After a
// change of the declaration old cells keep the old layout until they are written again.

func appendLayout(dst []byte, cfg *Config) []byte {
	dst = form.AppendText(dst, cfg.Keys.Identity)
	n := 0
	for i := range cfg.Inputs {
		if !cfg.Inputs[i].Global {
			n++
		}
	}
	dst = binary.AppendUvarint(dst, uint64(n))
	for i := range cfg.Inputs {
		if !cfg.Inputs[i].Global {
			dst = form.AppendText(dst, cfg.Inputs[i].Name)
		}
	}
	return cfg.Plan.AppendLayout(dst)
}

// keyIdentities are the identities of what gives the boundaries of inputs their keys, by the name of the input; none
// where the graph has no keys.
func (c *Config) keyIdentities() map[string]string {
	identities := make(map[string]string)
	for i := range c.Inputs {
		if in := &c.Inputs[i]; in.Key != "" && c.Keys != nil {
			identities[in.Name] = in.Key
		}
	}
	return identities
}

// KeepsKeys reports whether the keys of a graph mean under next what they meant under c: there are inputs that both
// have, and each of these has the key that it had, so that one that comes or goes changes nothing; or, where there are
// none or it is not known, all are made of the same.
func (c *Config) KeepsKeys(next *Config) bool {
	return c.Keys != nil && next.keepsKeys(c.Keys.Identity, c.keyIdentities())
}

func (c *Config) keepsKeys(identity string, was map[string]string) bool {
	if c.Keys == nil {
		return false
	}
	both := 0
	for name, key := range c.keyIdentities() {
		if before, there := was[name]; there {
			both++
			if before != key {
				return false
			}
		}
	}
	return both > 0 || identity == c.Keys.Identity
}

// keyLayout is a layout as the present declaration reads it.
type keyLayout struct {
	foreign bool     // its keys mean something else now
	inputs  []int    // by place in a cell: the input, -1 for one that is gone
	missing []int    // inputs of a key that it does not have: they are new, or are global no more
	dropped []string // nodes that mean something else now
	nodes   *graph.Layout
	pruned  []byte // the layout without the names of what is gone, or means something else
}

func (c *Core) readLayout(data []byte, m *form.Meta) (*keyLayout, error) {
	r := form.Reader{Rest: data}
	identity := r.Text()
	l, have := &keyLayout{foreign: !c.cfg.keepsKeys(identity, m.Keys)}, make([]bool, len(c.cfg.Inputs))
	n := r.Uint()
	if n > uint64(len(r.Rest)) {
		return nil, form.ErrShort
	}
	if !l.foreign { // what they are made of may be more by now, or less
		identity = c.cfg.Keys.Identity
	}
	l.pruned = binary.AppendUvarint(form.AppendText(nil, identity), n)
	for range n {
		name := r.Text()
		i := c.input(name)
		if i >= 0 && !c.ownsShared(i) {
			have[i] = true
		} else {
			name = ""
		}
		l.inputs, l.pruned = append(l.inputs, i), form.AppendText(l.pruned, name)
	}
	if r.Err != nil {
		return nil, r.Err
	}
	for i := range have {
		if !have[i] && !c.ownsShared(i) {
			l.missing = append(l.missing, i)
		}
	}
	var err error
	if l.nodes, l.dropped, err = c.cfg.Plan.ReadLayout(r.Rest); err == nil {
		l.pruned = append(l.pruned, c.cfg.Plan.PruneLayout(r.Rest)...)
	}
	return l, err
}

// encodeKey is the cell of one key.
func encodeKey(cfg *Config, k *sealedKey) []byte {
	dst := make([]byte, 0, 128)
	head := form.KeyHead{Layout: uint64(k.layout), Arrival: k.arrival,
		At: [...]int64{k.seen, k.times.started, k.times.first, k.times.last}}
	dst = head.Append(dst)
	for i := range k.slots {
		dst = k.slots[i].Append(dst)
	}
	return cfg.Plan.AppendState(dst, &k.nodes)
}

// restoreKey makes a key of its cell.
func (c *Core) restoreKey(key boundary.Key, data []byte, from *restoring) error {
	if key == "" {
		return errors.New("it has no key")
	}
	r := form.Reader{Rest: data}
	head := r.KeyHead()
	l, at := from.layouts[head.Layout], head.At
	if l == nil {
		return fmt.Errorf("its layout %d is missing", head.Layout)
	}
	k := c.newCell(key)
	k.arrival, k.seen = head.Arrival, at[0]
	if k.times != nil {
		*k.times = times{started: at[1], first: at[2], last: at[3]}
	}
	for _, i := range l.inputs {
		s := r.Slot()
		k.waits = k.waits || s.Waits
		switch {
		case r.Err != nil:
			return r.Err
		case i >= 0 && c.isShared(i):
			c.deadLetterForeign(i, s.Pend)
		case i >= 0:
			c.restoreKeySlot(k, i, &s, from.meta)
		}
	}
	if err := c.cfg.Plan.DecodeState(&k.nodes, l.nodes, r.Rest); err != nil {
		return err
	}
	for _, i := range l.missing { // until the key is written anew; what rests on it may have known another value
		c.slotOf(k, i).version = c.stamp + 1
	}
	k.sealed = true
	c.keys.byKey.Put(k)
	return nil
}

// deadLetterForeign keeps a restored boundary that has no place in the keys as they are now.
func (c *Core) deadLetterForeign(i int, b *boundary.Boundary) {
	if b != nil {
		c.deadLetter(i, b, "evict", "key_evicted", "the keys of the graph were changed", 0)
	}
}

func (c *Core) restoreKeySlot(k *cell, i int, from *form.Slot, meta *form.Meta) {
	s := c.slotOf(k, i)
	switch print, given := c.stood(i, from, meta); {
	case given:
		s.cur, s.version, s.at = from.Cur, from.Version, placeOf(from.At)
	case print != c.printOf(i):
		s.version = c.stamp + 1 // until the key is written anew; what rests on it has known another value
	default:
		s.version = from.Version
	}
	switch {
	case from.Pend == nil:
	case c.cfg.Inputs[i].queues():
		// The input was latest before: what it had not cut yet comes first in the queue.
		c.push(k, i, queued{b: from.Pend, seq: from.Since, since: from.Since, at: k.timesNow().first})
		c.changes.touch(k)
	default:
		c.overwrite(k, i, from.Pend, from.Since)
	}
}

// restoreLayouts reads the layout cells, by their number, and gives the present layout its
// own: that of an equal one, or a new one.
func (c *Core) restoreLayouts(cells []checkpoint.Cell, m *form.Meta) (layouts map[uint64]*keyLayout, dropped []string,
	err error) {
	layouts = make(map[uint64]*keyLayout)
	var own []byte
	if c.cfg.Keys != nil {
		own = appendLayout(nil, &c.cfg)
		c.keys.layout, c.changes.layout = 1, true
	}
	for i := range cells {
		cell := &cells[i]
		if cell.Kind != form.CellLayout {
			continue
		}
		n, err := strconv.ParseUint(cell.Name, 10, 31)
		if err != nil {
			return nil, nil, corrupt(cell, err)
		}
		l, err := c.readLayout(cell.Data, m)
		if err != nil {
			return nil, nil, corrupt(cell, err)
		}
		layouts[n] = l
		switch {
		case l.foreign:
			dropped = append(dropped, "keys")
			c.stale(form.CellLayout, cell.Name)
			if int(n) >= c.keys.layout && c.changes.layout {
				c.keys.layout = int(n) + 1
			}
		case bytes.Equal(cell.Data, own):
			c.keys.layout, c.changes.layout = int(n), false
		default:
			for _, name := range l.dropped {
				dropped = append(dropped, "node "+name)
			}
			if !bytes.Equal(cell.Data, l.pruned) {
				// Keys that nothing comes for keep what was dropped in their cells: no name leads to it.
				c.changes.stale = append(c.changes.stale,
					checkpoint.Cell{Kind: form.CellLayout, Name: cell.Name, Data: l.pruned})
			}
			if int(n) >= c.keys.layout && c.changes.layout {
				c.keys.layout = int(n) + 1
			}
		}
	}
	return layouts, dropped, nil
}

// restoreKeyCell takes the cell of a key in, or has it deleted when keys mean something
// else now.
func (c *Core) restoreKeyCell(cell *checkpoint.Cell, from *restoring) error {
	n, _ := binary.Uvarint(cell.Data)
	if l := from.layouts[n]; l != nil && l.foreign {
		c.changes.stale = append(c.changes.stale, checkpoint.Cell{Kind: form.CellKey, Key: cell.Key})
		if err := c.dropKey(cell.Data, l); err != nil {
			return corrupt(cell, err)
		}
		return nil
	}
	if c.cfg.Keys == nil {
		return corrupt(cell, errors.New("its layout is missing"))
	}
	if err := c.restoreKey(boundary.Key(cell.Key), cell.Data, from); err != nil {
		return corrupt(cell, err)
	}
	return nil
}

// dropKey settles what waited in a key that means nothing now.
func (c *Core) dropKey(data []byte, l *keyLayout) error {
	r := form.Reader{Rest: data}
	r.KeyHead()
	for _, i := range l.inputs {
		if s := r.Slot(); i >= 0 && r.Err == nil {
			c.deadLetterForeign(i, s.Pend)
		}
	}
	return r.Err
}

// restoreKeyQueues puts back what waited in the queues of keys. What has no key or no
// input any more is abandoned like what an evicted key held.
func (c *Core) restoreKeyQueues(cells []checkpoint.Cell) error {
	for n := range cells {
		cell := &cells[n]
		if cell.Kind != form.CellQueue || cell.Key == "" {
			continue
		}
		it, i, err := c.decodeQueued(cell)
		if err != nil {
			return corrupt(cell, err)
		}
		k := c.keys.byKey.Get(boundary.Key(cell.Key))
		if k == nil || i < 0 || c.isShared(i) {
			c.changes.stale = append(c.changes.stale,
				checkpoint.Cell{Kind: form.CellQueue, Name: cell.Name, Key: cell.Key})
			if i >= 0 {
				c.deadLetterForeign(i, it.b)
			}
			continue
		}
		c.requeue(k, i, it)
	}
	return nil
}

// orderKeys puts what was restored in order: queues, the order of last arrival, the
// agenda.
func (c *Core) orderKeys(samePlan bool) {
	all := make([]*cell, 0, c.keys.byKey.Len())
	for k := range c.keys.byKey.All() {
		all = append(all, k)
	}
	slices.SortFunc(all, byArrival)
	for _, k := range all {
		for i := range k.slots {
			k.slots[i].queue.sort()
		}
		c.keys.ages.put(k)
		if k.waits = k.waits && samePlan; k.waits { // another guard is asked anew
			c.keys.wait(k)
		}
		c.schedule(k)
	}
	c.boundBytes()
	clear(c.freed) // nothing of it has taken room yet
}

// byArrival orders keys by their last arrival; the name is for those made by a command.
func byArrival(a, b *cell) int {
	return cmp.Or(cmp.Compare(a.arrival, b.arrival), cmp.Compare(a.key, b.key))
}
