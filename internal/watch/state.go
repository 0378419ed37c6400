package watch

import (
	"encoding/json"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/reactor"
)

// StateOf is a reactor's state in the wire shape.
func StateOf(cfg *reactor.Config, st *reactor.State) api.State {
	out := api.State{
		Cache: map[string]json.RawMessage{}, Dirty: map[string]bool{}, Queues: map[string]int{},
		Nodes: map[string]json.RawMessage{}, Paused: st.Paused, Epoch: st.Epoch,
	}
	for i, in := range cfg.Inputs {
		if !st.Cache[i].IsAbsent() {
			out.Cache[in.Name] = valueJSON(st.Cache[i])
		}
		out.Dirty[in.Name] = st.Dirty[i]
		out.Queues[in.Name] = st.Queues[i]
	}
	for i, n := range cfg.Plan.Nodes() {
		if !st.Nodes[i].IsAbsent() {
			out.Nodes[n.Name] = valueJSON(st.Nodes[i])
		}
	}
	return out
}

func valueJSON(v boundary.Value) json.RawMessage { return v.AppendJSON(nil) }
