package life

import (
	"time"

	"github.com/graphd/graphd/internal/boundary/traced"
	"github.com/graphd/graphd/internal/graph"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/trace"
)

// traces makes the tracing of a run, and has the core show what it is to tell of; nil where nothing is traced.
func (g *Graph) traces(cfg *reactor.Config) *trace.Graph {
	nodes := cfg.Plan.Nodes()
	names := make([]string, len(nodes))
	for i := range nodes {
		names[i] = nodes[i].Name
	}
	t := g.Traces.Graph(trace.Names{Tenant: g.Ref.Tenant, Graph: g.Ref.Name, Instance: cfg.Instance,
		Shard: g.ID.Shard, Nodes: names})
	if t != nil {
		cfg.Observe = observer(t)
	}
	return t
}

// committed tells of the commits of the run.
func (r *Run) committed(epoch int64, took time.Duration) {
	if r.traces != nil {
		r.traces.Committed(r.Head.Incarnation, epoch, took)
	}
	if r.fired && r.begins != nil {
		r.g.Log.With("graph", r.g.Ref.Name, "tenant", r.g.Ref.Tenant).Debug("the graph goes on here",
			r.begins.End("first_commit")...)
		r.begins = nil
	}
}

// observer tells of the epochs that a record is shown of.
func observer(t *trace.Graph) func(*reactor.Record) {
	var links []*traced.Links // reused, as are nodes and e
	var nodes []trace.Node
	var e trace.Epoch
	return func(r *reactor.Record) {
		forced := r.Cause == reactor.CauseForce || r.Cause == reactor.CauseWith
		links = links[:0]
		for i := range r.Cut {
			if l := r.Cut[i].Links; l != nil {
				links = append(links, l)
			}
		}
		if len(links) == 0 && r.Err == "" && !forced && t.Plain(r.Incarnation, r.Epoch, r.Duration) {
			return // nearly all of them
		}
		e.Incarnation, e.Number, e.Took, e.Links = r.Incarnation, r.Epoch, r.Duration, links
		e.Failed, e.Code = r.Err != "", r.ErrCode
		if e.Forced = forced; !t.Samples(&e) {
			return
		}
		e.Events = 0
		for i := range r.Cut {
			e.Events += r.Cut[i].Events
		}
		nodes = nodes[:0]
		for i := range r.Nodes {
			n := &r.Nodes[i]
			if n.Status != graph.Ran && n.Status != graph.Failed {
				continue
			}
			node := trace.Node{Index: i, Took: time.Duration(n.Nanos), Failed: n.Status == graph.Failed}
			if n.Err != nil {
				node.Code = n.Err.Code
			}
			nodes = append(nodes, node)
		}
		e.Cause, e.End, e.Nodes = r.Cause.String(), time.Now(), nodes
		t.Epoch(&e)
	}
}

// carries says whether a sink sends on where a value comes from.
func carries(s sink.Sink) bool {
	_, ok := s.(sink.Carrier)
	return ok
}
