package engine

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/engine/heap"
	"github.com/graphd/graphd/internal/watch"
)

// hasRoom refuses events of a graph that has grown while there is little left, and of every graph when that is used up
// as well: who has not grown is not what memory is short for.
func (e *Engine) hasRoom(g api.Ref) error {
	if used, limit, _ := e.memory.Use(); used < limit/100*heap.Full && e.cfg.Quotas.Meter(g.Tenant, g.Name).Calm() {
		return nil
	}
	return e.hasMemory()
}

// hasMemory refuses what would take more memory while there is little left.
func (e *Engine) hasMemory() error {
	used, limit, near := e.memory.Use()
	if !near {
		return nil
	}
	return e.refusals.Count(&api.Error{Status: http.StatusServiceUnavailable, Code: "memory_full",
		Detail: fmt.Sprintf("the daemon holds %d MiB and may hold %d; try again, or give it more memory", used>>20,
			limit>>20)})
}

// Refusals is how often a limit has refused something, by the code of the refusal.
func (e *Engine) Refusals() map[string]int64 { return e.refusals.All() }

// Limits is every bound of the engine with its use.
func (e *Engine) Limits(context.Context) []api.Limit {
	e.mu.RLock()
	graphs := int64(len(e.graphs))
	e.mu.RUnlock()
	epochs, maxEpochs, _ := e.epochs.Use()
	used, most, _ := e.memory.Use()
	limits := []api.Limit{
		{Name: "graphs", Limit: int64(e.cfg.MaxGraphs), Used: &graphs, Unit: "graphs"},
		{Name: "event_bytes", Limit: int64(e.cfg.MaxEventBytes), Unit: "bytes"},
		{Name: "mailbox_events", Limit: int64(e.cfg.MailboxEvents), Used: new(e.mailboxDepth()),
			Unit: "events per accumulator; used: the fullest"},
		{Name: "mailbox_bytes", Limit: e.mailboxBytes(), Unit: "bytes per accumulator"},
		{Name: "concurrent_epochs", Limit: maxEpochs, Used: &epochs, Unit: "graphs firing at once"},
		{
			Name: "memory", Limit: most, Used: &used, Unit: fmt.Sprintf("bytes; pushes to what has grown are refused "+
				"from %d %% on, others from %d %%", heap.Near, heap.Full),
		},
		{Name: "watcher_frames", Limit: watch.MaxFrames, Unit: "frames per watcher"},
		{Name: "shutdown_timeout", Limit: int64(e.cfg.ShutdownTimeout / time.Second), Unit: "seconds"},
	}
	if e.cfg.Outbound != nil {
		used, most, _ := e.cfg.Outbound.Use()
		limits = append(limits, api.Limit{Name: "outbound_calls", Limit: most, Used: &used, Unit: "calls at once"})
	}
	return limits
}

// mailboxBytes is how many bytes of pushed events may wait for an accumulator.
func (e *Engine) mailboxBytes() int64 { return int64(e.cfg.MaxEventBytes) * 4 }

// mailboxDepth is how many events wait in the fullest mailbox.
func (e *Engine) mailboxDepth() (fullest int64) {
	for _, m := range e.all() {
		fullest = max(fullest, int64(m.Waiting()))
	}
	return fullest
}
