package batch

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/accumulator/aggregate"
	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/accumulator/window/pane"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/spec"
)

// eventsField is where the list stands beside the key.
const eventsField = "events"

// program is a batch for each key, compiled.
type program struct {
	rule     Declared
	maxBytes int64
	fields   fold.KeyFields
	shape    *boundary.Shape
	givesKey bool
}

// compileKeyed makes a batch for each key.
func (c Declared) compileKeyed(at *fold.Site) (*fold.Program, spec.Diagnostics) {
	keys, ds := fold.CompileKeys(c.Key, at.Scope, nil)
	if len(ds) > 0 {
		return nil, ds
	}
	p := &program{rule: c, maxBytes: at.MaxBytes, fields: fold.NewKeyFields(keys, eventsField), givesKey: at.GivesKey}
	types := map[string]expression.Type{eventsField: expression.ListOf(at.Emitted)}
	for i, name := range p.fields.Names {
		types[name] = p.fields.Types[i]
	}
	p.shape = boundary.NewShape(append(slices.Clone(p.fields.Names), eventsField)...)
	return &fold.Program{
		New: func() fold.Fold { return newBatches(p) }, Type: expression.ObjectOf(types, false), Shape: p.shape,
		Keys: keys, Groups: p.fields, Ticks: c.Interval > 0,
		Lasts: c.Interval > 0,
	}, nil
}

// batches collects the events of each key in a batch of its own. Together they are bounded by the accumulator's
// capacity in bytes: when they have grown to it, the one that has waited longest is handed over.
type batches struct {
	p     *program
	seed  maphash.Seed // of the hashes
	gen   *fold.Generation
	shelf pane.Shelf[*keyed]
	bytes int64 // of all
	owed  int64
	last  int64     // the number of the newest batch
	began []waiting // the batches in the order in which they began, which is that of their being due; some are gone
}

// keyed is the batch of a key.
type keyed struct {
	pane.Pane
	number int64 // which of all batches it is
	since  time.Time
	items  []boundary.Value // only ever appended to
	bytes  int64
}

type waiting struct {
	number int64
	slot   int32
}

// batchBytes is about what a batch takes beside its items, so that many of little count too.
const batchBytes = 300

// Owned implements [pane.Shelved].
func (x *keyed) Owned(gen *fold.Generation) *keyed {
	c := new(*x)
	c.Gen, c.items = gen, slices.Clip(x.items) // who has x may go on with it in another way
	return c
}

func newBatches(p *program) *batches {
	return &batches{p: p, seed: maphash.MakeSeed(), gen: new(fold.Generation), shelf: pane.NewShelf[*keyed]()}
}

// Add implements [fold.Folder].
func (b *batches) Add(now time.Time, in *fold.Input, out []boundary.Boundary) ([]boundary.Boundary, fold.Verdict) {
	v, ev, key := in.Value, in.Event, in.Facts.Key
	hash := pane.Hash(b.seed, key)
	slot := b.shelf.Find(hash, key)
	if slot < 0 {
		b.last++
		slot = b.shelf.Add(&keyed{Pane: pane.Pane{Gen: b.gen, Hash: hash, Key: key.Compact(), First: ev.Pos},
			number: b.last, since: now, bytes: batchBytes}, b.gen)
		b.bytes += batchBytes
		b.begin(waiting{b.last, slot})
	}
	x := b.shelf.Own(slot, b.gen)
	size := int64(v.Size())
	x.items = append(x.items, v)
	x.bytes, b.bytes = x.bytes+size, b.bytes+size
	x.Owes++
	b.owed++
	x.At, x.Last = max(x.At, in.At.UnixNano()), ev.Pos
	x.Links = x.Links.Join(ev.Links)
	if b.p.rule.Size > 0 && len(x.items) >= b.p.rule.Size {
		out = b.hand(slot, out)
	}
	for b.bytes >= b.p.maxBytes {
		first, _ := b.first()
		out = b.hand(first, out)
	}
	return out, fold.Folded
}

