package virtual

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/reactor/drive"
)

// Checkpoint is a whole graph under virtual time, as it was at rest between two instants: the
// core with what waits in it, the accumulators with their open panes and batches, timers,
// positions and books. It is made of what a daemon writes to its store, and immutable: any
// number of graphs can be restored from it.
type Checkpoint struct {
	Head  checkpoint.Head
	Cells []checkpoint.Cell
	// Now is the virtual time.
	Now time.Time
	// Letters are the dead letters that had not been dropped.
	Letters []checkpoint.DeadLetter
}

// Seal runs the graph to rest and takes a checkpoint of it. The graph goes on as if nobody
// had asked. What is left of a Step is not in it, as it is in no checkpoint (M28).
func (g *Graph) Seal() (*Checkpoint, error) {
	if err := g.Quiesce(); err != nil {
		return nil, err
	}
	for i, a := range g.accs {
		if a == nil {
			continue
		}
		// Marks have no state as long as nobody asks for it; this one has.
		a.Lasting()
		g.admit(i)
		a.Ephemeral()
	}
	seal := g.core.Seal(g.Now())
	c := seal.Commit()
	g.core.Sealed(seal, nil)
	g.merge(c.Cells)
	cp := &Checkpoint{
		Head: checkpoint.Head{
			Instance: g.core.Config().Instance.String(), Incarnation: g.core.Config().Incarnation,
			Fence: c.Fence, Epoch: c.Epoch, At: c.At, Meta: c.Meta,
		},
		Cells: make([]checkpoint.Cell, 0, len(g.cells)), Now: g.Now(),
		Letters: append(slices.Clone(g.letters), c.DeadLetters...),
	}
	g.letters = append(g.letters, c.DeadLetters...)
	for _, cell := range g.cells {
		cp.Cells = append(cp.Cells, cell)
	}
	slices.SortFunc(cp.Cells, func(a, b checkpoint.Cell) int { return strings.Compare(cellID(&a), cellID(&b)) })
	return cp, nil
}

// merge applies the changes of a seal to the cells of those before it, as a store does.
func (g *Graph) merge(changes []checkpoint.Cell) {
	if g.cells == nil {
		g.cells = make(map[string]checkpoint.Cell, len(changes))
	}
	for _, cell := range changes {
		if cell.Data == nil {
			delete(g.cells, cellID(&cell))
		} else {
			g.cells[cellID(&cell)] = cell
		}
	}
}

func cellID(c *checkpoint.Cell) string { return c.Kind + "\x00" + c.Name + "\x00" + c.Key }

// Restore makes a graph that goes on from a checkpoint of the same declaration as the one
// that was sealed would have: with the same outputs, to the byte. Release and Interrupt are the
// new graph's own. What a changed declaration has no place for is dropped, as at a start
// of the daemon, and named in dropped (M33).
func Restore(u *compile.Unit, cp *Checkpoint, mono func() int64) (g *Graph, dropped []string, err error) {
	g = build(u, mono)
	if dropped, err = g.core.Restore(cp.Head, cp.Cells); err != nil {
		return nil, nil, fmt.Errorf("restore graph %s: %w", u.Spec.Name, err)
	}
	for i, a := range g.accs {
		if a == nil {
			continue
		}
		mark, state := g.core.ResumePoint(i)
		if err := a.RestoreMark(mark, state); err != nil {
			return nil, nil, err
		}
	}
	g.merge(cp.Cells)
	g.letters = slices.Clone(cp.Letters)
	g.begin(cp.Now)
	for i := range g.lent {
		// What waits was not made by the new accumulator; its memory is free when all has gone.
		g.lent[i] = g.core.Queued(i)
	}
	return g, dropped, nil
}

// begin starts the core with all accumulators healthy.
func (g *Graph) begin(now time.Time) {
	g.core.Start(now)
	g.drive = drive.New(g.core, nil, nil, host{g}, now)
	g.drive.Eager = g.lent == nil
	for i, acc := range g.accs {
		g.core.SetHealth(now, i, accumulator.SocketOnly, "", "")
		g.drive.Enter(i, acc)
	}
}
