package lease

import (
	"cmp"
	"context"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/supervisor"
)

// lookPause is between two looks, however much there is to hear: of a daemon that hands over a
// thousand graphs each is announced.
const lookPause = 50 * time.Millisecond

// follow looks who is there and what each owns, until ctx is done.
func (k *Keeper) follow(ctx context.Context, _ *supervisor.Node) error {
	ticker := time.NewTicker(k.every())
	defer ticker.Stop()
	pause := time.NewTimer(0)
	defer pause.Stop()
	over := time.NewTimer(0)
	defer over.Stop()
	for {
		k.awaitOver(over)
		select {
		case <-ticker.C:
		case <-over.C:
			signal(k.renewNow) // which takes it away, and tells all
			continue
		case <-k.lookNow:
		case <-ctx.Done():
			return nil
		}
		if err := k.look(ctx); err != nil && ctx.Err() == nil {
			k.log.Warn("who runs which graph cannot be read; it is tried again", "err", err)
		}
		pause.Reset(lookPause)
		select {
		case <-pause.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// overdue is how much later than its end a lease is looked at: a store that is asked a moment too early would have to
// be asked again.
const overdue = 5 * time.Millisecond

// awaitOver has timer fire when the lease of another daemon is over that does not renew it, once. One that does has
// always more left than the time between two looks.
func (k *Keeper) awaitOver(timer *time.Timer) {
	k.mu.Lock()
	at := k.over
	k.over = 0
	k.mu.Unlock()
	timer.Stop()
	if at > 0 {
		timer.Reset(max(at-k.mono(), 0))
	}
}

// look reads the roster and does what follows from it.
func (k *Keeper) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, k.every())
	defer cancel()
	return k.ask(ctx)
}

// ask is look for as long as ctx lasts.
func (k *Keeper) ask(ctx context.Context) error {
	sent := k.mono()
	r, err := k.store.Roster(ctx)
	if err != nil {
		return err
	}
	k.looked(sent, r)
	return nil
}

// looked takes in the answer to the question that was asked then.
func (k *Keeper) looked(sent time.Duration, r checkpoint.Roster) {
	for i := range r.Members {
		if r.Members[i].Expired {
			signal(k.renewNow) // which takes it away
		}
	}
	k.declaredAs(r.Declarations)
	places := k.places()
	k.mu.Lock()
	if k.over = 0; r.Left > 0 && r.Left < k.every() {
		k.over = k.mono() + r.Left + overdue
	}
	back := k.board.see(sent, k.mono(), r, places)
	k.mu.Unlock()
	if len(back) > 0 {
		k.log.Debug("shards are handed over", "shards", len(back), "members_read_in", k.mono()-sent)
	}
	for _, stop := range back {
		stop()
	}
}

// Places looks anew at how graphs are linked.
func (k *Keeper) Places() {
	places := k.places()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.board.link(places)
}

// Run notes that a graph runs here, until end is called, which says whether it was handed back.
// back has it stopped so that another daemon may take it; it must not block.
func (k *Keeper) Run(id checkpoint.ID, back func()) (end func() (handedBack bool)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r := k.board.begin(id, back)
	return func() bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.board.end(id, r)
		return r.called
	}
}

// Elsewhere is the member that owns a graph, if that is another one.
func (k *Keeper) Elsewhere(id checkpoint.ID) (checkpoint.Member, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	owner := k.board.desk.Owner(id)
	m := k.board.desk.Member(owner)
	if k.sole || m == nil || owner == k.board.desk.Self {
		return checkpoint.Member{}, false
	}
	return *m, true
}

// Likely is the member that has a shard, or is to take it where nobody is known to have it, if that is another one.
func (k *Keeper) Likely(id checkpoint.ID) (checkpoint.Member, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	desk := &k.board.desk
	m := desk.Member(cmp.Or(desk.Owner(id), desk.First(id)))
	if k.sole || m == nil || m.ID == desk.Self {
		return checkpoint.Member{}, false
	}
	return *m, true
}

// Others are the other members whose leases are not over.
func (k *Keeper) Others() []checkpoint.Member {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.sole {
		return nil
	}
	return k.board.desk.Others()
}

// Yield gives a graph up whose run under this fence has ended here.
func (k *Keeper) Yield(ctx context.Context, id checkpoint.ID, fence int64) error {
	if err := k.store.Yield(ctx, id, fence); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.board.runs[id] == nil { // else it has begun anew, which the store has not changed
		k.board.giveUp(k.mono(), id)
	}
	return nil
}

// Learn notes that another daemon owns a graph, and has that looked at again: it may have
// been given up since.
func (k *Keeper) Learn(id checkpoint.ID, owned *checkpoint.OwnedError) {
	k.mu.Lock()
	k.board.desk.Owns(id, owned.Member)
	if k.board.names == nil {
		k.board.names = map[string]string{}
	}
	k.board.names[owned.Member] = owned.Owner
	k.mu.Unlock()
	signal(k.lookNow)
}

// HandOver tells the other daemons that this one is about to end, and has its graphs stopped and
// given up, until none runs any more or ctx is done. Where there is nobody to take them it does
// nothing.
func (k *Keeper) HandOver(ctx context.Context) error {
	if k.Sole() {
		return nil
	}
	if err := k.look(ctx); err != nil || k.isAlone() {
		return err
	}
	if err := k.store.Leave(ctx); err != nil {
		return err
	}
	if err := k.look(ctx); err != nil {
		return err
	}
	k.mu.Lock()
	if len(k.board.runs) == 0 || k.board.desk.Nobody() {
		k.mu.Unlock()
		return nil
	}
	idle := make(chan struct{})
	k.board.idle = idle
	k.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Sole says that this process has the store to itself.
func (k *Keeper) Sole() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.sole
}

// isAlone says that no other daemon is there.
func (k *Keeper) isAlone() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for id := range k.board.names {
		if id != k.board.desk.Self {
			return false
		}
	}
	return true
}
