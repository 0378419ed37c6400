package lease

import (
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
)

const (
	plantOutlives plant = "a claim outlives the lease that it was made under"
	plantTwo      plant = "a claim is granted that another has"
	plantGoesOn   plant = "who has a claim goes on with it when its lease is over"
	plantUnheard  plant = "the others are not told of a claim"
	plantUnknown  plant = "a claim whose answer was lost is not given up"
	plantGone     plant = "a claim is not given up any more when the lease must be over"
)

// dealt is the graph whose keys are dealt anew.
var dealt = checkpoint.ID{Tenant: "t", Graph: "dealt"}

// dealWait is how long a member waits for the shards of a graph whose keys it deals.
const dealWait = 10 * time.Second

// claims says whether a member has claims that it does not know to be over.
func (m *simMember) claims() bool {
	return !m.dead && m.dealing != nil && (m.dealing.Holds() || m.w.plant == plantGoesOn)
}

// claim has a member deal the keys of the graph anew, if nobody else does (see members.Members.Hold).
func (m *simMember) claim() {
	t := m.k.current()
	if m.dead || m.dealing != nil || m.asking || t == nil || !t.Holds() {
		return
	}
	w, me, granted := m.w, m.lease, false
	m.asking = true
	m.call(func() {
		has := w.leases[w.claimed] != nil && w.claimed != me
		if w.leases[me] == nil || has && w.plant != plantTwo {
			return
		}
		w.claimed, granted = me, true
		w.log("%s deals", me)
		w.notify()
	}, func(ok bool) {
		m.asking = false
		switch {
		case !ok && w.plant == plantUnknown:
		case !ok:
			m.disclaim(t, me)
		case granted && t.Holds():
			for _, o := range w.members {
				if o != m && o.claims() && w.now-w.stepped > 2*simTTL {
					w.fault("%s and %s both deal", m.id, o.id)
				}
			}
			m.dealing = t
			m.gather(t, me, w.now+dealWait)
		case granted:
			m.disclaim(t, me)
		}
	})
}

// gather waits for all shards to run here, deals them, and gives the claim up; or that alone where they do not come.
func (m *simMember) gather(t *Term, me string, by time.Duration) {
	w := m.w
	if !t.Holds() {
		if w.plant != plantGoesOn {
			m.disclaim(t, me)
		}
		return
	}
	all := true
	for _, g := range m.shards {
		all = all && g.state == "running" && g.term == t
	}
	if !all && w.now < by {
		m.then(100*time.Millisecond, func() { m.gather(t, me, by) })
		return
	}
	if !all {
		m.disclaim(t, me)
		return
	}
	fences := make([]int64, len(m.shards))
	for n, g := range m.shards {
		fences[n] = g.fence
	}
	m.call(func() {
		for n := range m.shards {
			if w.fences[checkpoint.ID{Tenant: "t", Graph: "dealt", Shard: n}] != fences[n] {
				return // by the fences: another has taken one
			}
		}
		if w.leases[w.claimed] != nil && w.claimed != me && w.now-w.stepped > 2*simTTL {
			w.fault("%s has dealt the keys, and %s has the claim", m.id, w.claimed)
		}
		w.deals++
		w.log("%s has dealt", me)
	}, func(bool) { m.disclaim(t, me) })
}

// disclaim gives a claim up, again and again until it is: the store's lease may go on, under another term, also when it
// was over.
func (m *simMember) disclaim(t *Term, me string) {
	w := m.w
	m.dealing, m.asking = nil, true
	m.call(func() {
		if w.claimed == me {
			w.claimed = ""
			w.log("%s has given the claim up", me)
			w.notify()
		}
	}, func(ok bool) {
		if ok || w.plant == plantGone && int64(w.now-simTTL) >= t.until.Load() {
			m.asking = false
			return
		}
		m.then(200*time.Millisecond, func() { m.disclaim(t, me) })
	})
}

// dealNow has a member deal when all is well; it has all shards soon.
func (w *world) dealNow() {
	var alive []*simMember
	for _, m := range w.members {
		if !m.dead {
			alive = append(alive, m)
		}
	}
	before := w.deals
	alive[w.rng.IntN(len(alive))].claim()
	if len(alive) > 1 {
		alive[w.rng.IntN(len(alive))].claim() // beside it, or the same
	}
	w.until(w.now + dealWait)
	if w.deals == before && len(w.wrong) == 0 {
		w.fault("nobody has dealt the keys within %v when all was well", dealWait)
	}
}
