package graphrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/watch"
)

// rawJSON encodes what is known to be encodable: decoded documents.
func rawJSON(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return data
}

// Plan is the graph's compiled plan.
func (g *Graph) Plan() (json.RawMessage, error) {
	if g.unit == nil {
		_, err := g.running()
		return nil, err
	}
	return g.unit.Plan.JSON()
}

// State is the cache, flags, queues and node values as they are now, of one key where the
// graph has keys.
func (g *Graph) State(ctx context.Context, key string) (api.State, error) {
	k, err := g.key(key, true)
	if err != nil {
		return api.State{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, busyAfter)
	defer cancel()
	var st reactor.State
	r, err := g.command(ctx, func(ctx context.Context, r *live.Reactor) error {
		var err error
		if looked := r.Look(ctx, func(c *reactor.Core, _ time.Time) { st, err = c.GetState(or(c, k)) }); looked != nil {
			return looked
		}
		return err
	})
	if err != nil {
		return api.State{}, lookUp(err, k)
	}
	return watch.StateOf(r.reactor.Core.Config(), &st), nil
}

// maxPage bounds a page of any list.
const maxPage = 1000

func pageSize(q api.Query) int {
	switch {
	case q.Limit <= 0:
		return 50
	case q.Limit > maxPage:
		return maxPage
	}
	return q.Limit
}

// Firings lists the newest epochs: those in memory first, older ones from the store.
func (g *Graph) Firings(ctx context.Context, q api.Query) (api.Page[api.Firing], error) {
	key, err := g.key(q.Key, false)
	if err != nil {
		return api.Page[api.Firing]{}, err
	}
	records, err := g.records(ctx, q.Before, key, pageSize(q))
	if err != nil {
		return api.Page[api.Firing]{}, err
	}
	page := api.Page[api.Firing]{Items: []api.Firing{}}
	for _, data := range records {
		var f api.Firing
		if err := json.Unmarshal(data, &f); err != nil {
			return page, fmt.Errorf("read a firing record: %w", err)
		}
		page.Items = append(page.Items, f)
	}
	if n := len(page.Items); n == pageSize(q) {
		page.Next = g.firingCursor(page.Items[n-1].Incarnation, page.Items[n-1].Epoch)
	}
	return page, nil
}

// firingCursor is where the page that begins before a record goes on.
func (g *Graph) firingCursor(incarnation, epoch int64) string {
	return checkpoint.FiringCursor(checkpoint.FiringPlace{Shard: g.ID().Shard, Incarnation: incarnation, Epoch: epoch})
}

// records is the JSON of up to n firing records before a cursor, newest first: of all keys,
// or of one.
func (g *Graph) records(ctx context.Context, before string, key boundary.Key, n int) ([][]byte, error) {
	var out [][]byte
	g.mu.Lock()
	r := g.run
	g.mu.Unlock()
	inMemory := r != nil
	if before != "" {
		place, err := checkpoint.ParseFiringCursor(before)
		if err != nil {
			return nil, ErrBadCursor()
		}
		inMemory = inMemory && place.Incarnation == r.head.Incarnation
		if inMemory {
			out, err = r.newest(ctx, place.Epoch, &key, n)
			if err != nil {
				return nil, err
			}
		}
	} else if inMemory {
		var err error
		if out, err = r.newest(ctx, 1<<62, &key, n); err != nil {
			return nil, err
		}
	}
	if len(out) == n {
		return out, nil
	}
	if len(out) > 0 {
		var last api.Firing
		if err := json.Unmarshal(out[len(out)-1], &last); err != nil {
			return nil, fmt.Errorf("read a firing record: %w", err)
		}
		before = g.firingCursor(last.Incarnation, last.Epoch)
	}
	stored, _, err := g.host.Store.Firings(ctx, g.ID(), checkpoint.Query{
		Limit: n - len(out), Before: before, Key: string(key),
	})
	if err != nil {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	for i := range stored {
		out = append(out, stored[i].Data)
	}
	return out, nil
}

// newest is up to n records of this run with an epoch below before, newest first: of all
// keys, or of one, which it completes as a look at the keys there are tells.
func (r *run) newest(ctx context.Context, before int64, key *boundary.Key, n int) ([][]byte, error) {
	var records []*reactor.Record
	ctx, cancel := context.WithTimeout(ctx, busyAfter)
	defer cancel()
	err := r.reactor.Look(ctx, func(c *reactor.Core, _ time.Time) {
		*key = or(c, *key)
		c.RecordsBefore(before, *key, n, func(rec *reactor.Record) { records = append(records, rec.Clone()) })
	})
	if err != nil && !errors.Is(err, live.ErrStopped) {
		return nil, r.g.refusal(err)
	}
	cfg := r.reactor.Core.Config()
	out := make([][]byte, len(records))
	for i, rec := range records {
		out[i] = cfg.AppendRecord(nil, rec)
	}
	return out, nil
}

// Firing is one epoch in full, of the newest incarnation that has it.
func (g *Graph) Firing(ctx context.Context, epoch int64) (api.FiringDetail, error) {
	var data []byte
	g.mu.Lock()
	r := g.run
	g.mu.Unlock()
	if r != nil {
		found, err := r.newest(ctx, epoch+1, new(boundary.Key), 1)
		if err != nil {
			return api.FiringDetail{}, err
		}
		if len(found) == 1 {
			data = found[0]
		}
	}
	var d api.FiringDetail
	if data != nil {
		if err := json.Unmarshal(data, &d); err != nil {
			return d, fmt.Errorf("read a firing record: %w", err)
		}
		if d.Epoch == epoch {
			return d, nil
		}
	}
	f, err := g.host.Store.Firing(ctx, g.ID(), epoch)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return d, &api.Error{Status: http.StatusNotFound, Code: "firing_not_found",
			Detail: fmt.Sprintf(
				"there is no record of epoch %d: it has not run, or has left the history (history.keep)", epoch)}
	}
	if err != nil {
		return d, fmt.Errorf("read the history: %w", err)
	}
	d = api.FiringDetail{}
	if err := json.Unmarshal(f.Data, &d); err != nil {
		return d, fmt.Errorf("read a firing record: %w", err)
	}
	return d, nil
}

// Watch attaches a watcher, between two epochs where the graph runs.
func (g *Graph) Watch(ctx context.Context, q *watch.Queue) {
	g.mu.Lock()
	r := g.run
	g.mu.Unlock()
	if r != nil {
		ctx, cancel := context.WithTimeout(ctx, busyAfter)
		defer cancel()
		if r.reactor.Look(ctx, func(c *reactor.Core, now time.Time) { g.hub.AttachLive(c, now, q) }) == nil {
			return
		}
	}
	g.hub.Attach(q)
}

// WatchSince attaches a watcher that has been there before, and gives it what it has missed.
func (g *Graph) WatchSince(ctx context.Context, q *watch.Queue, at watch.Place) error {
	_, err := g.command(ctx, func(ctx context.Context, r *live.Reactor) error {
		return r.Look(ctx, func(c *reactor.Core, now time.Time) {
			g.hub.AttachLive(c, now, q)
			g.hub.Replay(c, q, at)
		})
	})
	return err
}
