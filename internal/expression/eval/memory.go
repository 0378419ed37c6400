package eval

import (
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression/rules"
)

// Memory is what one call of a function with memory (ema, lag, dedupe …) keeps from
// evaluation to evaluation. A memory has one owner. Steps since the last Conclude can be
// taken back as a whole, so that an epoch that fails leaves no trace.
type Memory interface {
	// Conclude keeps what the evaluation since the last call did, or takes it back.
	Conclude(keep bool)
	// AppendBinary appends the concluded memory's form in a checkpoint.
	AppendBinary(dst []byte) []byte
	// Restore reads that form into a new memory; after an error the memory is unchanged.
	Restore(data []byte) error
	// Size is about how many bytes the memory takes.
	Size() int
}

// Memories is how many memories an evaluation needs in [Env.Memories].
func (p *Program) Memories() int { return len(p.memories) }

// Remembers is the name of the first function with memory; "" when there is none.
func (p *Program) Remembers() string {
	if len(p.memories) == 0 {
		return ""
	}
	return p.memories[0].Name
}

// NewMemories appends the program's memories, new, in the order an evaluation wants them.
func (p *Program) NewMemories(dst []Memory) []Memory {
	for _, f := range p.memories {
		dst = append(dst, f.Remember())
	}
	return dst
}

// remember compiles a call of a function with memory: the memory is found by the place of
// the call in the expression. Such a call rests on what was before, so it is never folded.
func (c *compiler) remember(f *Function, at Site, slots int, vals []code) code {
	c.outside = true
	place := len(c.memories)
	c.memories = append(c.memories, f)
	return valueCode(func(e *Env) boundary.Value {
		vals, ok := f.arguments(e, at, slots, 0, vals, false)
		if !ok {
			return boundary.Value{}
		}
		if place >= len(e.Memories) {
			return e.Fail(at, rules.CodeInvalidArgument, "%s has no memory here", f.Name)
		}
		return f.Step(e, at, e.Memories[place], vals)
	})
}
