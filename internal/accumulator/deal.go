package accumulator

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/timeline"
)

// Undealt says why one event does not tell the key of what comes of it, and what to do about it (M49); "" when it
// does, or when the input has one value for all keys.
func (p *Program) Undealt() string {
	switch {
	case p.folds == nil || p.key == nil && !p.givesKey:
		return ""
	case len(p.folds.Keys) == 0:
		return "its events are one group whatever their keys: group them by the fields of reactor.key"
	case p.key == nil:
		return ""
	}
	for _, x := range p.key.parts {
		for _, field := range p.key.reads(x) {
			if !slices.Contains(p.folds.Groups.Names, field) {
				return fmt.Sprintf("reactor.key reads %s, which is not known before many events are folded: let it "+
					"read the fields of its key alone, %s", field, strings.Join(p.folds.Groups.Names, ", "))
			}
		}
	}
	if p.ownKey == nil {
		return ""
	}
	for _, x := range p.key.parts {
		bare := slices.Contains(p.folds.Groups.Names[1:], strings.TrimSpace(x.Text()))
		if !bare || p.emit != nil || p.emitWhole != nil {
			return "its late events have a key of their own, which may be of another shard: let reactor.key be plain " +
				"fields of its key, without emit, or say late: drop, dead_letter or update"
		}
	}
	return ""
}

// reads are the fields that a part of the key reads.
func (k *keyProgram) reads(x *expression.Program) (names []string) {
	for _, r := range x.Reads() {
		if !k.ofEvent && !slices.Contains(names, k.fields[r.Name]) {
			names = append(names, k.fields[r.Name])
		}
	}
	return names
}

// GroupFields are the fields under which what is handed over has the key of its group, and the parts of that.
func (p *Program) GroupFields() []string { return p.folds.Groups.Names }

// Group are the expressions that say of which group an event is.
func (p *Program) Group() []*expression.Program { return p.folds.Keys }

// Ticks says that time alone completes something, Together that what one key hands over depends on when events of
// others come.
func (p *Program) Ticks() (ticks, together bool) {
	if p.folds == nil {
		return false, false
	}
	return p.folds.Ticks, p.folds.Together
}

// Lasts says that time completes what is open when no event comes any more.
func (p *Program) Lasts() bool { return p.folds != nil && p.folds.Lasts }

// Passes says that the events pass through: each is a value of its own.
func (p *Program) Passes() bool { return p.folds == nil }

// Dealer finds the shards of events ahead of their being folded. It belongs to one goroutine, which need not be a
// Core's.
type Dealer struct {
	Dater
	vouches fold.Vouching // nil: the fold does not go by the times of all events
	made    *keyer        // of the fields of a group's key; nil where the group's key is that of the boundary
	fields  []int         // that the key reads, by their place among those of the group's key
	group   []boundary.Value
	text    []byte
}

// NewDealer makes a Dealer of p's events.
func NewDealer(p *Program, lim Limits) *Dealer {
	d := &Dealer{Dater: *NewDater(p, lim)}
	if p.folds == nil {
		return d
	}
	if v, ok := NewFold(p).(fold.Vouching); ok && p.timed {
		d.vouches = v
	}
	if p.key != nil {
		d.made = newKeyer(p.key)
		for _, name := range p.key.fields {
			d.fields = append(d.fields, slices.Index(p.folds.Groups.Names, name))
		}
	}
	return d
}

// Vouching is the fold's answers about events of other shards; nil where it does not ask for them.
func (d *Dealer) Vouching() fold.Vouching { return d.vouches }

// Deal says which of n shards ev belongs to, and whether it will be folded there and its time counts for all. It
// leaves the decoded value in ev, lent from loan where [Dater.Lends]. An event that has no key is of the first shard:
// folding it tells why.
func (d *Dealer) Deal(ev *boundary.Event, dated Dated, loan *boundary.Loan, n int) (shard int, vouched bool) {
	shard, vouched = d.find(ev, dated, loan, n)
	return max(shard, 0), vouched
}

// DealIn is Deal of an event that was read by shard home of n, since it is in a partition of it. An event of which it
// cannot be said where it belongs is of that shard. One of another shard is bad, unless `where` filters it.
func (d *Dealer) DealIn(home int, ev *boundary.Event, dated Dated, loan *boundary.Loan, n int) (
	vouched bool, bad *BadEvent) {
	shard, vouched := d.find(ev, dated, loan, n)
	if shard < 0 || shard == home {
		return vouched, nil
	}
	d.in.dated, d.in.of = dated, ev
	if _, keep, unfit := d.in.value(ev); unfit != nil || !keep {
		return false, nil // so it is found to be when it is folded
	}
	return false, &BadEvent{Stage: "key", Code: "key_misplaced", Text: fmt.Sprintf("by %s its key is of shard %d of "+
		"%d, and it is in a partition of shard %d: its producer deals by another function or another key, or did when "+
		"there were other partitions; replay it to take it in", d.in.p.dealtBy, shard, n, home)}
}

