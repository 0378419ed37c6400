package spread

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/engine/keylist"
	"github.com/graphd/graphd/internal/graphrun"
	"github.com/graphd/graphd/internal/graphrun/parts"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/spec"
)

// home is the shard that has the key of a request, which may mean one that is written as a text.
func (d *Desk) home(ctx context.Context, m *graphrun.Graph, key string) (int, error) {
	at, asText, err := m.Homes(key)
	if err != nil || at == asText {
		return at, err
	}
	has, err := one[bool](ctx, d, m, at, "has", &Command{Key: key})
	if err != nil || has {
		return at, err
	}
	if has, err = one[bool](ctx, d, m, asText, "has", &Command{Key: key}); has {
		at = asText
	}
	return at, err
}

// State is that of one key; where none is asked for, it tells how all shards stand.
func (d *Desk) State(ctx context.Context, m *graphrun.Graph, key string) (api.State, error) {
	if key == "" {
		sum, err := d.Summary(ctx, m)
		return told.WholeState(&sum), err
	}
	at, err := d.home(ctx, m, key)
	if err != nil {
		return api.State{}, err
	}
	return one[api.State](ctx, d, m, at, "state", &Command{Key: key})
}

// Keys lists keys of all shards, wherever they run. Those of a member that does not answer are named as not known.
func (d *Desk) Keys(ctx context.Context, m *graphrun.Graph, q *api.KeyQuery) (p api.KeyPage, err error) {
	if !d.Apart(m) {
		found, err := keylist.Here(ctx, m, q)
		if err != nil {
			return p, err
		}
		return keylist.Page(q, []*keylist.Found{found})
	}
	all, err := d.ask(ctx, m, nil, "keys", q)
	if err != nil {
		return p, err
	}
	var some []*keylist.Found
	for i := range all {
		found := &keylist.Found{}
		switch a := &all[i].Answer; {
		case a.Refusal == nil:
			err = json.Unmarshal(a.Value, found)
		case a.Refusal.Status < 500: // it is of what is asked, and the same everywhere
			err = a.Refusal.Error()
		default:
			found.Unknown = all[i].Shards
		}
		if err != nil {
			return p, err
		}
		some = append(some, found)
	}
	return keylist.Page(q, some)
}

// Fire runs one epoch of the shard that has the request's key.
func (d *Desk) Fire(ctx context.Context, m *graphrun.Graph, req *api.FireRequest) (api.FireResult, error) {
	at, err := d.home(ctx, m, string(req.Key))
	if err != nil {
		return api.FireResult{}, err
	}
	return one[api.FireResult](ctx, d, m, at, "fire", req)
}

// Checkpoint answers with the sum of the epochs that are covered.
func (d *Desk) Checkpoint(ctx context.Context, m *graphrun.Graph) (sum int64, err error) {
	all, err := d.ask(ctx, m, nil, "checkpoint", nil)
	if err == nil {
		err = parts.Refused(all, m.Shards(), nil)
	}
	for i := range all {
		var epochs int64
		if err == nil {
			err = json.Unmarshal(all[i].Answer.Value, &epochs)
		}
		sum += epochs
	}
	if err != nil {
		return 0, err
	}
	return sum, nil
}

// nothingLost is the refusal of a part that has no gap to skip, where another may have one.
const nothingLost = "nothing_lost"

// SkipLost lets the shards whose input is halted go on behind what its source has lost.
func (d *Desk) SkipLost(ctx context.Context, m *graphrun.Graph, input, by string) (res api.SkipResult, err error) {
	all, err := d.ask(ctx, m, nil, "skip_lost", &Command{Input: input, By: by})
	if err != nil {
		return res, err
	}
	skipped := false
	res.Gaps = []api.Gap{}
	for i := range all {
		a := &all[i].Answer
		if a.Refusal != nil {
			continue
		}
		var gaps []api.Gap
		if err := json.Unmarshal(a.Value, &gaps); err != nil {
			return res, err
		}
		skipped, res.Gaps = true, append(res.Gaps, gaps...)
	}
	err = parts.Refused(all, m.Shards(), func(code string) bool { return skipped && code == nothingLost })
	if err != nil {
		return api.SkipResult{}, err
	}
	res.GraphSummary = whole(m, all)
	return res, nil
}

func named(name string) func(spec.Accumulator) bool {
	return func(a spec.Accumulator) bool { return a.Name == name }
}

// Accumulator is one input as all shards have it.
func (d *Desk) Accumulator(ctx context.Context, m *graphrun.Graph, name, row string) (api.AccumulatorDetail, error) {
	detail, err := m.Accumulator(ctx, name, "")
	if err != nil {
		return detail, err
	}
	all, err := d.ask(ctx, m, nil, "row", &Command{Input: name, Row: row})
	if err == nil && row != "" {
		err = parts.Refused(all, m.Shards(), nil)
	}
	if err != nil {
		return api.AccumulatorDetail{}, err
	}
	sum := whole(m, all)
	for i := range sum.Accumulators {
		if sum.Accumulators[i].Name == name {
			detail.AccumulatorSummary = sum.Accumulators[i]
		}
	}
	for i := range all {
		var found *api.TableRow
		if len(all[i].Answer.Value) > 0 {
			if err := json.Unmarshal(all[i].Answer.Value, &found); err != nil {
				return detail, err
			}
		}
		detail.Row = told.JoinRows(detail.Row, found)
		if in := m.Unit().Spec.Accumulators; in[slices.IndexFunc(in, named(name))].Global {
			break // all have the same
		}
	}
	return detail, nil
}
