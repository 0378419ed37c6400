package graphrun

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/spec"
)

// noPushes is what [fedByNode] refuses pushes with.
const noPushes = "it takes no pushes"

// feed gives events to an accumulator that a node feeds: those of its dead letters, which come again in the shard whose
// node has said them. Whatever else there is to say to it comes of the node.
func (g *Graph) feed(ctx context.Context, i int, l *checkpoint.DeadLetter, events []json.RawMessage) (
	api.PushResult, error) {
	r, err := g.home(l).Running()
	if err != nil {
		return api.PushResult{}, err
	}
	now := time.Now()
	batch := make([]boundary.Event, len(events))
	for k, raw := range events {
		batch[k] = boundary.Event{Raw: raw, At: now, Origin: reactor.Origin(l)}
	}
	out, err := r.Reactor.Feed(ctx, i, batch)
	if err != nil {
		return api.PushResult{}, err
	}
	res := api.PushResult{Rejected: []api.Rejection{}}
	for k, o := range out {
		switch o.Status {
		case accumulator.Filtered:
			res.Filtered++
			res.Accepted++
		case accumulator.Accepted:
			res.Accepted++
		default:
			res.Rejected = append(res.Rejected, api.Rejection{Index: k, Code: o.Code, Detail: o.Detail})
		}
	}
	journaled := g.unit.Spec.Durability.Mode == "journal"
	res.Durable = journaled && g.host.Store.Kind() != "memory"
	return res, nil
}

// fedByNode refuses what only an accumulator with a source or a socket can do.
func fedByNode(a *spec.Accumulator, why string) error {
	return &api.Error{Status: http.StatusConflict, Code: "fed_by_node",
		Detail: fmt.Sprintf("accumulator %s is %s: %s", a.Name, a.FedBy(), why)}
}
