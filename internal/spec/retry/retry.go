// Package retry is what a declaration says of trying again what has failed: begin with [Policy].
package retry

import (
	"math"
	"time"

	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
)

// Policy says how what failed is tried again: after Base, doubling up to Max, with full jitter, so that each pause is
// a random part of that.
type Policy struct {
	Attempts int           // tries after the first; 0: without end
	Base     time.Duration // default 50ms
	Max      time.Duration // default 10s
}

// Default is what is done where nothing else is said.
func Default() Policy { return Policy{Base: 50 * time.Millisecond, Max: 10 * time.Second} }

// Fields are how a policy is read.
func Fields() []decode.Field[Policy] {
	return []decode.Field[Policy]{
		{Name: "attempts", Alone: true, Also: []string{"retries", "max_attempts", "count"},
			Read: func(d *decode.Decoder, v decode.Value, p *Policy) { d.Count(v, 1, math.MaxInt32, &p.Attempts) }},
		{Name: "base", Read: func(d *decode.Decoder, v decode.Value, p *Policy) { d.Duration(v, 1, &p.Base) }},
		{Name: "max", Read: func(d *decode.Decoder, v decode.Value, p *Policy) { d.Duration(v, 1, &p.Max) }},
	}
}

// Read reads a policy over what it holds.
func Read(d *decode.Decoder, v decode.Value, p *Policy) {
	got, ok := decode.Object(d, v, "retry", Fields(), p)
	if base := got["base"]; ok && p.Max < p.Base {
		if !base.Given() {
			base = got["max"]
		}
		d.Report(base.Here(), decode.CodeConflict, "",
			"the first pause, %s, is longer than the longest, %s; correct base or max", p.Base, p.Max)
	}
}

// Canonical writes what the policy means.
func (p Policy) Canonical(t *meaning.Tree) {
	b := t.Branch("retry")
	b.Number("attempts", int64(p.Attempts))
	b.Span("base", p.Base)
	b.Span("max", p.Max)
}
