package accumulator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/expression"
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
		names = append(names, k.fields[r.Name])
	}
	return names
}
