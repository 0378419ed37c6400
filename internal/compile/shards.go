package compile

import (
	"fmt"

	"github.com/graphd/graphd/internal/spec"
)

// checkShards checks that every input can be dealt where the keys are dealt to shards: that the key of what it
// hands over follows from one event (M49).
func (u *Unit) checkShards() (ds spec.Diagnostics) {
	if u.Spec.Reactor.Shards <= 1 {
		return nil
	}
	for i, p := range u.Programs {
		a := &u.Spec.Accumulators[i]
		if why := p.Undealt(); why != "" {
			ds = append(ds, spec.Diagnostic{File: u.Spec.File, Line: a.Pos.Line, Column: a.Pos.Column,
				Path: a.Pos.Path, Code: spec.CodeCannotShard,
				Text: a.Name + " cannot be dealt to shards: " + why + "; or leave shards out"})
		}
	}
	return ds
}

// ShardsBy says in words how the keys are dealt, and what runs the shards; "" where there is one.
func (u *Unit) ShardsBy() string {
	if u.Spec.Reactor.Shards <= 1 {
		return ""
	}
	return fmt.Sprintf("%d shards by key; for now one runs them all, live and in graphd run, with the same results",
		u.Spec.Reactor.Shards)
}
