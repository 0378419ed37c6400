package told

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/reactor"
)

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

// History is a graph's epochs: the newest are in a run's memory, older ones in the store.
type History struct {
	Store Records
	ID    checkpoint.ID
	// Reactor is that of the run in progress, nil without one; Incarnation is the run's.
	Reactor     *live.Reactor
	Incarnation int64
}

// Page lists epochs, newest first: of all keys, or of one.
func (h *History) Page(ctx context.Context, q api.Query, key boundary.Key) (api.Page[api.Firing], error) {
	items, err := h.list(ctx, q.Before, key, pageSize(q))
	if err != nil {
		return api.Page[api.Firing]{}, err
	}
	page := api.Page[api.Firing]{Items: items}
	if n := len(page.Items); n == pageSize(q) {
		page.Next = h.cursor(page.Items[n-1].Incarnation, page.Items[n-1].Epoch)
	}
	return page, nil
}

// list is up to n records before a cursor, newest first: of all keys, or of one.
func (h *History) list(ctx context.Context, before string, key boundary.Key, n int) ([]api.Firing, error) {
	records, err := h.records(ctx, before, key, n)
	if err != nil {
		return nil, err
	}
	list := make([]api.Firing, len(records))
	for i, data := range records {
		if err := read(data, &list[i]); err != nil {
			return nil, err
		}
		list[i].Shard = h.ID.Shard
	}
	return list, nil
}

// Details are up to n records in full before a cursor, newest first: of all keys, or of one.
func (h *History) Details(ctx context.Context, before string, key boundary.Key, n int) (list []api.FiringDetail,
	err error) {
	records, err := h.records(ctx, before, key, n)
	for _, data := range records {
		d := api.FiringDetail{Firing: api.Firing{Shard: h.ID.Shard}}
		err = errors.Join(err, read(data, &d))
		list = append(list, d)
	}
	return list, err
}

// read decodes a record into a Firing or a FiringDetail.
func read(data []byte, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("read a firing record: %w", err)
	}
	return nil
}

// cursor is where the page that begins before a record goes on.
func (h *History) cursor(incarnation, epoch int64) string {
	return checkpoint.FiringCursor(checkpoint.FiringPlace{Shard: h.ID.Shard, Incarnation: incarnation, Epoch: epoch})
}

// records is the JSON of up to n firing records before a cursor, newest first: of all keys,
// or of one.
func (h *History) records(ctx context.Context, before string, key boundary.Key, n int) (out [][]byte, err error) {
	inMemory, below := h.Reactor != nil, int64(math.MaxInt64)
	if before != "" {
		place, err := checkpoint.ParseFiringCursor(before)
		if err != nil {
			return nil, BadCursor()
		}
		inMemory, below = inMemory && place.Incarnation == h.Incarnation, place.Epoch
	}
	if inMemory {
		if out, err = h.newest(ctx, below, &key, n); err != nil {
			return nil, err
		}
	}
	if len(out) == n {
		return out, nil
	}
	if len(out) > 0 {
		var last api.Firing
		if err := read(out[len(out)-1], &last); err != nil {
			return nil, err
		}
		before = h.cursor(last.Incarnation, last.Epoch)
	}
	stored, _, err := h.Store.Firings(ctx, h.ID, checkpoint.Query{
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

// newest is up to n records of the run with an epoch below before, newest first: of all
// keys, or of one, which it completes as a look at the keys there are tells.
func (h *History) newest(ctx context.Context, before int64, key *boundary.Key, n int) ([][]byte, error) {
	var records []*reactor.Record
	ctx, cancel := context.WithTimeout(ctx, BusyAfter)
	defer cancel()
	err := h.Reactor.Look(ctx, func(c *reactor.Core, _ time.Time) {
		*key = Or(c, *key)
		c.RecordsBefore(before, *key, n, func(rec *reactor.Record) { records = append(records, rec.Clone()) })
	})
	if err != nil && !errors.Is(err, live.ErrStopped) {
		return nil, Refusal(err)
	}
	cfg := h.Reactor.Core.Config()
	out := make([][]byte, len(records))
	for i, rec := range records {
		out[i] = cfg.AppendRecord(nil, rec)
	}
	return out, nil
}

// Epoch is one epoch in full, of the newest incarnation that has it.
func (h *History) Epoch(ctx context.Context, epoch int64) (d api.FiringDetail, err error) {
	var found [][]byte
	if h.Reactor != nil {
		if found, err = h.newest(ctx, epoch+1, new(boundary.Key), 1); err != nil {
			return d, err
		}
	}
	for _, data := range found {
		if err := read(data, &d); err != nil {
			return d, err
		}
	}
	if len(found) == 0 || d.Epoch != epoch {
		f, err := h.Store.Firing(ctx, h.ID, epoch)
		if errors.Is(err, checkpoint.ErrNotFound) {
			return d, &api.Error{Status: http.StatusNotFound, Code: "firing_not_found",
				Detail: fmt.Sprintf(
					"there is no record of epoch %d: it has not run, or has left the history (history.keep)", epoch)}
		}
		if err != nil {
			return d, fmt.Errorf("read the history: %w", err)
		}
		d = api.FiringDetail{}
		if err := read(f.Data, &d); err != nil {
			return d, err
		}
	}
	d.Shard = h.ID.Shard
	return d, nil
}
