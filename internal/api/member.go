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

// GraphList is GET /v1/graphs.
type GraphList struct {
	Items []GraphSummary `json:"items"`
	// Missing are the daemons that have not said how the graphs stand that they run; left out where all have.
	Missing []Missing `json:"missing,omitempty"`
}

// Missing is a daemon that has not said how graphs stand, or shards of them, that it runs or is about to: they are
// listed as they are known where the list was asked for.
type Missing struct {
	Member  string `json:"member"`
	Name    string `json:"name"`
	Address string `json:"address"` // "" when it has not said
	// Code and Detail say why.
	Code   string   `json:"code"`
	Detail string   `json:"detail"`
	Graphs []string `json:"graphs"`
}

// Narrow leaves of a list what may be seen: a daemon that runs nothing else is not missing.
func (l *GraphList) Narrow(sees func(graph string) bool) {
	l.Items = slices.DeleteFunc(l.Items, func(g GraphSummary) bool { return !sees(g.Graph) })
	for i := range l.Items {
		l.Items[i] = l.Items[i].Narrowed(sees)
	}
	l.Missing = slices.DeleteFunc(l.Missing, func(m Missing) bool {
		return !slices.ContainsFunc(m.Graphs, sees)
	})
	for i := range l.Missing {
		l.Missing[i].Graphs = slices.DeleteFunc(l.Missing[i].Graphs, func(g string) bool { return !sees(g) })
	}
}

// DrainRequest is the body of POST /v1/members/{member}/drain.
type DrainRequest struct {
	Undo bool `json:"undo,omitempty"` // the member may run graphs again
}
