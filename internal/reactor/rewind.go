package reactor

import (
	"encoding/json"
	"fmt"

	"github.com/graphd/graphd/internal/boundary"
)

// Rewind makes input i's accumulator go on from other positions when it is next started, nil
// for the beginning; what it has folded stays.
func (c *Core) Rewind(i int, to []boundary.Position) {
	c.accs[i].mark.Positions = to
	c.changes.accs[i] = true
}

// Blank is the record of a graph that has no state any more, made of its last one: watchers'
// sequence and the engine's time go on, and a pause stays. What cannot be read is left out.
func Blank(last []byte) []byte {
	var m meta
	if len(last) > 0 && json.Unmarshal(last, &m) != nil {
		m = meta{}
	}
	data, err := json.Marshal(meta{
		Format: metaFormat, Plan: m.Plan, Epoch: m.Epoch, Frames: m.Frames, Now: m.Now,
		Paused: m.Paused, PausedBy: m.PausedBy, PausedAt: m.PausedAt,
	})
	if err != nil {
		panic(fmt.Sprintf("reactor: a struct of plain fields cannot be encoded: %v", err))
	}
	return data
}
