package spread

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/graphrun/parts"
)

// present waits for no member that is gone: one that hangs where no ping finds it, or does what it was asked behind a
// store that it does not reach, has lost its shards with its lease, and others have them.
type present struct {
	parts.Members
	who Roll
}

// lookPresent is how often it is looked whether a member that is asked is still there.
const lookPresent = 500 * time.Millisecond

// Ask implements [parts.Members].
func (p *present) Ask(ctx context.Context, m *checkpoint.Member, call *parts.Call) (*parts.Answer, bool, error) {
	ctx, gone := context.WithCancel(ctx)
	var look sync.WaitGroup
	look.Go(func() {
		again := time.NewTicker(lookPresent)
		defer again.Stop()
		for p.has(m.ID) {
			select {
			case <-again.C:
			case <-ctx.Done():
				return
			}
		}
		gone()
	})
	defer look.Wait()
	defer gone()
	return p.Members.Ask(ctx, m, call)
}

// has says that a member is on the store, and its lease not over.
func (p *present) has(id string) bool {
	return slices.ContainsFunc(p.who.Others(), func(m checkpoint.Member) bool { return m.ID == id })
}
