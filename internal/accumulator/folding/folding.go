package folding

import (
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/spec/decode"
)

// Folding folds events into a state for each key (M3). An event that an expression fails for is refused,
// and leaves everything as it was.
type Folding struct {
	p   *program
	env expression.Env

	gen    *fold.Generation // what newer generations own no snapshot holds, see table
	cells  table
	events int64 // that were folded, by which cells know how lately they were used
	owed   int64 // events that no boundary accounts for yet
	bytes  int64 // of all cells
	gone   int64 // keys that were evicted, in all

	// Where the cells are; in no snapshot.
	index   map[string]*entry
	entries []*entry // by the number of the cell
	recent  recency

	failures fold.Failures
	key      []boundary.Value // scratch
	text     []byte           // scratch
	encoded  []byte           // scratch
}

func newFolding(p *program) *Folding {
	f := &Folding{p: p, gen: new(fold.Generation), index: map[string]*entry{}}
	f.recent.clear()
	return f
}

// Add implements [fold.Folder].
func (f *Folding) Add(now time.Time, in *fold.Input, out []boundary.Boundary) ([]boundary.Boundary, fold.Verdict) {
	if in.Bad = f.find(in.Facts.Key); in.Bad != nil {
		return out, fold.Refused
	}
	at := f.index[string(f.text)]
	var was *cell
	if at != nil {
		was = f.cells.at(at.cell)
	}
	state, bytes, v, emits, bad := f.fold(was, in)
	if in.Bad = bad; bad != nil {
		return out, fold.Refused
	}
	b := boundary.Boundary{First: in.Event.Pos, Last: in.Event.Pos, Events: 1, Links: in.Event.Links}
	if was != nil && was.open > 0 {
		b.First, b.Events, b.Links = was.first, was.open+1, was.links.Join(b.Links)
	}
	if emits {
		b.Value, b.At = f.handedOver(in.Facts.Key, v), in.At
		b.Size = b.Value.Size()
		if f.p.givesKey {
			b.Key = boundary.KeyOf(in.Facts.Key)
		}
		out = append(out, b)
		b.Events, b.Links = 0, nil
	}
	f.keep(at, in.Facts.Key, state, bytes, &b)
	return out, fold.Folded
}

// find makes the text of a key.
func (f *Folding) find(key boundary.Value) *fold.BadEvent {
	f.key, f.text = f.key[:0], f.text[:0]
	switch f.p.keys {
	case 0:
		return nil
	case 1:
		f.key = append(f.key, key)
	default:
		for part := range key.Items() {
			f.key = append(f.key, part)
		}
	}
	var err error
	if f.text, err = boundary.AppendKey(f.text, f.key); err != nil {
		return &fold.BadEvent{Stage: "key", Code: "bad_key", Text: decode.OneLine(err.Error())}
	}
	return nil
}

// fold makes the next state, compact, and what is handed over with it, if it is.
func (f *Folding) fold(was *cell, in *fold.Input) (
	state boundary.Value, bytes int64, v boundary.Value, emits bool, bad *fold.BadEvent,
) {
	if f.p.code != nil {
		return f.call(was, in.Value)
	}
	if state, bytes, bad = f.step(was, in.Facts.Env); bad == nil {
		v, emits, bad = f.result(state)
		if bad != nil && state.IsNull() { // what they are over is not there: the key is forgotten, and nothing said
			return state, bytes, boundary.Value{}, false, nil
		}
	}
	return state, bytes, v, emits, bad
}

// step makes the next state, compact, and leaves the environment as what comes after it reads it.
func (f *Folding) step(was *cell, event *expression.Env) (state boundary.Value, bytes int64, bad *fold.BadEvent) {
	state = f.p.init
	if was != nil && !was.state.IsNull() {
		state = was.state
	}
	f.env.Values = append(append(f.env.Values[:0], event.Values[:fold.NameOwn]...), state)
	if state, bad = f.p.step.eval(&f.env); bad != nil {
		bad.Text = "step" + bad.Text
		return state, 0, bad
	}
	f.encoded = state.AppendBinary(f.encoded[:0])
	if bad = f.p.tooLarge(int64(len(f.encoded))); bad != nil {
		bad.Text = "step" + bad.Text
		return state, 0, bad
	}
	state = state.Compact()
	f.env.Values[fold.NameOwn] = state
	return state, int64(len(f.encoded)), nil
}

