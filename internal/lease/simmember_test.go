package lease

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
)

// simMember is a daemon: a real keeper, and graphs that only count.
type simMember struct {
	w                *world
	k                *Keeper
	id               string
	lease            string // "" for none
	terms            int
	dead, cut        bool
	pausedTo         time.Duration
	renewing, looked bool  // a call is on its way
	dealing          *Term // under which it deals the keys anew; nil where it does not
	asking           bool  // a claim, or the end of one, is on its way
	graphs           map[checkpoint.ID]*simGraph
	shards           []*simGraph // of the graph that is dealt, by number
	reads            simMarks    // how far the reader of its shards is
	stale            bool        // what it may run may be otherwise than when it last looked
}

type simGraph struct {
	state string // "standing", "taking", "running", "stopping"
	term  *Term
	fence int64
	end   func() bool
	ran   time.Duration // when it last did something
	shard simShard
	look  <-chan struct{} // closed when there is another answer than when it last asked
}

// selfStore is all that a keeper asks of a store by itself here.
type selfStore struct {
	Store
	id string
}

func (s selfStore) Self() string { return s.id }

func (w *world) join() *simMember {
	w.born++
	m := &simMember{w: w, id: fmt.Sprintf("m%d", w.born), graphs: map[checkpoint.ID]*simGraph{}}
	m.k = New(Config{Store: selfStore{id: m.id}, Log: slog.New(slog.DiscardHandler), TTL: simTTL, Patience: simPatience,
		Places: w.places, Mono: func() time.Duration { return w.now }})
	for _, id := range w.units {
		m.graphs[id] = &simGraph{state: "standing"}
		if id.Graph == "dealt" {
			m.shards = append(m.shards, m.graphs[id])
		}
		m.k.board.stand(id)
	}
	w.members = append(w.members, m)
	w.log("join %s", m.id)
	m.renew()
	m.tick()
	return m
}

func (m *simMember) connected() bool { return !m.dead && !m.cut }

// then does what a process does when it is not paused.
func (m *simMember) then(d time.Duration, do func()) {
	m.w.after(d, func() {
		switch {
		case m.dead:
		case m.w.now < m.pausedTo:
			m.then(m.pausedTo-m.w.now+time.Duration(m.w.rng.IntN(1000)), do)
		default:
			do()
			m.settle()
		}
	})
}

// call sends something to the store; answer is called with false when there was none in time.
func (m *simMember) call(at func(), answer func(ok bool)) {
	sent := m.w.now
	lost := func() { m.then(max(900*time.Millisecond-(m.w.now-sent), 0), func() { answer(false) }) }
	if m.cut {
		lost()
		return
	}
	m.w.after(m.w.delay(), func() {
		if m.cut {
			lost()
			return
		}
		at() // a process that is dead or paused by now has sent it
		m.w.after(m.w.delay(), func() {
			if m.cut {
				lost()
				return
			}
			m.then(0, func() { answer(true) })
		})
	})
}

func (m *simMember) renew() {
	if m.renewing || m.dead {
		return
	}
	m.renewing = true
	w, sent := m.w, m.w.now
	var err error
	m.call(func() {
		if m.lease == "" {
			m.terms++
			m.lease = fmt.Sprintf("%s/%d", m.id, m.terms)
			w.leases[m.lease] = &simLease{member: m.id}
		}
		l := w.leases[m.lease]
		if l == nil {
			m.lease, err = "", checkpoint.ErrLeaseLost
			return
		}
		l.expires = w.clock() + simTTL
		for _, name := range slices.Sorted(keysOf(w.leases)) {
			if w.leases[name].expires <= w.clock() {
				delete(w.leases, name)
				w.log("dropped %s", name)
				w.notify()
			}
		}
	}, func(ok bool) {
		m.renewing = false
		if !ok {
			err = errAway
		}
		if w.plant == plantAnswer {
			sent = w.now
		}
		m.then(m.k.renewed(sent, checkpoint.Lease{}, err, false), m.renew)
		m.stale = true
	})
}

// tick is the look that comes without news.
func (m *simMember) tick() {
	m.look()
	m.then(m.k.every(), m.tick)
}

func (m *simMember) look() {
	if m.looked || m.dead || m.w.now < m.pausedTo {
		return
	}
	m.looked = true
	sent := m.w.now
	var r checkpoint.Roster
	m.call(func() { r = m.w.roster() }, func(ok bool) {
		m.looked = false
		if !ok {
			return
		}
		m.k.looked(sent, r)
		m.stale = true
	})
}

