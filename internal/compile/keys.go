package compile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/meaning"
)

// By what a boundary has its key is asked twice: what was kept for keys is theirs only while that stays what it was
// (M13, M33), and shards that have read unevenly can go on only then (M54). There is one answer to both, [Unit.keyOf].

// keys is what the reactor needs to know of the graph's keys; nil when it has none.
func (u *Unit) keys() *reactor.Keys {
	g := u.Spec
	if !g.Keyed() {
		return nil
	}
	k := &reactor.Keys{
		TTL: g.Reactor.TTL, Max: g.Reactor.MaxKeys, Drop: g.Reactor.OnEvict == "drop",
		MaxWaiting: g.Reactor.MaxWaiting, MaxWaitingBytes: g.Reactor.MaxWaitingBytes,
		Times: make([]bool, g.KeyParts()),
	}
	var meaning strings.Builder // stores hold it: it stays what it is, and says less than keyOf
	for _, e := range g.Reactor.Keys {
		fmt.Fprintf(&meaning, "%q ", e.Text)
	}
	first := true
	for i, p := range u.Programs {
		a := &g.Accumulators[i]
		if a.Global || a.JoinedBy != "" {
			continue
		}
		for _, e := range slices.Concat(a.Keys, a.Folding().Keys) {
			fmt.Fprintf(&meaning, "%s: %q ", a.Name, e.Text)
		}
		// A part is a time when every input makes it one.
		for part, is := range p.KeyTimes() {
			k.Times[part] = is && (first || k.Times[part])
		}
		first = false
	}
	k.Identity = digest(meaning.String())
	return k
}

// keyOf names what gives what an accumulator hands over its key, as far as that is written in the declaration: over its
// events as they came, so with what makes the fields that the key reads, and with the vars in all of it. That of a side
// of a join is what it is joined on; "" is of what has no key.
func (u *Unit) keyOf(a *spec.Accumulator) string {
	if !u.Spec.Keyed() || a.Global {
		return ""
	}
	k := keying{Unit: u}
	text := k.key(a)
	slices.Sort(k.vars)
	for _, name := range slices.Compact(k.vars) {
		if v := u.Vars.Field(name); !v.IsAbsent() {
			text += fmt.Sprintf(" %s=%s", name, v.AppendJSON(nil))
		}
	}
	return digest(text)
}

// keying writes down what gives a key. Stores hold what comes of it.
type keying struct {
	*Unit
	vars []string // that are read by what was written
}

// text is an expression that reads the event, as it was written; "" of one that could not be read, which has been told.
func (k *keying) text(x *expression.Program) string {
	if x == nil {
		return ""
	}
	for _, r := range x.Reads() {
		switch {
		case r.Name != fold.NameVars:
		case len(r.Path) > 0:
			k.vars = append(k.vars, r.Path[0])
		default:
			for _, v := range k.Spec.Vars {
				k.vars = append(k.vars, v.Name)
			}
		}
	}
	return strings.TrimSpace(x.Text())
}

func (k *keying) texts(all []*expression.Program) string {
	list := make([]string, len(all))
	for i, x := range all {
		list[i] = k.text(x)
	}
	return strings.Join(list, ", ")
}

func (k *keying) key(a *spec.Accumulator) string {
	parts, reads := k.program(a.Name).Key()
	if len(parts) == 0 { // it is that of its group
		return k.field(a, "key")
	}
	if len(a.Keys) > 0 { // they read the event
		return k.texts(parts)
	}
	list := make([]string, len(parts))
	for i, x := range parts {
		list[i] = k.part(a, strings.TrimSpace(x.Text()), reads[i])
	}
	return strings.Join(list, ", ")
}

// part is an expression over the fields of what an accumulator hands over, with what makes them.
func (k *keying) part(a *spec.Accumulator, text string, fields []string) string {
	if len(fields) == 1 && fields[0] == text {
		return k.field(a, text)
	}
	whole := counted(text)
	for _, field := range fields {
		whole += fmt.Sprintf(" %s: %s", field, counted(k.field(a, field)))
	}
	return whole
}

// field is what makes a field of what an accumulator hands over.
func (k *keying) field(a *spec.Accumulator, field string) (text string) {
	p := k.program(a.Name)
	switch {
	case p.Passes():
		return k.emit(a, field)
	case !slices.Contains(p.GroupFields(), field): // it is made of many events
		if a.Joins() {
			k.joined(a)
			return k.identity(a)
		}
		t := meaning.New(nil)
		a.Config.Canonical(t)
		return fmt.Sprintf("%s %s/%s/%s/%s", t.Close().Hash(), field, counted(texts(exprs(a.Emit))),
			counted(a.EmitExpr.Text), k.Vars.AppendJSON(nil)) // a hash does not say which vars it reads
	case a.Joins():
		for _, i := range k.sides(a) {
			side := &k.Spec.Accumulators[i]
			if field == "key" {
				text += k.key(side) + "; "
			} else {
				text += k.field(side, field) + "; "
			}
		}
		return text
	case field == "key":
		return k.texts(p.Group())
	}
	return "event." + field
}

// joined finds the vars in what the identity of a join tells of its sides.
func (k *keying) joined(a *spec.Accumulator) {
	for _, i := range k.sides(a) {
		side := &k.Spec.Accumulators[i]
		if side.Joins() {
			k.joined(side)
			continue
		}
		p := k.program(side.Name)
		k.texts(p.Emit())
		if of := p.Time(); of != nil {
			k.text(of)
		}
	}
}

// emit is what a field of an event is made of by emit. What comes to an input that another has of its own was made by
// the emit of that.
func (k *keying) emit(a *spec.Accumulator, field string) string {
	if owner := named(k.Spec, a.Owner); owner >= 0 {
		a = &k.Spec.Accumulators[owner]
	}
	emit := k.program(a.Name).Emit()
	for i, f := range a.Emit {
		if f.Name == field {
			return k.text(emit[i])
		}
	}
	switch of := strings.TrimSpace(a.EmitExpr.Text); {
	case a.Emit != nil:
		return ""
	case of == "", of == "event":
		return "event." + field
	default:
		return "(" + k.text(emit[0]) + ")." + field
	}
}

// counted sets a text apart from what follows it, with its words as they are: an escape such as \n would run into one.
func counted(text string) string { return fmt.Sprintf("%d:%s", len(text), text) }

func exprs(fields []spec.Field) (all []spec.Expr) {
	for _, f := range fields {
		all = append(all, spec.Expr{Text: f.Name + ": " + f.Expr.Text})
	}
	return all
}

func texts(all []spec.Expr) string {
	list := make([]string, len(all))
	for i, e := range all {
		list[i] = strings.TrimSpace(e.Text)
	}
	return strings.Join(list, ", ")
}