// result makes what is handed over of the state and the event in the environment, if it is.
func (f *Folding) result(state boundary.Value) (v boundary.Value, emits bool, bad *fold.BadEvent) {
	if x := f.p.emitWhen; x != nil {
		emits, err := x.EvalBool(&f.env)
		if bad = fault("emit_when", err); bad != nil || !emits {
			return v, false, bad
		}
	}
	if f.p.result == nil {
		return state, true, nil
	}
	if v, bad = f.p.result.eval(&f.env); bad != nil {
		bad.Text = "result" + bad.Text
	}
	return v, true, bad
}

// handedOver is v with the fields of its key.
func (f *Folding) handedOver(key, v boundary.Value) boundary.Value {
	if f.p.keys == 0 {
		return v
	}
	slots := f.p.keyFields.Append(make([]boundary.Value, 0, f.p.shape.Len()), key.Compact())
	made := f.p.result
	if made == nil {
		made = f.p.step
	}
	if made == nil || made.shape == nil {
		return boundary.Object(f.p.shape, append(slots, v))
	}
	for i := range made.shape.Len() {
		slots = append(slots, v.Slot(made.shape, i))
	}
	return boundary.Object(f.p.shape, slots)
}

// keep puts the next state in the place of the one at an entry, or of none. What b has by now is what no
// boundary accounts for yet.
func (f *Folding) keep(at *entry, key, state boundary.Value, bytes int64, b *boundary.Boundary) {
	f.events++
	if state.IsNull() {
		if at != nil {
			f.forget(at)
		}
		f.failures.Forget(b.Events)
		return
	}
	if at == nil {
		at = &entry{key: string(f.text)}
		at.cell = f.cells.add(&cell{gen: f.gen, key: key.Compact()}, f.gen)
		f.index[at.key], f.entries = at, append(f.entries, at)
	}
	c := f.cells.own(at.cell, f.gen)
	bytes += int64(len(at.key))
	f.owed += b.Events - c.open
	f.bytes += bytes - c.bytes
	c.state, c.bytes, c.used = state, bytes, f.events
	c.open, c.first, c.last, c.links = b.Events, b.First, b.Last, b.Links
	f.recent.use(at)
	for f.cells.n > 1 && (f.cells.n > f.p.maxKeys || f.bytes > f.p.maxBytes) {
		f.evict(f.recent.oldest())
	}
}

// forget takes a key out.
func (f *Folding) forget(e *entry) {
	c := f.cells.at(e.cell)
	f.bytes -= c.bytes
	f.owed -= c.open
	last := len(f.entries) - 1
	f.cells.remove(e.cell, f.gen)
	f.entries[last].cell = e.cell
	f.entries[e.cell] = f.entries[last]
	f.entries[last] = nil
	f.entries = f.entries[:last]
	f.recent.remove(e)
	delete(f.index, e.key)
}

// evictedShape is what a dead letter says of a state that was evicted.
var evictedShape = boundary.NewShape("key", "state")

// evict forgets the state that was used least recently. The events in it that no boundary accounts for
// are a dead letter.
func (f *Folding) evict(e *entry) {
	c := f.cells.at(e.cell)
	if c.open > 0 {
		failed := fold.Failure{
			Value:  boundary.Object(evictedShape, []boundary.Value{c.key, c.state}),
			Events: c.open, Last: c.last,
			Bad: &fold.BadEvent{Stage: "evict", Code: "key_evicted",
				Text: "there are more states than max_keys or max_bytes allow: this was the least recently used"},
		}
		if f.p.givesKey {
			failed.Key = boundary.KeyOf(c.key)
		}
		f.failures.Put(failed)
	}
	f.gone++
	f.forget(e)
}

// Due implements [fold.Folder]: a fold knows no time.
func (f *Folding) Due() (time.Time, bool) { return time.Time{}, false }

// Tick implements [fold.Folder].
func (f *Folding) Tick(_ time.Time, out []boundary.Boundary) []boundary.Boundary { return out }

// End implements [fold.Folder]. What is handed over is for emit_when to say, and the end is no event.
func (f *Folding) End(out []boundary.Boundary) []boundary.Boundary { return out }

// Open implements [fold.Keeper].
func (f *Folding) Open() int64 { return f.owed }

// Failures implements [fold.Failing].
func (f *Folding) Failures() *fold.Failures { return &f.failures }
