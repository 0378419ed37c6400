package reasons

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/engine/refusals"
	"github.com/graphd/graphd/internal/graphrun"
	"github.com/graphd/graphd/internal/graphrun/lives"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/quota"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/why"
)

// mostSilent bounds the epochs that are looked at for why they gave nothing.
const mostSilent = 200

// Local is what a daemon knows of all its graphs that no shard does.
type Local struct {
	Refused refusals.Events
	Quotas  *quota.Book // nil bounds nobody
}

// Seen is what the shards that are asked, which run here, know of why nothing comes. The question's Since is a time.
func (l *Local) Seen(ctx context.Context, m *graphrun.Graph, q *api.WhyNotQuery) ([]why.Seen, error) {
	p, err := Picture(m)
	if err == nil {
		err = p.Output(q.Output)
	}
	if err != nil {
		return nil, err
	}
	var since time.Time
	if q.Since != "" {
		if since, err = time.Parse(time.RFC3339Nano, q.Since); err != nil {
			return nil, fmt.Errorf("read since: %w", err)
		}
	}
	shards, key, err := m.Lives(ctx, q.Key)
	if err != nil {
		return nil, err
	}
	all := make([]why.Seen, len(shards))
	if len(all) > 0 { // it is told once
		meter := l.Quotas.Meter(m.Ref().Tenant, m.Ref().Name)
		all[0].Rejected, all[0].Slowed = l.Refused.Of(m.Ref()), meter.Waits(quota.GraphEvents)
	}
	for i, s := range shards {
		seen := &all[i]
		seen.Shard = s.Number()
		var g why.Glance
		of := key
		if s.Look(ctx, func(c *reactor.Core, _ time.Time) {
			of = told.Or(c, key)
			g = why.Take(c, of, since)
		}) {
			p.See(seen, &g, q.Output)
		}
		seen.Key = string(of)
		records, err := newest(ctx, s, seen.Running, of, max(1, mostSilent/len(shards)))
		if err != nil {
			return nil, err
		}
		p.Silent(seen, records, q.Output, since)
	}
	return all, nil
}

// newest are the newest records of a shard, of a key or of all. One that does not come out of its epoch is not waited
// for: then they are those of the store.
func newest(ctx context.Context, s *lives.Shard, looks bool, key boundary.Key, n int) ([]api.FiringDetail, error) {
	h := s.History()
	if looks {
		records, err := h.Details(ctx, "", key, n)
		busy, ok := errors.AsType[*api.Error](err)
		if !ok || busy.Status != http.StatusGatewayTimeout {
			return records, err
		}
	}
	h.Reactor = nil
	return h.Details(ctx, "", key, n)
}

// Not puts together why nothing comes: of how the graph stands, and of what its shards have seen.
func Not(m *graphrun.Graph, q *api.WhyNotQuery, sum *api.GraphSummary, all []why.Seen) (api.WhyNot, error) {
	p, err := Picture(m)
	if err != nil {
		return api.WhyNot{}, err
	}
	key := ""
	if len(all) == 1 {
		key = all[0].Key
	}
	return p.Not(q, key, time.Now().UTC(), sum, all), nil
}

// Waits says whether what an epoch has given to an output is not through, of a shard that runs here.
func Waits(ctx context.Context, m *graphrun.Graph, q *Waiting) (w why.Waited, err error) {
	shards, _, err := m.Lives(ctx, "")
	for _, s := range shards {
		if s.Number() == q.Shard {
			w = s.Waits(q.Output, q.Incarnation, q.Epoch)
		}
	}
	return w, err
}
