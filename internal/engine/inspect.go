package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/reactor"
)

// rawJSON encodes what is known to be encodable: decoded documents.
func rawJSON(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return data
}

func valueJSON(v boundary.Value) json.RawMessage { return v.AppendJSON(nil) }

// Plan is the graph's compiled plan.
func (e *Engine) Plan(_ context.Context, g Ref) (json.RawMessage, error) {
	m, err := e.graph(g)
	if err != nil {
		return nil, err
	}
	if m.unit == nil {
		_, err := m.running()
		return nil, err
	}
	return m.unit.Plan.JSON()
}

// State is the cache, flags, queues and node values as they are now, of one key where the
// graph has keys.
func (e *Engine) State(ctx context.Context, g Ref, key string) (State, error) {
	m, err := e.graph(g)
	if err != nil {
		return State{}, err
	}
	k, err := m.key(key, true)
	if err != nil {
		return State{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	var st reactor.State
	_, r, err := e.command(ctx, g, func(c *reactor.Core, _ time.Time) (err error) { st, err = c.GetState(or(c, k)); return err })
	if err != nil {
		return State{}, lookUp(err, k)
	}
	return stateOf(r.reactor.Core.Config(), &st), nil
}

// stateOf is a reactor's state in the wire shape.
func stateOf(cfg *reactor.Config, st *reactor.State) State {
	out := State{
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

// maxPage bounds a page of any list.
const maxPage = 1000

func pageSize(q Query) int {
	switch {
	case q.Limit <= 0:
		return 50
	case q.Limit > maxPage:
		return maxPage
	}
	return q.Limit
}

// Firings lists the newest epochs: those in memory first, older ones from the store.
func (e *Engine) Firings(ctx context.Context, g Ref, q Query) (Page[Firing], error) {
	m, err := e.graph(g)
	if err != nil {
		return Page[Firing]{}, err
	}
	key, err := m.key(q.Key, false)
	if err != nil {
		return Page[Firing]{}, err
	}
	records, err := m.records(ctx, q.Before, key, pageSize(q))
	if err != nil {
		return Page[Firing]{}, err
	}
	page := Page[Firing]{Items: []Firing{}}
	for _, data := range records {
		var f Firing
		if err := json.Unmarshal(data, &f); err != nil {
			return page, fmt.Errorf("read a firing record: %w", err)
		}
		page.Items = append(page.Items, f)
	}
	if n := len(page.Items); n == pageSize(q) {
		page.Next = checkpoint.FiringCursor(page.Items[n-1].Incarnation, page.Items[n-1].Epoch)
	}
	return page, nil
}

// records is the JSON of up to n firing records before a cursor, newest first: of all keys,
// or of one.
func (m *managed) records(ctx context.Context, before string, key boundary.Key, n int) ([][]byte, error) {
	var out [][]byte
	m.mu.Lock()
	r := m.run
	m.mu.Unlock()
	inMemory := r != nil
	if before != "" {
		incarnation, epoch, err := checkpoint.ParseFiringCursor(before)
		if err != nil {
			return nil, errBadCursor()
		}
		inMemory = inMemory && incarnation == r.head.Incarnation
		if inMemory {
			out, err = r.newest(ctx, epoch, &key, n)
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
		var last Firing
		if err := json.Unmarshal(out[len(out)-1], &last); err != nil {
			return nil, fmt.Errorf("read a firing record: %w", err)
		}
		before = checkpoint.FiringCursor(last.Incarnation, last.Epoch)
	}
	stored, _, err := m.e.cfg.Store.Firings(ctx, m.id(), checkpoint.Query{Limit: n - len(out), Before: before, Key: string(key)})
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
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	err := r.reactor.Do(ctx, func(c *reactor.Core, _ time.Time) {
		*key = or(c, *key)
		c.RecordsBefore(before, *key, n, func(rec *reactor.Record) { records = append(records, rec.Clone()) })
	})
	if err != nil && !errors.Is(err, live.ErrStopped) {
		return nil, r.m.refusal(err)
	}
	cfg := r.reactor.Core.Config()
	out := make([][]byte, len(records))
	for i, rec := range records {
		out[i] = cfg.AppendRecord(nil, rec)
	}
	return out, nil
}

// Firing is one epoch in full, of the newest incarnation that has it.
func (e *Engine) Firing(ctx context.Context, g Ref, epoch int64) (FiringDetail, error) {
	m, err := e.graph(g)
	if err != nil {
		return FiringDetail{}, err
	}
	var data []byte
	m.mu.Lock()
	r := m.run
	m.mu.Unlock()
	if r != nil {
		found, err := r.newest(ctx, epoch+1, new(boundary.Key), 1)
		if err != nil {
			return FiringDetail{}, err
		}
		if len(found) == 1 {
			data = found[0]
		}
	}
	var d FiringDetail
	if data != nil {
		if err := json.Unmarshal(data, &d); err != nil {
			return d, fmt.Errorf("read a firing record: %w", err)
		}
		if d.Epoch == epoch {
			return d, nil
		}
	}
	f, err := e.cfg.Store.Firing(ctx, m.id(), epoch)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return d, &Error{Status: http.StatusNotFound, Code: "firing_not_found",
			Detail: fmt.Sprintf("there is no record of epoch %d: it has not run, or has left the history (history.keep)", epoch)}
	}
	if err != nil {
		return d, fmt.Errorf("read the history: %w", err)
	}
	d = FiringDetail{}
	if err := json.Unmarshal(f.Data, &d); err != nil {
		return d, fmt.Errorf("read a firing record: %w", err)
	}
	return d, nil
}
