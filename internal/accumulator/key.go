package accumulator

import (
	"errors"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
)

// keyProgram makes the key of a boundary (M13): of the event, where the accumulator says
// how, else of the boundary's fields, as the reactor says.
type keyProgram struct {
	parts []*expression.Program
	// fields are the boundary's fields that the parts read, by their index in the scope;
	// nil when they read the event.
	fields  []string
	slots   []int           // of the fields in shape
	shape   *boundary.Shape // nil: fields are looked up by name
	ofEvent bool
	// bare says that the only part is the first field as it is, with nothing to compute.
	bare bool
}

// compileKey compiles the accumulator's own key over the event, or the reactor's over the
// fields of what the accumulator hands over.
func (p *Program) compileKey(a *spec.Accumulator, reactor []spec.Expr, scope expression.Scope,
	ds spec.Diagnostics) spec.Diagnostics {
	if a.Global || len(a.Keys)+len(reactor) == 0 {
		return ds
	}
	p.key = &keyProgram{ofEvent: len(a.Keys) > 0}
	if p.key.ofEvent {
		for _, e := range a.Keys {
			var x *expression.Program
			if x, ds = fold.CompileExpr(e, scope, expression.Compile, ds); x != nil {
				ds = p.key.add(e, x, ds)
			}
		}
		return ds
	}
	fields := p.Type()
	names := fieldNames(fields, reactor)
	for _, n := range names {
		p.key.fields = append(p.key.fields, n.Name)
	}
	for _, e := range reactor {
		if e.IsZero() {
			continue // it could not be read, which has been said
		}
		x, err := expression.Compile(e.Text, expression.Scope{Names: names, For: scope.For})
		if err != nil {
			d := fold.Diagnose(e, err)
			d.Text += " (the key of " + a.Name + ", over the fields it hands over; or give " + a.Name +
				" a key of its own)"
			if a.JoinedBy != "" {
				d = fold.Diagnose(e, err)
				d.Text += " (what " + a.Name + " is joined on, over the fields it hands over; where the sides " +
					"differ, give one for each: { left: id, right: order_id })"
			}
			ds = append(ds, d)
			continue
		}
		if wrong := fold.Misread(x, a.Name, names, fields); wrong != "" && a.JoinedBy != "" {
			ds = append(ds, fold.Diagnostic(e.Pos, expression.CodeUnknownName, wrong))
			continue
		}
		ds = p.key.add(e, x, ds)
	}
	p.key.bind(nil)
	p.key.bare = len(p.key.parts) == 1 && len(names) == 1 && strings.TrimSpace(p.key.parts[0].Text()) == names[0].Name
	return ds
}

// Key are the parts of the key that a boundary has, and by part the fields of it that are read; none where that is the
// key of its group. A part that reads the event reads no fields.
func (p *Program) Key() (parts []*expression.Program, fields [][]string) {
	if p.key == nil {
		return nil, nil
	}
	fields = make([][]string, len(p.key.parts))
	for i, x := range p.key.parts {
		fields[i] = p.key.reads(x)
	}
	return p.key.parts, fields
}

// add takes one part, unless it can never be a key.
func (k *keyProgram) add(e spec.Expr, x *expression.Program, ds spec.Diagnostics) spec.Diagnostics {
	switch kind := x.Type().Kind(); kind {
	case boundary.KindList, boundary.KindObject, boundary.KindDuration, boundary.KindNull:
		return append(ds, fold.Diagnostic(e.Pos, expression.CodeTypeMismatch,
			"a key is a text, a whole number, a boolean or a time, and this is "+kind.String()))
	}
	k.parts = append(k.parts, x)
	return ds
}

// fieldNames are the names that the reactor's key can read of a boundary of this type: its
// fields. Where they are not all known, every word that is no call may be one.
func fieldNames(t expression.Type, exprs []spec.Expr) []expression.Name {
	var names []expression.Name
	add := func(name string) {
		if ft, ok := t.Field(name); ok && !slices.ContainsFunc(names, func(n expression.Name) bool {
			return n.Name == name
		}) {
			names = append(names, expression.Name{Name: name, Type: ft})
		}
	}
	for _, e := range exprs {
		for word, call := range expression.Words(e.Text) {
			if !call {
				add(word)
			}
		}
	}
	if len(names) == 0 || !t.IsAny() && !t.Open() {
		// All of them: a misspelt name is then told with the one that is meant.
		for _, f := range t.Fields() {
			if !slices.ContainsFunc(names, func(n expression.Name) bool { return n.Name == f }) {
				ft, _ := t.Field(f)
				names = append(names, expression.Name{Name: f, Type: ft})
			}
		}
	}
	return names
}

// uses reports whether a part reads the field.
func (k *keyProgram) uses(field int) bool {
	return slices.ContainsFunc(k.parts, func(x *expression.Program) bool {
		return slices.ContainsFunc(x.Reads(), func(r expression.Read) bool { return r.Name == field })
	})
}

// bind tells the parts the shape of what they read.
func (k *keyProgram) bind(shape *boundary.Shape) {
	k.shape, k.slots = shape, nil
	for _, name := range k.fields {
		slot := -1
		if shape != nil {
			if i, ok := shape.Slot(name); ok {
				slot = i
			}
		}
		k.slots = append(k.slots, slot)
	}
}

// KeyTimes says for each part of the key whether it is known to be a time; nil without a key.
func (p *Program) KeyTimes() []bool {
	var parts []*expression.Program
	switch {
	case p.key != nil:
		parts = p.key.parts
	case p.givesKey && p.folds != nil:
		parts = p.folds.Keys
	default:
		return nil
	}
	times := make([]bool, len(parts))
	for i, x := range parts {
		times[i] = x.Type().Kind() == boundary.KindTime
	}
	return times
}

