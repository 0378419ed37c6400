// Package members tells who is on the store, what each member runs and why. Start at [Members].
package members

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/lease"
	"github.com/graphd/graphd/internal/placement"
	"github.com/graphd/graphd/internal/supervisor"
)

// Members asks and tells the members of a store.
type Members struct {
	Store  checkpoint.Members
	Claims checkpoint.Claims
	Log    *slog.Logger
	Own    *lease.Keeper
	// Tasks are where claims are given up that the store could not be told of at once.
	Tasks *supervisor.Group
	// Units are the shards of the graphs that are declared, Places say which of them are placed together.
	Units  func() []checkpoint.ID
	Places func() placement.Places

	owed owed
}

// ListMembers are the daemons on the store, with what each runs.
func (s *Members) ListMembers(ctx context.Context) ([]api.Member, error) {
	r, err := s.Store.Roster(ctx)
	if err != nil {
		return nil, err
	}
	return list(&r, s.Own.Self(), s.Own.Sole(), s.Units(), s.Places()), nil
}

// Likely is the member that runs a shard or is about to, and takes requests from others, if that is another one.
func (s *Members) Likely(id checkpoint.ID) (checkpoint.Member, bool) {
	m, other := s.Own.Likely(id)
	return m, other && m.Peer != ""
}

// Others are the other members that live and take requests.
func (s *Members) Others() []checkpoint.Member {
	return slices.DeleteFunc(s.Own.Others(), func(m checkpoint.Member) bool { return m.Peer == "" })
}

// Owner is the member that runs a shard and takes requests from others, if that is another one.
func (s *Members) Owner(id checkpoint.ID) (checkpoint.Member, bool) {
	m, other := s.Own.Elsewhere(id)
	return m, other && m.Peer != ""
}

// OtherRelease names a member of another release than this daemon's, "" where there is none: what only one of the two
// can read waits until they are of one (M55).
func (s *Members) OtherRelease(ctx context.Context) (member string, err error) {
	if s.Own.Sole() {
		return "", nil
	}
	r, err := s.Store.Roster(ctx)
	if err != nil {
		return "", err
	}
	version := ""
	for i := range r.Members {
		if r.Members[i].ID == s.Own.Self() {
			version = r.Members[i].Version
		}
	}
	for i := range r.Members {
		if m := &r.Members[i]; m.Version != version && !m.Expired {
			return cmp.Or(m.Name, m.ID), nil
		}
	}
	return "", nil
}

// DrainMember has a member run nothing, or lets it run graphs again.
func (s *Members) DrainMember(ctx context.Context, member string, drained bool, by string) error {
	r, err := s.Store.Roster(ctx)
	if err == nil {
		err = mayDrain(&r, member, drained)
	}
	if err != nil {
		return err
	}
	s.Log.Info("a member is drained, or that is ended", "member", member, "drained", drained, "by", by)
	err = s.Store.Drain(ctx, member, drained)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return notFound(member)
	}
	return err
}

// Linked are the graphs of which one feeds the other, in each pair.
func Linked(pairs [][2]api.Ref) map[checkpoint.ID]placement.Place {
	unit := func(g api.Ref) checkpoint.ID { return checkpoint.ID{Tenant: g.Tenant, Graph: g.Name} }
	links := make([]placement.Link, len(pairs))
	for i, p := range pairs {
		links[i] = placement.Link{From: unit(p[0]), To: unit(p[1])}
	}
	return placement.Groups(links)
}

// list is the members of a roster, each with those of the units that it owns. self is the one that
// tells; sole says that it has the store, and so all of the units, to itself.
func list(r *checkpoint.Roster, self string, sole bool, units []checkpoint.ID,
	places placement.Places) []api.Member {
	all := make([]api.Member, 0, len(r.Members))
	at := map[string]int{}
	for i := range r.Members {
		m := &r.Members[i]
		at[m.ID] = i
		one := api.Member{ID: m.ID, Name: m.Name, Address: m.Address, Version: m.Version, Capacity: m.Capacity,
			State: state(m), Self: m.ID == self, Graphs: []api.Placed{}}
		if !m.Started.IsZero() {
			one.StartedAt = &m.Started
		}
		all = append(all, one)
	}
	order := placement.OrderOf(places, r.Members)
	for _, id := range units {
		owner := r.Owners[id]
		if sole {
			owner = self
		}
		i, there := at[owner]
		if !there {
			continue // it is free, or its owner has just gone
		}
		p := api.Placed{Tenant: id.Tenant, Graph: id.Graph, Shard: id.Shard}
		if place, linked := places.Linked[id.Whole()]; linked {
			p.Group = place.Group.Graph
		}
		p.Rank = 1 + slices.Index(order.Rank(id), owner)
		all[i].Graphs = append(all[i].Graphs, p)
	}
	slices.SortFunc(all, func(a, b api.Member) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return all
}

func state(m *checkpoint.Member) string {
	switch {
	case m.Expired:
		return "expired"
	case m.Leaving:
		return "leaving"
	case m.Drained:
		return "drained"
	}
	return "live"
}

// mayDrain refuses to empty a member where there is nobody else to run what it runs, or no such member.
func mayDrain(r *checkpoint.Roster, member string, drained bool) error {
	there, others := false, false
	for i := range r.Members {
		m := &r.Members[i]
		if m.ID == member {
			there = true
		} else if state(m) == "live" {
			others = true
		}
	}
	switch {
	case !there:
		return notFound(member)
	case drained && !others:
		return &api.Error{Status: http.StatusConflict, Code: "no_other_member",
			Detail: "there is no other live member that could run this one's graphs; start one first"}
	}
	return nil
}

// notFound says that there is no such member.
func notFound(member string) error {
	return &api.Error{Status: http.StatusNotFound, Code: "member_not_found",
		Detail: "there is no member " + member + " on the store; graphd members lists those there are"}
}