// find is Deal; shard is -1 where it cannot be said.
func (d *Dealer) find(ev *boundary.Event, dated Dated, loan *boundary.Loan, n int) (shard int, vouched bool) {
	in := d.in
	if in.loan = nil; in.p.lends {
		in.loan = loan
	}
	v, bad := in.decode(ev)
	if bad != nil {
		return -1, false
	}
	ev.Value = v
	in.dated, in.of = dated, ev
	switch {
	case in.p.side: // the join goes by the times of all of its events
		_, keep, bad := in.value(ev)
		if in.facts.At = in.dated.At; keep && bad == nil && in.facts.At == timeline.Never {
			in.facts.At, bad = in.when()
		}
		if keep && bad == nil {
			return in.p.dealtBy.Shard(in.keys.bytes(), n), true
		}
	case d.vouches != nil:
		if _, keep, bad := in.value(ev); keep && bad == nil {
			return d.grouped(n), d.vouches.Vouches(&in.facts)
		}
	}
	return d.byKey(ev, n), false
}

// byKey is the shard of an event by its key alone. That of one that is left out is what it would be if it were not:
// with another `where`, `schema` or `time` each shard has read what is its own, however far it has come.
func (d *Dealer) byKey(ev *boundary.Event, n int) int {
	in := d.in
	if in.p.folds == nil {
		if !d.passed(ev) || in.keys.write() != nil {
			return -1
		}
		return in.p.dealtBy.Shard(in.keys.bytes(), n)
	}
	if in.set(ev.Value, ev.Meta); in.group() != nil {
		return -1
	}
	return d.grouped(n)
}

// passed finds the parts of the key of an event that passes through: of the event, or of what emit makes of it, but no
// more of that than the key reads.
func (d *Dealer) passed(ev *boundary.Event) bool {
	in, k := d.in, d.in.keys
	in.set(ev.Value, ev.Meta)
	switch {
	case k.p.ofEvent:
		return k.find(&in.env) == nil
	case in.p.emitShape != nil && !slices.Contains(k.p.slots, -1):
		for i, slot := range k.p.slots {
			v, err := in.p.emit[slot].Eval(&in.env)
			if err != nil && k.p.uses(i) {
				return false
			}
			k.env.Values[i] = v
		}
		return k.findFields() == nil
	}
	v, bad := in.shape(ev.Value)
	if bad != nil {
		return false
	}
	k.read(v)
	return k.findFields() == nil
}

// grouped is the shard of the group whose key is among the facts; -1 where it cannot be said.
func (d *Dealer) grouped(n int) int {
	key := d.in.facts.Key
	if d.in.p.joins { // its key is what its sides were dealt by, however the reactor's reads it
		d.text = append(d.text[:0], boundary.KeyOf(key)...)
		return d.in.p.dealtBy.Shard(d.text, n)
	}
	if d.made == nil {
		d.text = key.AppendJSON(d.text[:0])
		return d.in.p.dealtBy.Shard(d.text, n)
	}
	d.group = d.in.p.folds.Groups.Append(d.group[:0], key)
	for i, at := range d.fields {
		d.made.env.Values[i] = boundary.Value{}
		if at >= 0 { // else it is a word that the key has in a text
			d.made.env.Values[i] = d.group[at]
		}
	}
	if d.made.findFields() != nil || d.made.write() != nil {
		return -1
	}
	return d.in.p.dealtBy.Shard(d.made.bytes(), n)
}

// ShardOf is the shard, of n, of the group with a key.
func (d *Dealer) ShardOf(group boundary.Value, n int) int {
	d.in.facts.Key = group
	return max(d.grouped(n), 0)
}

// When is the time of an event that Deal has just vouched for.
func (d *Dealer) When() int64 { return d.in.facts.At }

// Before says of the next event how many of its input came before it, to this Core or to others.
func (c *Core) Before(events int64) { c.others = events - c.mark.Counters.Received }

// Elsewhere takes note of an event of a stream that another Core of the input has folded; see [fold.Vouching].
func (c *Core) Elsewhere(now time.Time, stream string, at, number int64) {
	n := len(c.out)
	c.out = c.fold.(fold.Vouching).Elsewhere(now, stream, at, number, c.out)
	if len(c.out) > n || c.failures != nil && c.failures.Any() {
		c.folded(now, n)
		c.changed = true
	}
}

// Pass takes note of an event that another Core folds. It is in none of the books here; its position is passed, so
// that what this Core has done is never done again.
func (c *Core) Pass(now time.Time, ev *boundary.Event, f fold.Fate) {
	if c.p.side && c.in.of == ev && c.in.dated.At != timeline.Never { // its turn may have come at another time
		f.At = c.in.dated.At
	}
	c.in.of = nil
	switch {
	case f.Vouched && c.p.side:
		c.heard = fold.Hear(c.heard, len(c.out), min(f.At, now.UnixNano()))
	case f.Vouched:
		c.Elsewhere(now, ev.Pos.Stream, f.At, c.mark.Counters.Received)
	}
	c.moveTo(ev.Pos)
	c.changed = true
}

// Complete is what waits for Drain: boundaries, those for the input of the kind's own, and dead letters.
func (c *Core) Complete() (boundaries, late, letters int) {
	return len(c.out), len(c.late), len(c.letters)
}
