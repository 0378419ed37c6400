package differential

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// ownFold is what is drawn of a fold of the user's own.
type ownFold struct {
	keys    int    // that may have a state; 0: no bound that is ever met
	when    bool   // handed over with every size-th event of a key
	result  string // "", "mapping" or "whole"
	forgets bool   // the state is forgotten when x is 1

	left int   // keys that have a state in the end; filled by instants
	gone int64 // keys that were evicted
}

// ownFold is the fold as a user would write it. It counts, keeps the newest notes, and fails for
// events whose x is 3.
func (p *foldPlan) ownFold() string {
	var b strings.Builder
	write := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	steps := [][2]string{
		{"n", "state.n + (event.x == 3 ? int(event.note) : 1)"},
		{"notes", fmt.Sprintf("concat(state.notes, [event.note])[-%d:]", p.size)},
		{"total", "state.total + event.x"},
	}
	write("    fold:\n      init: { n: 0, notes: '[]', total: 0 }\n")
	if p.own.forgets {
		var parts []string
		for _, s := range steps {
			parts = append(parts, s[0]+": "+s[1])
		}
		write("      step: 'event.x == 1 ? nil : {%s}'\n", strings.Join(parts, ", "))
	} else {
		write("      step:\n")
		for _, s := range steps {
			write("        %s: '%s'\n", s[0], s[1])
		}
	}
	if p.own.when {
		write("      emit_when: (state?.n ?? 0) %% %d == 0\n", p.size)
	}
	switch p.own.result {
	case "mapping":
		write("      result: { n: 'state?.n ?? 0', note: event.note }\n")
	case "whole":
		write("      result: '[state?.total, event.note]'\n")
	}
	if p.keyed {
		write("      key: event.k\n")
	}
	if p.own.keys > 0 {
		write("      max_keys: %d\n", p.own.keys)
	}
	return b.String()
}

// ownFields says that what is handed over has the fields of the state or the result.
func (p *foldPlan) ownFields() bool {
	return p.own.result == "mapping" || p.own.result == "" && !p.own.forgets
}

// ownPart reads a part of what is handed over.
func (p *foldPlan) ownPart() string {
	switch {
	case p.ownFields():
		return "w.n"
	case p.keyed && p.own.result == "whole":
		return "w.value[1]"
	case p.keyed:
		return "[w.value?.n]"
	case p.own.result == "whole":
		return "w[1]"
	}
	return "[w?.n]"
}

// ownState is the state of a key, nil fields being none.
type ownState struct {
	n, total int
	notes    []string
	none     bool
	open     int
}

// ownStates folds events, and keeps the keys in the order in which they were used.
type ownStates struct {
	p      *foldPlan
	states map[string]*ownState
	order  []string
}

// add folds an event. dead is how many events become dead letters.
func (o *ownStates) add(e foldEvent) (h handed, emits bool, dead int) {
	p, key := o.p, ""
	if p.keyed {
		key = e.k
	}
	forgets := p.own.forgets && e.x == 1
	if e.x == 3 && !forgets {
		return h, false, 1
	}
	s := o.states[key]
	if s == nil {
		s = &ownState{}
	}
	if forgets {
		s.n, s.total, s.notes, s.none = 0, 0, nil, true
	} else {
		s.n, s.total, s.none = s.n+1, s.total+e.x, false
		s.notes = append(slices.Clone(s.notes), e.note)
		s.notes = s.notes[max(0, len(s.notes)-p.size):]
	}
	s.open++
	if emits = !p.own.when || s.n%p.size == 0; emits {
		s.open = 0
		h = o.handed(s, e)
	}
	o.order = slices.DeleteFunc(o.order, func(k string) bool { return k == key })
	if s.none && s.open == 0 {
		delete(o.states, key)
		return h, emits, 0
	}
	o.states[key], o.order = s, append(o.order, key)
	if p.own.keys > 0 && len(o.order) > p.own.keys {
		dead = o.states[o.order[0]].open
		p.evicted += dead
		p.own.gone++
		delete(o.states, o.order[0])
		o.order = o.order[1:]
	}
	return h, emits, dead
}

// handed is what a state is handed over as.
func (o *ownStates) handed(s *ownState, e foldEvent) handed {
	p := o.p
	var value any = map[string]any{"n": s.n, "notes": s.notes, "total": s.total}
	total := any(s.total)
	if s.none {
		value, total = nil, nil
	}
	part := text(s.n)
	if !p.ownFields() {
		part = json.RawMessage(fmt.Sprintf("[%d]", s.n))
		if s.none {
			part = json.RawMessage("[null]")
		}
	}
	switch p.own.result {
	case "mapping":
		value = map[string]any{"n": s.n, "note": e.note}
	case "whole":
		value, part = []any{total, e.note}, text(e.note)
	}
	if !p.keyed {
		return handed{text(value), part}
	}
	whole := map[string]any{"key": e.k, "k": e.k}
	if fields, ok := value.(map[string]any); ok && p.ownFields() {
		for name, v := range fields {
			whole[name] = v
		}
	} else {
		whole["value"] = value
	}
	return handed{text(whole), part}
}
