package graphrun

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/graphrun/told"
)

// survived keeps in mind that a run has ended and the process lives: the crash ledger is for
// what takes the process down (M43), the rest is the supervisor's to count (M36). A reactor
// that died of itself stays in the ledger.
func (g *Graph) survived(fence int64, err error) {
	if caught := (*accumulator.PanicError)(nil); errors.As(err, &caught) {
		return
	}
	g.outlived = append(g.outlived, fence)
}

// acquire takes the graph from the store. A taking whose answer was lost counts in the crash ledger
// as an owner that died: lost are the fences of those before this one, which nothing ran under.
func (g *Graph) acquire(ctx context.Context) (head checkpoint.Head, lost []int64, err error) {
	head, err = g.host.Store.Acquire(ctx, g.ID())
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil {
		g.unanswered++
		return head, nil, err
	}
	for fence := max(head.Fence-min(head.Own, g.unanswered), g.taken+1); fence < head.Fence; fence++ {
		lost = append(lost, fence)
	}
	g.taken, g.unanswered = head.Fence, 0
	return head, lost, nil
}

// absolve takes this process's earlier runs out of the ledger: those directly before this one,
// and the last one to note an epoch.
func (g *Graph) absolve(ctx context.Context, head *checkpoint.Head) error {
	row := len(g.outlived)
	for before := head.Prior; row > 0 && g.outlived[row-1] == before; row-- {
		before--
	}
	for i, fence := range g.outlived {
		if i < row && fence != head.AttemptedBy {
			continue
		}
		if err := g.host.Store.Absolve(ctx, g.ID(), head.Fence, fence); err != nil {
			g.outlived = g.outlived[i:]
			return err
		}
		head.UncleanStarts = max(head.UncleanStarts-1, 1)
		if fence == head.AttemptedBy {
			head.Attempts--
		}
	}
	g.outlived = nil
	return nil
}

// quarantined refuses a graph whose next epoch has taken its owners down too often.
func quarantined(head *checkpoint.Head) error {
	if head.Attempts < MaxAttempts {
		return nil
	}
	return fmt.Errorf("%w: epoch %d was tried %d times after a crash, and each time the process or the reactor died "+
		"before it was done",
		told.ErrCrashLoop, head.Epoch+1, head.Attempts)
}

// maxUnrecorded bounds the recovery events that wait for the store: some per graph and outage.
const maxUnrecorded = 64

// recordRecovery keeps an event, and those before it that the store has not taken (M37).
func (g *Graph) recordRecovery(ev checkpoint.RecoveryEvent) {
	g.unrecorded.Lock()
	defer g.unrecorded.Unlock()
	waiting := &g.unrecorded.events
	if len(*waiting) == maxUnrecorded {
		g.host.Log.Error("a recovery event was dropped: too many wait for the store", "graph", g.ref.Name, "kind",
			(*waiting)[0].Kind)
		*waiting = (*waiting)[1:]
	}
	*waiting = append(*waiting, ev)
	g.writeRecovery()
}

// WriteRecovery writes the recovery events that wait for the store, if any.
func (g *Graph) WriteRecovery() {
	g.unrecorded.Lock()
	defer g.unrecorded.Unlock()
	g.writeRecovery()
}

// writeRecovery writes what waits, in its order, as far as the store takes it.
func (g *Graph) writeRecovery() {
	waiting := &g.unrecorded.events
	for len(*waiting) > 0 {
		// An event is worth keeping even when the process is stopping.
		ctx, cancel := g.briefly(5 * time.Second)
		err := g.host.Store.AddRecoveryEvent(ctx, g.ID(), (*waiting)[0])
		cancel()
		if err != nil {
			g.host.Log.Warn("a recovery event waits for the store", "graph", g.ref.Name, "kind", (*waiting)[0].Kind,
				"waiting", len(*waiting), "err", err)
			return
		}
		*waiting = (*waiting)[1:]
	}
	*waiting = nil
}
