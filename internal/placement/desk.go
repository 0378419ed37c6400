package placement

import (
	"slices"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
)

const (
	// letLie is after how many leases a daemon takes what another one ranks first for and leaves.
	letLie = 2
	// share is the part of what a daemon runs, one in so many, that it hands back at a time.
	share = 10
	// maxDoublings bounds how patient a daemon becomes with one that takes nothing.
	maxDoublings = 7
)

// Desk decides for one daemon what it takes and what it hands back. Its zero value is not for
// use: fill in the fields. It is not safe for concurrent use.
type Desk struct {
	// Self is this daemon's id.
	Self string
	// Lease is a lease's time to live, Patience how long another must have ranked first for what
	// this daemon runs before that is handed back.
	Lease, Patience time.Duration

	roster checkpoint.Roster
	order  Order
	units  map[checkpoint.ID]*unit
}

// unit is what a desk remembers of one.
type unit struct {
	freeSince, elseSince time.Duration
	ranUntil             time.Duration // when it was last seen to run here
	free, elsewhere      bool
	lain                 bool // who ranked first has let it lie for long enough
	leaving              bool // it has been handed back, and runs still
	lent                 bool // it has come so that its graph is dealt anew: who it belongs to has it again at once
	given                bool // it has been handed back, and nobody has taken it yet
	untaken              int  // how often it was let lie by who ranked first
}

// See takes in who is there and how units are linked. It is called before anything else, and the
// roster is the desk's from then on.
func (d *Desk) See(roster checkpoint.Roster, places Places) {
	d.roster = roster
	d.order.see(roster.Members)
	d.Link(places)
}

// Link takes in how units are placed by now.
func (d *Desk) Link(places Places) { d.order.place(places.Among(d.roster.Members)) }

// Owns notes that a member owns a unit, "" for nobody, before the next roster says so.
func (d *Desk) Owns(id checkpoint.ID, member string) {
	if d.roster.Owners == nil {
		d.roster.Owners = map[checkpoint.ID]string{}
	}
	d.roster.Owners[id] = member
}

// Owner is who owns a unit, "" for nobody.
func (d *Desk) Owner(id checkpoint.ID) string { return d.roster.Owners[id] }

// First is who ranks first for a unit, "" where there is nobody to be given it. While the keys of its graph are dealt
// anew that is who deals them.
func (d *Desk) First(id checkpoint.ID) string {
	if dealer := d.dealer(id); dealer != "" {
		return dealer
	}
	return d.order.First(id)
}

// dealer is who deals the keys of a unit's graph anew, "" where nobody does.
func (d *Desk) dealer(id checkpoint.ID) string { return d.roster.Dealers[id.Whole()] }

// Member is one of the roster; nil when it is not there.
func (d *Desk) Member(id string) *checkpoint.Member {
	for i := range d.roster.Members {
		if d.roster.Members[i].ID == id {
			return &d.roster.Members[i]
		}
	}
	return nil
}

// Others are the members beside this one whose leases are not over.
func (d *Desk) Others() []checkpoint.Member {
	return slices.DeleteFunc(slices.Clone(d.roster.Members), func(m checkpoint.Member) bool {
		return m.Expired || m.ID == d.Self
	})
}

// Nobody says that there is no member that may be given anything.
func (d *Desk) Nobody() bool { return len(d.order.among) == 0 }

// Forget drops what is remembered of a unit.
func (d *Desk) Forget(id checkpoint.ID) { delete(d.units, id) }

func (d *Desk) of(id checkpoint.ID) *unit {
	u := d.units[id]
	if u == nil {
		if d.units == nil {
			d.units = map[checkpoint.ID]*unit{}
		}
		u = &unit{}
		d.units[id] = u
	}
	return u
}

