package lease

import (
	"cmp"
	"context"

	"github.com/graphd/graphd/internal/checkpoint"
)

// Standing is why a graph does not run here.
type Standing struct {
	Owner string // the daemon that runs it; "" when none is known to
	// Code and Detail are for the graph's health.
	Code, Detail string
}

// Stand waits, as standby, until this daemon has a lease and nobody else owns the graph; show
// is called, on this goroutine, whenever there is another reason to wait. It answers nil when
// ctx is done.
func (k *Keeper) Stand(ctx context.Context, id checkpoint.ID, show func(Standing)) *Term {
	standing, shown := false, ""
	defer func() {
		if standing {
			k.standing.Add(-1)
		}
	}()
	for ctx.Err() == nil {
		t, owner, look, why := k.see(id)
		over := t == nil || !t.Holds() // a term that is over is taken away soon
		if !over && owner == "" {
			return t
		}
		s := Standing{Owner: owner, Code: "owned_elsewhere",
			Detail: "the graph is run by daemon " + owner + "; this one takes over when that one ends"}
		if over {
			s.Code = "lease_lost"
			s.Detail = "the store has not renewed this daemon's lease in time; the graph goes on when it does, here " +
				"or at another daemon"
			if why != nil {
				s.Code, s.Detail = cmp.Or(checkpoint.Ailment(why), s.Code), s.Detail+": "+why.Error()
			}
		}
		if s.Detail != shown {
			show(s)
			shown = s.Detail
		}
		if !standing {
			standing = true
			k.standing.Add(1)
		}
		select {
		case <-look:
		case <-ctx.Done():
		}
	}
	return nil
}