// settle does what follows from what the keeper knows by now.
func (m *simMember) settle() {
	select {
	case <-m.k.renewNow:
		m.renew()
	default:
	}
	select {
	case <-m.k.lookNow:
		m.look()
	default:
	}
	if t := m.k.current(); t != nil && !t.Holds() {
		m.k.lose(m.k.current(), ErrLost)
		m.stale = true
	}
	if !m.stale {
		return
	}
	m.stale = false
	for _, id := range m.w.units {
		g := m.graphs[id]
		switch {
		case (g.state == "running" || g.state == "stopping") && g.term.Context().Err() != nil:
			m.ended(id)
		case g.state == "standing" && !waits(g.look):
			t, _, look := m.k.see(id)
			if g.look = look; t != nil {
				m.take(id, t)
			}
		}
	}
}

// waits says that a channel there is is not closed.
func waits(look <-chan struct{}) bool {
	if look == nil {
		return false
	}
	select {
	case <-look:
		return false
	default:
		return true
	}
}

// ended is the end of a run.
func (m *simMember) ended(id checkpoint.ID) {
	g := m.graphs[id]
	g.end()
	g.term = nil
	m.stand(id)
}

// stand has a graph wait for its turn.
func (m *simMember) stand(id checkpoint.ID) {
	g := m.graphs[id]
	g.state, g.fence, g.look, m.stale = "standing", 0, nil, true
	m.k.board.stand(id)
}

func (m *simMember) take(id checkpoint.ID, t *Term) {
	w, g, me := m.w, m.graphs[id], m.lease
	g.state = "taking"
	m.k.board.leave(id, false)
	var owned *checkpoint.OwnedError
	lost := false
	early := w.input.pos[id.Shard]
	m.call(func() {
		holder := w.leases[w.owners[id]]
		switch {
		case w.leases[me] == nil:
			lost = true
		case holder != nil && w.owners[id] != me && w.plant != plantGreedy:
			owned = &checkpoint.OwnedError{Owner: w.owners[id], Member: holder.member}
		default:
			w.fences[id]++
			w.owners[id] = me
			g.fence = w.fences[id]
			g.shard = simShard{simBatch: simBatch{pos: w.input.pos[id.Shard]}}
			if w.plant == plantLoad {
				g.shard.pos = early
			}
			w.moves++
			w.log("%s takes %s", me, id)
		}
	}, func(ok bool) {
		switch {
		case !ok || g.fence == 0 && owned == nil && !lost:
		case owned != nil:
			m.k.Learn(id, owned)
		case lost:
			m.k.Lost(t, checkpoint.ErrLeaseLost)
			m.stale = true
		case t.Holds():
			g.state, g.term = "running", t
			m.begin(id)
			g.end = m.k.Run(id, func() { g.state = "stopping"; m.stop(id, t) })
			m.write(id, t, g.fence)
			return
		}
		m.stand(id)
	})
}

// write is the work of a graph: an effect outside, and a commit under its fence.
func (m *simMember) write(id checkpoint.ID, t *Term, fence int64) {
	w, g := m.w, m.graphs[id]
	if g.term != t || g.fence != fence {
		return
	}
	if t.Holds() || w.plant == plantBlind {
		for _, o := range w.members {
			other := o.graphs[id]
			if o != m && !o.dead && other.term != nil && other.term.Holds() && other.fence > 0 &&
				w.now-w.stepped > 2*simTTL {
				w.fault("%s and %s both run %s", m.id, o.id, id)
			}
		}
	}
	if t.Holds() {
		g.ran = w.now
		b := m.batch(id)
		m.call(func() {
			if b != nil && w.plant == plantDrop {
				w.input.pos[id.Shard] = b.pos
			}
			if fence != w.fences[id] && w.plant != plantFence {
				return
			}
			if l := w.leases[w.owners[id]]; fence != w.fences[id] || l != nil && l.member != m.id {
				w.fault("a write of %s to %s counts, which is another's", m.id, id)
			}
			if b != nil {
				w.commit(id.Shard, b)
			}
		}, func(ok bool) { m.committed(id, fence, b, ok) })
	}
	if !w.calm {
		m.then(time.Duration(100+w.rng.IntN(400))*time.Millisecond, func() { m.write(id, t, fence) })
	}
}

// stop is a hand-back: the graph stops, commits and is given up.
func (m *simMember) stop(id checkpoint.ID, t *Term) {
	w, g := m.w, m.graphs[id]
	m.k.board.wake()
	m.stale = true
	yield := func() {
		me, fence := m.lease, g.fence
		m.call(func() {
			if w.owners[id] == me && w.fences[id] == fence {
				w.owners[id] = ""
				w.log("%s gives up %s", me, id)
				w.notify()
			}
		}, func(ok bool) {
			if w.plant == plantEarly {
				return
			}
			if ok {
				m.k.board.giveUp(w.now, id)
			}
			m.stand(id)
		})
	}
	if w.plant == plantEarly {
		yield()
	}
	m.then(time.Duration(10+w.rng.IntN(300))*time.Millisecond, func() {
		if g.term != t {
			return // the term has ended it
		}
		g.end()
		g.state, g.term = "taking", nil // nothing of it runs, and the store is told
		if w.plant == plantEarly {
			m.stand(id)
			return
		}
		yield()
	})
}