// begin puts a batch in the order in which they began. Those that were handed over leave it when they are more than
// half of it: behind one that waits for long they would stand for as long.
func (b *batches) begin(w waiting) {
	if b.began = append(b.began, w); len(b.began) > 2*b.shelf.Len()+pane.PerPage {
		b.began = slices.DeleteFunc(b.began, func(w waiting) bool {
			x := b.shelf.At(w.slot)
			return x == nil || x.number != w.number
		})
	}
}

// first is the batch that has waited longest; false when there is none.
func (b *batches) first() (slot int32, ok bool) {
	for len(b.began) > 0 {
		w := b.began[0]
		if x := b.shelf.At(w.slot); x != nil && x.number == w.number {
			return w.slot, true
		}
		b.began = b.began[1:]
	}
	return 0, false
}

// hand hands a batch over.
func (b *batches) hand(slot int32, out []boundary.Boundary) []boundary.Boundary {
	x := b.shelf.At(slot)
	slots := b.p.fields.Append(make([]boundary.Value, 0, b.p.shape.Len()), x.Key)
	n := len(x.items)
	v := boundary.Object(b.p.shape, append(slots, boundary.List(x.items[:n:n])))
	made := boundary.Boundary{Value: v, First: x.First, Last: x.Last, At: time.Unix(0, x.At).UTC(), Events: x.Owes,
		Size: v.Size(), Links: x.Links}
	if b.p.givesKey {
		made.Key = boundary.KeyOf(x.Key)
	}
	b.bytes -= x.bytes
	b.owed -= x.Owes
	b.shelf.Remove(slot, b.gen)
	if b.shelf.Len() == 0 { // so that what there was of many keys at once is not kept for ever
		b.shelf, b.began = pane.NewShelf[*keyed](), nil
	}
	return append(out, made)
}

// Due implements [fold.Folder].
func (b *batches) Due() (time.Time, bool) {
	slot, ok := b.first()
	if b.p.rule.Interval <= 0 || !ok {
		return time.Time{}, false
	}
	return b.shelf.At(slot).since.Add(b.p.rule.Interval), true
}

// LastDue implements [fold.Lasting].
func (b *batches) LastDue(time.Time) (at time.Time, ok bool) {
	for _, w := range slices.Backward(b.began) {
		if x := b.shelf.At(w.slot); x != nil && x.number == w.number {
			return x.since.Add(b.p.rule.Interval), b.p.rule.Interval > 0
		}
	}
	return at, false
}

// Tick implements [fold.Folder].
func (b *batches) Tick(now time.Time, out []boundary.Boundary) []boundary.Boundary {
	var due []int32
	for at, ok := b.Due(); ok && !now.Before(at); at, ok = b.Due() {
		due, b.began = append(due, b.began[0].slot), b.began[1:]
	}
	return b.handAll(due, func(x, y *keyed) int {
		return cmp.Or(x.since.Compare(y.since), pane.Order(x.Key, y.Key))
	}, out)
}

// End implements [fold.Folder].
func (b *batches) End(out []boundary.Boundary) []boundary.Boundary {
	return b.handAll(slices.Collect(b.shelf.Slots()), func(x, y *keyed) int { return pane.Order(x.Key, y.Key) }, out)
}

func (b *batches) handAll(slots []int32, order func(x, y *keyed) int, out []boundary.Boundary) []boundary.Boundary {
	slices.SortFunc(slots, func(x, y int32) int { return order(b.shelf.At(x), b.shelf.At(y)) })
	for _, slot := range slots {
		out = b.hand(slot, out)
	}
	return out
}

// Order implements [fold.Ordering]: what comes of one moment is in the order of the keys.
func (b *batches) Order(x, y boundary.Value) int { return pane.Order(x.Field("key"), y.Field("key")) }

// Restarted implements [fold.Restarter], as a batch without a key does.
func (b *batches) Restarted(now time.Time) {
	for slot := range b.shelf.Slots() {
		if b.shelf.At(slot).since.After(now) {
			b.shelf.Own(slot, b.gen).since = now
		}
	}
}

// Open implements [fold.Keeper].
func (b *batches) Open() int64 { return b.owed }

