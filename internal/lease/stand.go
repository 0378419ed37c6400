package lease

import (
	"cmp"
	"context"
	"fmt"

	"github.com/graphd/graphd/internal/checkpoint"
)

// Standing is why a graph does not run here.
type Standing struct {
	// Owner is the daemon that runs it, or is to; "" when none is known to. Address is where that one
	// is reached, "" when it has not said.
	Owner, Address string
	// Code and Detail are for the graph's health.
	Code, Detail string
}

// CodeElsewhere is the code of what another member runs, or is about to.
const CodeElsewhere = "owned_elsewhere"

// Stand waits, as standby, until this daemon has a lease, nobody else owns the graph, and it is this
// daemon's to take (M52); show is called, on this goroutine, whenever there is another reason to wait.
// It answers nil when ctx is done.
func (k *Keeper) Stand(ctx context.Context, id checkpoint.ID, show func(Standing)) (t *Term) {
	k.mu.Lock()
	k.board.stand(id)
	k.mu.Unlock()
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.board.leave(id, t == nil)
	}()
	shown := ""
	for ctx.Err() == nil {
		term, s, look := k.see(id)
		if term != nil {
			return term
		}
		if s.Detail != shown {
			show(s)
			shown = s.Detail
		}
		select {
		case <-look:
		case <-ctx.Done():
		}
	}
	return nil
}

// see is the term that a graph may be taken under; while it may not, why, and a channel that is closed
// when that may have changed.
func (k *Keeper) see(id checkpoint.ID) (*Term, Standing, <-chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	b := &k.board
	if k.term == nil || !k.term.Holds() { // a term that is over is taken away soon
		s := Standing{Code: "lease_lost",
			Detail: "the store has not renewed this daemon's lease in time; the graph goes on when it does, here " +
				"or at another daemon"}
		if k.why != nil {
			s.Code, s.Detail = cmp.Or(checkpoint.Ailment(k.why), s.Code), s.Detail+": "+k.why.Error()
		}
		return nil, s, b.waits[id].look
	}
	if k.sole {
		return k.term, Standing{}, nil
	}
	w, _ := b.ask(k.mono(), id)
	if w.may {
		return k.term, Standing{}, nil
	}
	if w.owner != "" {
		s := k.of(w.owner)
		s.Detail = fmt.Sprintf("the graph is run by daemon %s; this one takes over when that one ends or hands it back",
			s.named())
		return nil, s, w.look
	}
	s := k.of(w.first)
	s.Detail = "the graph is to be run by daemon " + s.named() + "; this one takes it when that one does not soon"
	return nil, s, w.look
}

// of is a member as people are told of it. k.mu is held.
func (k *Keeper) of(member string) Standing {
	s := Standing{Code: CodeElsewhere, Owner: cmp.Or(k.board.names[member], member)}
	if m := k.board.desk.Member(member); m != nil {
		s.Address = m.Address
	}
	return s
}

func (s *Standing) named() string {
	if s.Address == "" {
		return s.Owner
	}
	return s.Owner + " at " + s.Address
}
