package reactor

import (
	"strings"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor/form"
)

// parts is what the store holds of a fold state that is kept in parts (windows): a seal
// writes those that have changed and deletes those that are gone (M28).
type parts struct {
	// sealed are the parts as of the last seal that succeeded, by name, with what tells
	// whether they have changed; nil for those that a restart found.
	sealed map[string]any
	// base is, of a state that knows what has changed in it, the one as of that seal, in the place of sealed.
	base accumulator.FoldState
	// restored are the parts as loaded, until a mark brings a newer state.
	restored map[string][]byte
}

// sealedPart is a part to write.
type sealedPart struct {
	input int
	accumulator.Part
}

// sealParts takes the changed parts of input i's state into s, and drops what is gone.
func (c *Core) sealParts(s *Seal, i int) map[string]any {
	acc := &c.accs[i]
	if acc.mark.State == nil && acc.parts.restored != nil {
		return acc.parts.sealed // they stay as they are until the accumulator has moved
	}
	if state, ok := acc.mark.State.(accumulator.TrackedState); ok {
		c.sealChanged(s, i, state)
		return nil
	}
	now := make(map[string]any)
	if state, ok := acc.mark.State.(accumulator.PartedState); ok {
		for part := range state.Parts() {
			now[part.Name] = part.Same
			if was, ok := acc.parts.sealed[part.Name]; !ok || was != part.Same {
				s.parts = append(s.parts, sealedPart{i, part})
			}
		}
	}
	for name := range acc.parts.sealed {
		if _, ok := now[name]; !ok {
			s.commit.Cells = append(s.commit.Cells, checkpoint.Cell{Kind: form.CellPart, Name: c.partName(i, name)})
		}
	}
	return now
}

func (c *Core) partName(i int, part string) string { return c.cfg.Inputs[i].Name + "/" + part }

// restorePart loads a part; that of an input which is gone is deleted by the next seal.
func (c *Core) restorePart(cell *checkpoint.Cell) {
	name, part, _ := strings.Cut(cell.Name, "/")
	i := c.input(name)
	if i < 0 {
		c.stale(form.CellPart, cell.Name)
		return
	}
	p := &c.accs[i].parts
	if p.sealed == nil {
		p.sealed, p.restored = make(map[string]any), make(map[string][]byte)
	}
	p.sealed[part], p.restored[part] = nil, cell.Data
}

// restoredState is the state of input i as loaded, in one piece.
func (c *Core) restoredState(i int) []byte {
	acc := &c.accs[i]
	if len(acc.restored) == 0 || len(acc.parts.restored) == 0 {
		return acc.restored
	}
	return accumulator.JoinParts(acc.restored, acc.parts.restored)
}