// May says whether a unit that this daemon would run, and does not, is its to take now. It is asked
// when something has changed, and now and then: some of it is due with time alone.
func (d *Desk) May(now time.Duration, id checkpoint.ID) bool {
	u := d.of(id)
	u.leaving, u.elsewhere, u.lent = false, false, d.dealer(id) == d.Self
	switch owner := d.Owner(id); {
	case owner == d.Self:
		u.free, u.lain = false, false
		return true // it has just ended here, and goes on here
	case owner != "":
		u.free, u.lain = false, false
		if owner == d.First(id) {
			u.untaken = 0
		}
		return false
	case !u.free:
		u.free, u.freeSince = true, now
	}
	if d.First(id) == d.Self {
		return true
	}
	self := d.Member(d.Self)
	if self == nil || self.Leaving || self.Drained || d.dealer(id) != "" || now-u.freeSince < letLie*d.Lease {
		return false
	}
	if !u.lain && u.untaken < maxDoublings {
		u.untaken++
	}
	u.lain = true
	return true
}

// Back is what is to be stopped here and given up now, of the units that run here: all at once where
// this daemon leaves or drains, else at most a tenth of what it runs, and one group at least, at a
// time: until somebody has taken it. Of a group those go first that feed others: what is on its way
// arrives.
func (d *Desk) Back(now time.Duration, running []checkpoint.ID) (back []checkpoint.ID) {
	for _, id := range running {
		u, first := d.of(id), d.First(id)
		u.free, u.lain = false, false
		if first == d.Self || first == "" {
			u.elsewhere, u.untaken = false, 0
			u.lent = first != "" && d.dealer(id) != ""
		} else if !u.elsewhere {
			u.elsewhere, u.elseSince = true, now
		}
	}
	self := d.Member(d.Self)
	urgent := self != nil && (self.Leaving || self.Drained)
	under, begun := d.given(now, running) // units that are on their way, and their groups
	groups := map[checkpoint.ID][]checkpoint.ID{}
	var order []checkpoint.ID
	for _, id := range slices.SortedFunc(slices.Values(running), Compare) {
		g := d.order.places.Of(id).Group
		if groups[g] == nil {
			order = append(order, g)
		}
		groups[g] = append(groups[g], id)
	}
	room := max(len(running)/share, 1)
	for _, g := range order {
		all := groups[g]
		if !begun[g] {
			claimed := urgent || d.dealer(all[0]) != "" // who is to have it waits
			if !d.due(now, all, claimed) || !claimed && under > 0 && under+len(all) > room {
				continue
			}
			under += len(all)
		}
		for _, id := range d.shallowest(all) {
			if u := d.units[id]; !u.leaving {
				u.leaving, u.given = true, true
				back = append(back, id)
			}
		}
	}
	return back
}

// given are the units that are handed back and not taken yet, how many they are and of which groups. What nobody
// takes does not hold the others up for long: it may be gone.
func (d *Desk) given(now time.Duration, running []checkpoint.ID) (n int, groups map[checkpoint.ID]bool) {
	groups = map[checkpoint.ID]bool{}
	for _, id := range running {
		u := d.units[id]
		u.given, u.ranUntil = u.leaving, now // what is not leaving goes on here
	}
	for id, u := range d.units {
		owner := d.Owner(id)
		u.given = u.given && now-u.ranUntil < 2*letLie*d.Lease && (owner == "" || owner == d.Self)
		if u.given {
			n++
			groups[d.order.places.Of(id).Group] = true
		}
	}
	return n, groups
}

// due says that a group that runs here has been another's for long enough.
func (d *Desk) due(now time.Duration, all []checkpoint.ID, urgent bool) bool {
	for _, id := range all {
		u := d.units[id]
		if !u.elsewhere || !urgent && !u.lent && now-u.elseSince < d.Patience<<u.untaken {
			return false
		}
	}
	return true
}

// shallowest are the units of a group that nothing before them runs any more.
func (d *Desk) shallowest(all []checkpoint.ID) (top []checkpoint.ID) {
	least := d.order.places.Of(all[0]).Depth
	for _, id := range all {
		least = min(least, d.order.places.Of(id).Depth)
	}
	for _, id := range all {
		if d.order.places.Of(id).Depth == least {
			top = append(top, id)
		}
	}
	return top
}
