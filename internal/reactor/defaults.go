package reactor

import (
	"hash/fnv"
	"slices"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/reactor/form"
)

// The default of an input stands for it until something has arrived. It is never kept as a value of the input: so what
// another declaration says stands in its place, in every key, and what has arrived stays, also where it is equal to a
// default (decision 0345).

// layDefaults has the defaults stand.
func (c *Core) layDefaults() {
	n := len(c.cfg.Inputs)
	for i := range c.cfg.Inputs {
		in, s := &c.cfg.Inputs[i], &c.shared.slots[i]
		if in.Default.IsAbsent() {
			continue
		}
		if c.prints == nil {
			c.cut.stands, c.prints = make([]bool, n), make([]uint32, n)
		}
		if c.stamp, s.version = 1, 1; in.Table != nil {
			s.cur = in.Default // an empty table is one
			continue
		}
		c.prints[i] = shortPrint(in.Default)
	}
}

// worth is the value of input i as a key has it: as of the last cut that was kept, or what stands for it.
func (c *Core) worth(k *cell, i int) boundary.Value {
	s := c.slotOf(k, i)
	if s.cur.IsAbsent() && s.version != 0 {
		return c.cfg.Inputs[i].Default
	}
	return s.cur
}

// has reports whether input i has arrived at a key, or something stands for it.
func (c *Core) has(k *cell, i int) bool {
	return c.slotOf(k, i).pend != nil || !c.worth(k, i).IsAbsent()
}

// standIn has defaults stand for the inputs of the snapshot of which nothing has arrived.
func (c *Core) standIn() {
	t := &c.cut
	for i := range c.cfg.Inputs {
		switch in := &c.cfg.Inputs[i]; {
		case in.Default.IsAbsent():
		case in.Table != nil:
			t.stands[i] = t.versions[i] == 1
		default:
			if t.stands[i] = t.values[i].IsAbsent() && t.versions[i] != 0; t.stands[i] {
				t.values[i] = in.Default
			}
		}
	}
}

// inject has the epoch at hand see a value that a command gives; absent where it takes one away.
func (t *cut) inject(i int, v boundary.Value, version uint64) {
	if t.values[i], t.versions[i] = v, version; t.stands != nil {
		t.stands[i] = false
	}
}

// sealSlot is a slot as a seal holds it.
func (c *Core) sealSlot(i int, s *slot) form.Slot {
	f := form.Slot{Cur: s.cur, Version: s.version, At: s.at.position(), Pend: s.pend, Given: !s.cur.IsAbsent()}
	switch {
	case f.Given || c.printOf(i) == 0:
	case s.version == 0:
		f.Given = true // a command has taken it away
	default:
		f.Stands = c.prints[i]
	}
	return f
}

// printOf is the fingerprint of the default of input i; 0 for none.
func (c *Core) printOf(i int) uint32 {
	if c.prints == nil {
		return 0
	}
	return c.prints[i]
}

// hadArrived says that a value which the graph as a whole has of input i had arrived, where its cell does not say it.
// Earlier releases have written the default of that time as if it had; only what it was tells them apart.
func (c *Core) hadArrived(i int, s *form.Slot, meta *form.Meta) bool {
	was, had := meta.Defaults[c.cfg.Inputs[i].Name]
	return !s.Cur.IsAbsent() && !(had && was == longPrint(s.Cur))
}

// stood is what stood for input i of a key, by its fingerprint, until its cell was written; given says that there was a
// value. Of the cells of earlier releases it tells a default by its version: what arrives has a greater one, but for
// the very first of a graph.
func (c *Core) stood(i int, s *form.Slot, meta *form.Meta) (print uint32, given bool) {
	if s.Given || s.Cur.IsAbsent() {
		return s.Stands, s.Given
	}
	if _, had := meta.Defaults[c.cfg.Inputs[i].Name]; !had || s.Version != 1 {
		return 0, true
	}
	return shortPrint(s.Cur), false
}

// sameWithout says that an input of which nothing had arrived was worth then what it is now: nothing or the same
// default stood for it. Who rests on it has nothing to learn from an update, and would count twice what it has counted.
func (c *Core) sameWithout(from *restoring, i int) bool {
	name := c.cfg.Inputs[i].Name
	if _, known := from.meta.Books[name]; !known {
		return false // a node may have had its name
	}
	for _, l := range from.layouts {
		if slices.Contains(l.inputs, i) {
			return false // each key had its own value of it
		}
	}
	was, had := from.meta.Defaults[name]
	is, has := c.defaults[name]
	return was == is && had == has
}

// defaults are the fingerprints of what stands for inputs before something has arrived, by name; nil for none. A table
// says by itself what of it is another.
func (c *Config) defaults() (prints map[string]uint64) {
	for i := range c.Inputs {
		in := &c.Inputs[i]
		if in.Default.IsAbsent() || in.Table != nil {
			continue
		}
		if prints == nil {
			prints = make(map[string]uint64)
		}
		prints[in.Name] = longPrint(in.Default)
	}
	return prints
}

// longPrint is a fingerprint of a value, shortPrint a part of it for each key: no less than [form.FirstPrint].
func longPrint(v boundary.Value) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(v.AppendBinary(nil)) // never fails
	return h.Sum64()
}

func shortPrint(v boundary.Value) uint32 { return max(uint32(longPrint(v)>>32), form.FirstPrint) }
