package told

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/graphd/graphd/internal/api"
)

// Shards are the rows of a graph's shards, each as its own summary is.
func Shards(shards []api.GraphSummary) []api.ShardSummary {
	rows := make([]api.ShardSummary, len(shards))
	for n := range shards {
		rows[n] = shardRow(n, &shards[n])
	}
	return rows
}

func shardRow(n int, s *api.GraphSummary) api.ShardSummary {
	row := api.ShardSummary{Shard: n, Health: s.Health, HealthReason: s.HealthReason, Paused: s.Paused,
		Incarnation: s.Incarnation, Epoch: s.Epoch, Queued: s.Counters.Queued, Lag: lag(s),
		DeadLettered: s.DeadLettered(), LastFiredAt: s.LastFiredAt, EngineTime: s.EngineTime}
	if s.Keys != nil {
		row.Keys, row.Waiting = s.Keys.Count, s.Keys.Waiting
	}
	return row
}

// Alone is what is told of shard n of so many where it is asked for by itself: its own summary, with its row. Of a
// graph that has one shard it is the graph's.
func Alone(s api.GraphSummary, n, of int) api.GraphSummary {
	if of == 1 {
		return s
	}
	s.Shards = []api.ShardSummary{shardRow(n, &s)}
	if s.Keys != nil {
		keys := *s.Keys
		keys.Shards, keys.ShardsRunning, keys.AsOne = 0, 0, ""
		s.Keys = &keys
	}
	return s
}

// NoShard refuses shard n of a graph that has so many.
func NoShard(graph string, n, of int) error {
	return &api.Error{Status: http.StatusNotFound, Code: "shard_not_found",
		Detail: fmt.Sprintf("graph %s has no shard %d: it has %d, and the first is 0", graph, n, of)}
}

// lag is how many events wait at the sources of a shard's inputs; nil where none of them can tell.
func lag(s *api.GraphSummary) (all *int64) {
	for i := range s.Accumulators {
		if of := s.Accumulators[i].Lag; of != nil {
			if all == nil {
				all = new(int64)
			}
			*all += *of
		}
	}
	return all
}

// WholeState is what a dealt graph tells of its state where no key is asked for: of every shard how it stands, and of
// the inputs what waits in all of them.
func WholeState(sum *api.GraphSummary) api.State {
	st := api.State{Cache: map[string]json.RawMessage{}, Nodes: map[string]json.RawMessage{}, Dirty: map[string]bool{},
		Queues: map[string]int{}, Paused: sum.Paused, Epoch: sum.Epoch, Shards: sum.Shards}
	for i := range sum.Accumulators {
		a := &sum.Accumulators[i]
		st.Dirty[a.Name], st.Queues[a.Name] = a.Dirty, a.Depth+a.Waiting
	}
	return st
}

// EveryShard joins what shards have answered to a command, by number: nil where all have carried it out. Otherwise it
// is the refusal of the first that has not, and says what each did.
func EveryShard(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	done, rows, first := []string{}, make([]api.ShardResult, len(errs)), -1
	for n, err := range errs {
		rows[n] = api.ShardResult{Shard: n, Done: err == nil}
		if err == nil {
			done = append(done, strconv.Itoa(n))
			continue
		}
		rows[n].Code, rows[n].Detail = api.CodeInternal, err.Error()
		if e, ok := errors.AsType[*api.Error](err); ok {
			rows[n].Code, rows[n].Detail = e.Code, e.Detail
		}
		if first < 0 {
			first = n
		}
	}
	if first < 0 {
		return nil
	}
	in := "no other has done it"
	if len(done) > 0 {
		in = "done in " + strings.Join(done, ", ")
	}
	e, ok := errors.AsType[*api.Error](errs[first])
	if !ok {
		return fmt.Errorf("shard %d of %d (%s): %w", first, len(errs), in, errs[first])
	}
	several := *e
	several.Detail = fmt.Sprintf("shard %d of %d (%s): %s", first, len(errs), in, e.Detail)
	if several.Extra = maps.Clone(e.Extra); several.Extra == nil {
		several.Extra = map[string]any{}
	}
	several.Extra["shards"] = rows
	return &several
}

// OfShard is a refusal of one shard of several, before anything was done in any.
func OfShard(n, of int, err error) error {
	e, ok := errors.AsType[*api.Error](err)
	if of == 1 || !ok {
		return err
	}
	named := *e
	named.Detail = fmt.Sprintf("shard %d of %d (nothing was done in any): %s", n, of, e.Detail)
	return &named
}

// Idle is a summary without what its last run has counted: another member goes on counting that.
func Idle(s api.GraphSummary) api.GraphSummary {
	s.Accumulators, s.Outputs, s.Shards, s.Keys, s.Counters = nil, nil, nil, nil, api.Counters{}
	return s
}
