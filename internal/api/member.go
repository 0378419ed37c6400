package api

import (
	"slices"
	"time"
)

// Member is a daemon on the store, with what it runs.
type Member struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Address string `json:"address"` // "" when it has not said
	Version string `json:"version"`
	// Capacity is its weight; 0 stands by.
	Capacity  int        `json:"capacity"`
	StartedAt *time.Time `json:"started_at"` // null for one of a release that does not say
	// State is "live", "drained", "leaving", or "expired" when its lease is over.
	State string `json:"state"`
	// Self says that it is the one that answers.
	Self   bool     `json:"self"`
	Graphs []Placed `json:"graphs"`
}

// Placed is a graph at the member that owns it.
type Placed struct {
	Tenant string `json:"tenant"`
	Graph  string `json:"graph"`
	Shard  int    `json:"shard"`
	// Rank is the member's place in the order for this graph, 1 being the first, 0 for none: where it is not 1
	// the graph is to go to another.
	Rank int `json:"rank"`
	// Group is the graph that it is placed with, "" when it feeds no other and is fed by none.
	Group string `json:"group"`
}

// Narrow leaves of a member's graphs those that may be seen, and of groups their names.
func (m *Member) Narrow(sees func(tenant, graph string) bool) {
	m.Graphs = slices.DeleteFunc(m.Graphs, func(p Placed) bool { return !sees(p.Tenant, p.Graph) })
	for i := range m.Graphs {
		if p := &m.Graphs[i]; p.Group != "" && !sees(p.Tenant, p.Group) {
			p.Group = p.Graph // it is linked, and with what is not to be known
		}
	}
}

// DrainRequest is the body of POST /v1/members/{member}/drain.
type DrainRequest struct {
	Undo bool `json:"undo,omitempty"` // the member may run graphs again
}
