package lease

import (
	"slices"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/placement"
)

// board is what a keeper knows of the graphs that are to run here or do. The keeper's lock guards it.
type board struct {
	desk  placement.Desk
	names map[string]string // of members, by id: of those too that no roster has shown yet
	waits map[checkpoint.ID]*wait
	runs  map[checkpoint.ID]*run
	seen  time.Duration // when the last roster was asked for
	// yielded is when a graph was given up: a roster that was asked for before is no news of it.
	yielded map[checkpoint.ID]time.Duration
	// idle is closed when nothing runs any more; nil while nobody waits for it.
	idle chan struct{}
}

// wait is a graph that stands by.
type wait struct {
	standing int // who stands by for it
	may      bool
	owner    string
	first    string
	look     chan struct{} // closed when the answer is another, and replaced
}

// run is a graph that runs.
type run struct {
	back   func() // has it stopped
	called bool
}

// wake has all who stand by look again.
func (b *board) wake() {
	for _, w := range b.waits {
		w.wake()
	}
}

func (w *wait) wake() {
	close(w.look)
	w.look = make(chan struct{})
}

// stand enters a graph among those that stand by.
func (b *board) stand(id checkpoint.ID) {
	w := b.waits[id]
	if w == nil {
		if b.waits == nil {
			b.waits = map[checkpoint.ID]*wait{}
		}
		w = &wait{look: make(chan struct{})}
		b.waits[id] = w
	}
	w.standing++
}

// leave takes it out; gone says that it does not run either.
func (b *board) leave(id checkpoint.ID, gone bool) {
	w := b.waits[id]
	if w.standing--; w.standing == 0 {
		delete(b.waits, id)
		if gone {
			b.desk.Forget(id)
		}
	}
}

// ask looks anew at a graph that stands by; changed says that there is another answer.
func (b *board) ask(now time.Duration, id checkpoint.ID) (w *wait, changed bool) {
	w = b.waits[id]
	may, owner, first := b.desk.May(now, id), b.desk.Owner(id), b.desk.First(id)
	changed = may != w.may || owner != w.owner || first != w.first
	w.may, w.owner, w.first = may, owner, first
	return w, changed
}

// see takes a roster in that was asked for at sent, and answers with what is to be handed back.
func (b *board) see(sent, now time.Duration, r checkpoint.Roster, places placement.Places) (back []func()) {
	if sent < b.seen {
		return nil // a newer one was answered before
	}
	b.seen = sent
	for id, at := range b.yielded {
		if at < sent {
			delete(b.yielded, id)
		} else if r.Owners[id] == b.desk.Self {
			delete(r.Owners, id)
		}
	}
	b.names = make(map[string]string, len(r.Members))
	for i := range r.Members {
		b.names[r.Members[i].ID] = r.Members[i].Name
	}
	b.desk.See(r, places)
	running := make([]checkpoint.ID, 0, len(b.runs))
	for id := range b.runs {
		b.desk.Owns(id, b.desk.Self)
		running = append(running, id)
	}
	slices.SortFunc(running, placement.Compare)
	for _, id := range b.desk.Back(now, running) {
		if r := b.runs[id]; !r.called {
			r.called = true
			back = append(back, r.back)
		}
	}
	for id := range b.waits {
		if w, changed := b.ask(now, id); changed {
			w.wake()
		}
	}
	return back
}

// link takes in how graphs are linked.
func (b *board) link(places placement.Places) { b.desk.Link(places) }

// begin notes that a graph runs.
func (b *board) begin(id checkpoint.ID, back func()) *run {
	if b.runs == nil {
		b.runs = map[checkpoint.ID]*run{}
	}
	r := &run{back: back}
	b.runs[id] = r
	b.desk.Owns(id, b.desk.Self)
	delete(b.yielded, id)
	return r
}

// end notes that this run is over: the graph may have begun anew before that.
func (b *board) end(id checkpoint.ID, r *run) {
	if b.runs[id] == r {
		delete(b.runs, id)
	}
	if len(b.runs) == 0 && b.idle != nil {
		close(b.idle)
		b.idle = nil
	}
}

// giveUp notes that the store was told that a graph is nobody's.
func (b *board) giveUp(now time.Duration, id checkpoint.ID) {
	if b.yielded == nil {
		b.yielded = map[checkpoint.ID]time.Duration{}
	}
	b.yielded[id] = now
	b.desk.Owns(id, "")
}