// keyer makes keys for one Core.
type keyer struct {
	p     *keyProgram
	env   expression.Env
	parts []boundary.Value
	text  []byte       // of the last key, but for one that was
	found boundary.Key // among texts; "" for none
	// recent are keys made lately, by their hash: most events have one of these, and then
	// no memory is needed for another.
	recent [recentKeys]boundary.Key
	// texts are those of a key that is one text in which nothing had to be escaped, by the hash of that.
	texts [recentKeys]boundary.Key
}

// recentKeys is 256, by a byte of the hash: they are 4 KiB.
const recentKeys = 256

func newKeyer(p *keyProgram) *keyer {
	if p == nil {
		return nil
	}
	return &keyer{
		p: p, env: expression.Env{Values: make([]boundary.Value, len(p.fields))},
		parts: make([]boundary.Value, len(p.parts)),
	}
}

// ofBoundary is the key of a boundary's value.
func (k *keyer) ofBoundary(v boundary.Value) (boundary.Key, *BadEvent) {
	k.read(v)
	return k.ofFields()
}

// read takes the fields of a boundary's value into the environment.
func (k *keyer) read(v boundary.Value) {
	for i, slot := range k.p.slots {
		if slot >= 0 {
			if at := v.SlotAt(k.p.shape, slot); at != nil {
				k.env.Values[i] = *at
				continue
			}
		}
		k.env.Values[i] = v.Field(k.p.fields[i])
	}
}

// ofFields is the key of the fields in the environment.
func (k *keyer) ofFields() (boundary.Key, *BadEvent) {
	if bad := k.findFields(); bad != nil {
		return "", bad
	}
	return k.key()
}

// findFields finds the parts of the key of the fields in the environment.
func (k *keyer) findFields() *BadEvent {
	if k.p.bare {
		k.parts[0] = k.env.Values[0]
		return nil
	}
	return k.find(&k.env)
}

// eval makes the key of what is in the environment.
func (k *keyer) eval(env *expression.Env) (boundary.Key, *BadEvent) {
	if bad := k.find(env); bad != nil {
		return "", bad
	}
	return k.key()
}

// find finds the parts of the key of what is in the environment.
func (k *keyer) find(env *expression.Env) *BadEvent {
	for i, x := range k.p.parts {
		v, err := x.Eval(env)
		switch {
		case err == nil:
			k.parts[i] = v
		case errors.Is(err, expression.ErrAbsent):
			k.parts[i] = boundary.Value{}
		default:
			return evalFault("key", err)
		}
	}
	return nil
}

// write writes the key of the parts.
func (k *keyer) write() (err error) {
	k.text, err = boundary.AppendKey(k.text[:0], k.parts)
	k.found = ""
	return err
}

// bytes are those of the key that was made last.
func (k *keyer) bytes() []byte {
	if k.found != "" {
		k.text, k.found = append(k.text[:0], k.found...), ""
	}
	return k.text
}

func (k *keyer) key() (boundary.Key, *BadEvent) {
	text, plain := "", false
	if len(k.parts) == 1 {
		if text, plain = k.parts[0].AsString(); plain {
			if kept := k.texts[recentPlace(text)]; len(kept) == len(text)+2 && string(kept[1:len(kept)-1]) == text {
				k.found = kept
				return kept, nil
			}
		}
	}
	if err := k.write(); err != nil {
		if errors.Is(err, boundary.ErrNoKey) {
			return "", &BadEvent{Stage: "key", Code: "key_missing", Text: k.missing()}
		}
		return "", &BadEvent{Stage: "key", Code: "bad_key", Text: err.Error()}
	}
	kept := &k.recent[recentPlace(k.text)]
	if string(*kept) != string(k.text) {
		*kept = boundary.Key(k.text)
	}
	if plain && len(*kept) == len(text)+2 { // no character took more room than it has: it is the text in quotes
		k.texts[recentPlace(text)] = *kept
	}
	return *kept, nil
}

// recentPlace is where a text has its place among the recent, by eight bytes at a time. There is nobody to guard
// against: a clash costs an allocation.
func recentPlace[T string | []byte](text T) uint32 {
	const odd = 0x9e3779b97f4a7c15
	h, n := uint64(len(text)), len(text)
	switch {
	case n >= 8:
		for i := 0; i < n-8; i += 8 {
			h = (h ^ load32(text[i:]) ^ load32(text[i+4:])<<32) * odd
			h ^= h >> 32
		}
		h ^= load32(text[n-8:]) ^ load32(text[n-4:])<<32
	case n >= 4:
		h ^= load32(text) ^ load32(text[n-4:])<<32
	case n > 0:
		h ^= uint64(text[0])<<8 ^ uint64(text[n/2])<<16 ^ uint64(text[n-1])<<24
	}
	return uint32(h * odd >> 56)
}

// load32 is the first four bytes of b.
func load32[T string | []byte](b T) uint64 {
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24
}

// missing says which part of the key there is no value for.
func (k *keyer) missing() string {
	part := slices.IndexFunc(k.parts, func(v boundary.Value) bool { return v.IsAbsent() || v.IsNull() })
	name := k.p.parts[max(part, 0)].Text()
	text := "there is no key: " + name + " is missing or null"
	if field, ok := strings.CutPrefix(name, "event."); ok && !k.p.ofEvent {
		text += "; the reactor's key reads the fields that are handed over by their bare names: write " + field
	}
	return decode.OneLine(text)
}
