package spread

import (
	"context"
	"encoding/json"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/engine/reasons"
	"github.com/graphd/graphd/internal/graphrun"
	"github.com/graphd/graphd/internal/why"
)

// WhyNot tells why nothing comes: of the shard that has the key, or where none is asked for of all. What cannot be
// reached is told of as the graph's health.
func (d *Desk) WhyNot(ctx context.Context, m *graphrun.Graph, q *api.WhyNotQuery) (w api.WhyNot, err error) {
	since, err := reasons.Moment("since", q.Since, time.Now())
	if err != nil {
		return w, err
	}
	if q.Since != "" { // the same time in all shards
		q.Since = since.Format(time.RFC3339Nano)
	}
	if !d.Apart(m) {
		seen, err := d.Local.Seen(ctx, m, q)
		if err != nil {
			return w, err
		}
		sum := m.Summary(ctx)
		return reasons.Not(m, q, &sum, seen)
	}
	var only []int
	if q.Key != "" {
		at, err := d.home(ctx, m, q.Key)
		if err != nil {
			return w, err
		}
		only = []int{at}
	}
	all, err := d.ask(ctx, m, only, "why_not", q)
	if err != nil {
		return w, err
	}
	var seen []why.Seen
	for i := range all {
		a := &all[i].Answer
		switch {
		case a.Refusal == nil:
			var some []why.Seen
			if err := json.Unmarshal(a.Value, &some); err != nil {
				return w, err
			}
			seen = append(seen, some...)
		case a.Refusal.Status < 500: // it is of what is asked, and the same everywhere
			return w, a.Refusal.Error()
		}
	}
	sum, err := d.Summary(ctx, m)
	if err != nil {
		return w, err
	}
	return reasons.Not(m, q, &sum, seen)
}

// Waits says whether what an epoch has given to an output is not through, of a shard wherever it runs.
func (d *Desk) Waits(ctx context.Context, m *graphrun.Graph, q *reasons.Waiting) (why.Waited, error) {
	if !d.Apart(m) {
		return reasons.Waits(ctx, m, q)
	}
	return one[why.Waited](ctx, d, m, q.Shard, "waits", q)
}
