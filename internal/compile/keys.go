package compile

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

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
	text := u.keyText(a)
	words := word.FindAllString(text, -1)
	if slices.Contains(words, "vars") {
		slices.Sort(words)
		for _, name := range slices.Compact(words) {
			if v := u.Vars.Field(name); !v.IsAbsent() {
				text += fmt.Sprintf(" %s=%s", name, v.AppendJSON(nil))
			}
		}
	}
	return digest(text)
}

var word = regexp.MustCompile(`[\pL_][\pL\pN_]*`)

func (u *Unit) keyText(a *spec.Accumulator) (text string) {
	keys := u.Spec.JoinedOn(a)
	if keys == nil && len(a.Keys) > 0 { // they read the event
		return texts(a.Keys)
	}
	if keys == nil {
		keys = u.Spec.Reactor.Keys
	}
	if len(keys) == 0 { // it is that of its group
		return u.fieldText(a, "key")
	}
	for i, e := range keys {
		if i > 0 {
			text += ", "
		}
		text += u.partText(a, strings.TrimSpace(e.Text))
	}
	return text
}

// partText is an expression over the fields of what an accumulator hands over, with what makes them.
func (u *Unit) partText(a *spec.Accumulator, text string) string {
	var fields []string
	for field, call := range expression.Words(text) {
		if !call && !slices.Contains(fields, field) {
			fields = append(fields, field)
		}
	}
	if len(fields) == 1 && fields[0] == text {
		return u.fieldText(a, text)
	}
	whole := counted(text)
	for _, field := range fields {
		whole += fmt.Sprintf(" %s: %s", field, counted(u.fieldText(a, field)))
	}
	return whole
}

// fieldText is what makes a field of what an accumulator hands over.
func (u *Unit) fieldText(a *spec.Accumulator, field string) (text string) {
	p := u.program(a.Name)
	switch {
	case p.Passes():
		return u.emitText(a, field)
	case !slices.Contains(p.GroupFields(), field): // it is made of many events
		if a.Joins() {
			return u.identity(a)
		}
		t := meaning.New(nil)
		a.Config.Canonical(t)
		return fmt.Sprintf("%s %s/%s/%s/%s", t.Close().Hash(), field, counted(texts(exprs(a.Emit))),
			counted(a.EmitExpr.Text), u.Vars.AppendJSON(nil)) // a hash does not say which vars it reads
	case a.Joins():
		for _, i := range u.sides(a) {
			side := &u.Spec.Accumulators[i]
			if field == "key" {
				text += u.keyText(side) + "; "
			} else {
				text += u.fieldText(side, field) + "; "
			}
		}
		return text
	case field == "key":
		return texts(a.Folding().Keys)
	}
	return "event." + field
}

// emitText is what a field of an event is made of by emit. What comes to an input that another has of its own was made
// by the emit of that.
func (u *Unit) emitText(a *spec.Accumulator, field string) string {
	if owner := named(u.Spec, a.Owner); owner >= 0 {
		a = &u.Spec.Accumulators[owner]
	}
	for _, f := range a.Emit {
		if f.Name == field {
			return strings.TrimSpace(f.Expr.Text)
		}
	}
	switch of := strings.TrimSpace(a.EmitExpr.Text); {
	case a.Emit != nil:
		return ""
	case of == "", of == "event":
		return "event." + field
	default:
		return "(" + of + ")." + field
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