// The first byte of the state of batches by key, in one piece and as a head, and the format behind it.
const (
	wholeBatches  = 'K'
	headedBatches = 'k'
	keyedFormat   = 1
)

// handle is an immutable handle on batches by key: they are shared.
type handle struct {
	seed maphash.Seed // of the hashes
	last int64
	kept pane.Snapshot[*keyed]
}

// State implements [fold.Keeper].
func (b *batches) State() fold.State {
	h := &handle{seed: b.seed, last: b.last, kept: b.shelf.Snapshot()}
	b.gen = new(fold.Generation)
	return h
}

// Resume implements [fold.Keeper].
func (b *batches) Resume(s fold.State) {
	h := s.(*handle)
	b.gen, b.seed = new(fold.Generation), h.seed
	b.shelf.Adopt(&h.kept)
	b.last, b.bytes, b.owed, b.began = h.last, 0, 0, nil
	for slot := range b.shelf.Slots() {
		x := b.shelf.At(slot)
		b.bytes, b.owed = b.bytes+x.bytes, b.owed+x.Owes
		b.began = append(b.began, waiting{x.number, slot})
	}
	slices.SortFunc(b.began, func(x, y waiting) int { return cmp.Compare(x.number, y.number) })
}

// AppendBinary implements [fold.State].
func (h *handle) AppendBinary(dst []byte) []byte {
	dst = binary.AppendVarint(append(dst, wholeBatches, keyedFormat), h.last)
	return h.kept.AppendPages(h.kept.AppendSize(dst), appendKeyed)
}

// AppendHead implements [fold.Parted].
func (h *handle) AppendHead(dst []byte) []byte {
	return h.kept.AppendSize(binary.AppendVarint(append(dst, headedBatches, keyedFormat), h.last))
}

// Parts implements [fold.Parted].
func (h *handle) Parts() func(yield func(fold.Part) bool) { return h.kept.Parts(appendKeyed) }

func appendKeyed(dst []byte, x *keyed) []byte {
	dst = binary.AppendVarint(dst, x.number)
	dst = fold.AppendTime(dst, x.since)
	dst = binary.AppendVarint(dst, x.bytes)
	dst = fold.AppendValues(dst, x.items)
	return x.Pane.Append(dst, new(aggregate.Calls))
}

// Decode implements [fold.Keeper].
func (b *batches) Decode(data []byte) (fold.State, error) {
	h := &handle{seed: b.seed}
	if len(data) == 0 {
		return h, nil
	}
	r, parts, err := pane.ReadParts(data, wholeBatches, headedBatches, keyedFormat)
	if err != nil {
		return nil, err
	}
	h.last = r.Varint()
	return h, h.kept.Read(r, parts, fold.MaxKept, func(r *fold.Reader) *keyed {
		x := &keyed{number: r.Varint(), since: r.Time(), bytes: r.Varint(), items: r.Values()}
		if x.Pane = pane.Read(r, new(aggregate.Calls), true, b.seed); x.Owes != int64(len(x.items)) {
			r.Fail(fold.ErrForeign)
		}
		return x
	})
}

// Weight implements [fold.Weighed].
func (h *handle) Weight() int64 {
	return h.kept.Weigh(batchBytes, func(x *keyed) int64 { return x.bytes + int64(len(x.items))*4 })
}

// Deal implements [fold.Dealt].
func (b *batches) Deal(states []fold.State, mine func(key boundary.Value) bool, _ bool) (fold.State, error) {
	made := newBatches(b.p)
	var all []*keyed
	for _, s := range states {
		for x := range s.(*handle).kept.All {
			if mine(x.Key) {
				all = append(all, new(*x))
			}
		}
	}
	slices.SortStableFunc(all, func(x, y *keyed) int {
		return cmp.Or(x.since.Compare(y.since), cmp.Compare(x.number, y.number))
	})
	for _, x := range all {
		made.last++
		x.Gen, x.Hash, x.number = nil, pane.Hash(made.seed, x.Key), made.last
		made.shelf.Add(x, made.gen)
	}
	return made.State(), nil
}
