package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/spec"
)

// fake is a Control with one graph "g" of tenant "default" that has the accumulator "a".
// An event {"filter":true} is filtered, {"panic":true} panics; the rest is kept in order.
type fake struct {
	mu       sync.Mutex
	events   []string
	rejected []string // the codes of bodies
	calls    []string // of commands, with their arguments
	pushes   int
	subs     []*fakeSub

	// full, when set, holds every push up once free events are taken.
	full bool
	free int
	room chan struct{} // closed when full is lifted

	ready error
	fail  error // what every command fails with
	// discard keeps no events, for benchmarks.
	discard bool
	known   func(api.Ref) error // when set, knows the graphs there are
	started chan struct{}       // gets a signal for each push that begins, when it has room
}

func newFake() *fake { return &fake{room: make(chan struct{}), started: make(chan struct{}, 1)} }

var errGraph = &api.Error{
	Status: http.StatusNotFound, Code: "graph_not_found", Detail: "there is no graph of that name",
}

func (f *fake) find(g api.Ref) error {
	if f.known != nil {
		return f.known(g)
	}
	if g != (api.Ref{Tenant: "default", Name: "g"}) {
		return errGraph
	}
	return nil
}

// Find implements Control.
func (f *fake) Find(g api.Ref) error { return f.find(g) }

func (f *fake) accumulator(g api.Ref, name string) error {
	if err := f.find(g); err != nil {
		return err
	}
	if name != "a" {
		return &api.Error{Status: http.StatusNotFound, Code: "accumulator_not_found", Detail: "no such accumulator",
			Extra: map[string]any{"declared": []string{"a"}}}
	}
	return nil
}

func (f *fake) call(g api.Ref, what string) error {
	if err := f.find(g); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, what)
	return f.fail
}

func (f *fake) seen() (events, calls, rejected []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.events...), append([]string(nil), f.calls...), append([]string(nil), f.rejected...)
}

var diagnostics = spec.Diagnostics{
	{Line: 3, Column: 5, Path: "nodes.n.expr", Code: "unknown_name", Text: "there is no b", Suggest: "a"},
	{Line: 4, Column: 1, Path: "outputs", Code: "missing", Text: "give one"},
}

var at = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

func summary() api.GraphSummary {
	acc := api.AccumulatorSummary{Name: "a", Kind: "passthrough", Source: "websocket", Strategy: "latest",
		Triggers: true, Health: "socket_only",
		Capacity: 1024, CapacityBytes: 8 << 20, LastEventAt: &at, SecondsToFull: new(1.5)}
	return api.GraphSummary{Graph: "g", Tenant: "default", Revision: 3, Instance: "i", Incarnation: 7, Health: "live",
		HealthReason: &api.Reason{Code: "x", Detail: "y"},
		Degraded:     []string{}, WaitingFor: []string{}, Epoch: 12, LastFiredAt: &at, Durability: api.DurabilityStatus{
			Mode: "checkpoint",
		},
		Guarantees: map[string]string{"o": "at least once"}, Accumulators: []api.AccumulatorSummary{acc},
		Outputs: []api.OutputSummary{{Name: "o", From: "n", Sink: "websocket", Path: "direct"}}}
}

func firing() api.Firing {
	return api.Firing{Epoch: 12, Incarnation: 7, At: at, Cause: "criteria", Key: json.RawMessage("null"), OK: true,
		DurationUS: 15,
		Inputs:     map[string]json.RawMessage{"a": json.RawMessage(`{"x":1}`)}, Outputs: map[string]json.RawMessage{
			"o": json.RawMessage(`"<b>"`),
		}}
}

func (f *fake) Graphs(_ context.Context, tenant string) (api.GraphList, error) {
	if tenant != "default" {
		return api.GraphList{Items: []api.GraphSummary{}}, nil
	}
	return api.GraphList{Items: []api.GraphSummary{summary()}}, nil
}

func (f *fake) Graph(_ context.Context, g api.Ref) (api.GraphSummary, error) {
	return summary(), f.call(g, "graph")
}

func (f *fake) Apply(_ context.Context, g api.Ref, doc []byte, c api.Change) (api.ApplyResult, error) {
	ifMatch, dryRun := c.IfMatch, c.DryRun
	switch {
	case ifMatch != 0 && ifMatch != 3:
		return api.ApplyResult{}, &api.Error{Status: 412, Code: "revision_conflict", Detail: "the revision is 3"}
	case string(doc) == "bad":
		return api.ApplyResult{}, &api.Error{
			Status: 422, Code: "declaration_invalid", Detail: "2 mistakes", Diagnostics: diagnostics,
		}
	case len(c.Set) > 0:
		line := "set"
		for _, name := range slices.Sorted(maps.Keys(c.Set)) {
			line += " " + name + "=" + c.Set[name]
		}
		return api.ApplyResult{DryRun: true, Diff: []string{line}}, nil
	case dryRun:
		return api.ApplyResult{Created: g.Name != "g", DryRun: true, Plan: json.RawMessage(`{"nodes":[]}`),
			Diff: []string{"+ node n"}}, nil
	}
	s := summary()
	return api.ApplyResult{Created: g.Name != "g", Changed: true, Revision: 4, Graph: &s}, nil
}

func (f *fake) Delete(_ context.Context, g api.Ref, state bool) error {
	if state {
		return f.call(g, "delete state")
	}
	return f.call(g, "delete")
}

func (f *fake) Plan(_ context.Context, g api.Ref) (json.RawMessage, error) {
	return json.RawMessage(`{"nodes":[]}`), f.find(g)
}

func fakeState() api.State {
	return api.State{Cache: map[string]json.RawMessage{"a": json.RawMessage(`{"x":1}`)}, Dirty: map[string]bool{
		"a": true,
	}, Queues: map[string]int{"a": 1},
		Nodes: map[string]json.RawMessage{}, Epoch: 12}
}

func (f *fake) State(_ context.Context, g api.Ref, key string) (api.State, error) {
	return fakeState(), f.call(g, "state "+key)
}

func (f *fake) Firings(_ context.Context, g api.Ref, q api.Query) (api.Page[api.Firing], error) {
	raw, _ := json.Marshal(q)
	return api.Page[api.Firing]{Items: []api.Firing{firing()}, Next: "12"}, f.call(g, "firings "+string(raw))
}

func (f *fake) Firing(_ context.Context, g api.Ref, shard int, epoch int64) (api.FiringDetail, error) {
	if err := f.find(g); err != nil || epoch != 12 || shard != 0 {
		return api.FiringDetail{}, errors.Join(err, &api.Error{
			Status: 404, Code: "firing_not_found", Detail: "no such epoch",
		})
	}
	return api.FiringDetail{Firing: firing(), Cut: map[string]api.CutInput{"a": {Taken: true, Events: 1}},
		Nodes: map[string]api.NodeRecord{"n": {Status: "ran", Value: json.RawMessage("1"), DurationUS: new(1.25)}}}, nil
}

func (f *fake) RecoveryEvents(_ context.Context, g api.Ref, _ api.Query) (api.Page[api.RecoveryEvent], error) {
	return api.Page[api.RecoveryEvent]{
		Items: []api.RecoveryEvent{
			{ID: 1, At: at, Graph: "g", Component: "reactor", Kind: "restart", Outcome: "restarted"},
		},
	}, f.find(g)
}

func (f *fake) DeadLetters(_ context.Context, g api.Ref, q api.LetterQuery) (api.LetterPage, error) {
	l := api.DeadLetter{ID: "l1", At: at, Accumulator: "a", Stage: "decode", Code: "invalid_json", Events: 1,
		Attempts: 1, Reason: q.Where}
	json, text, bytes := l, l, l
	json.Payload, json.PayloadEncoding = api.Payload([]byte(`{"x":1}`))
	text.Payload, text.PayloadEncoding = api.Payload([]byte(`{"x`))
	bytes.Payload, bytes.PayloadEncoding = api.Payload([]byte{0xff, 0xfe})
	return api.LetterPage{Page: api.Page[api.DeadLetter]{Items: []api.DeadLetter{json, text, bytes}}}, f.find(g)
}

func (f *fake) ReplayDeadLetter(_ context.Context, g api.Ref, id string) (api.PushResult, error) {
	if id != "l1" {
		return api.PushResult{}, &api.Error{Status: 404, Code: "dead_letter_not_found", Detail: "no such letter"}
	}
	return api.PushResult{Accepted: 1}, f.find(g)
}

func (f *fake) ReplayDeadLetters(_ context.Context, g api.Ref, req api.LettersRequest) (
	api.LettersResult, error) {
	return api.LettersResult{Letters: 3, Passed: 2, Skipped: 1, Preview: req.Preview, Next: req.After,
		Reasons: []api.LetterReason{
			{Fate: "skipped", Code: "not_replayable", Letters: 1, First: "l1", Detail: req.Where},
		},
	}, f.find(g)
}

func (f *fake) DiscardDeadLetters(_ context.Context, g api.Ref, req api.LettersRequest) (
	api.LettersResult, error) {
	return api.LettersResult{Letters: len(req.IDs), Discarded: len(req.IDs), Reasons: []api.LetterReason{}}, f.find(g)
}

func (f *fake) DiscardDeadLetter(ctx context.Context, g api.Ref, id string) error {
	_, err := f.ReplayDeadLetter(ctx, g, id)
	return err
}

func (f *fake) Fire(_ context.Context, g api.Ref, req api.FireRequest) (api.FireResult, error) {
	raw, _ := json.Marshal(req)
	return api.FireResult{
		Epoch: 13, OK: true, Cause: req.Mode, Outputs: map[string]json.RawMessage{"o": json.RawMessage("1")},
	}, f.call(g, "fire "+string(raw))
}

func (f *fake) Pause(_ context.Context, g api.Ref, by string) (api.GraphSummary, error) {
	s := summary()
	s.Paused, s.PausedBy = true, by
	return s, f.call(g, "pause "+by)
}

func (f *fake) Resume(_ context.Context, g api.Ref, by string) (api.GraphSummary, error) {
	return summary(), f.call(g, "resume "+by)
}

func (f *fake) Step(_ context.Context, g api.Ref, n int) (api.GraphSummary, error) {
	raw, _ := json.Marshal(n)
	return summary(), f.call(g, "step "+string(raw))
}

func (f *fake) Checkpoint(_ context.Context, g api.Ref) (int64, error) {
	return 12, f.call(g, "checkpoint")
}

func (f *fake) Drain(_ context.Context, g api.Ref) (api.GraphSummary, error) {
	return summary(), f.call(g, "drain")
}

func (f *fake) Restart(_ context.Context, g api.Ref, accumulator, _ string) (api.GraphSummary, error) {
	return summary(), f.call(g, "restart "+accumulator)
}

func (f *fake) StopPart(_ context.Context, g api.Ref, part api.Part, _ string) (api.GraphSummary, error) {
	return summary(), f.call(g, "stop "+part.Accumulator+"/"+part.Output)
}

func (f *fake) StartPart(_ context.Context, g api.Ref, part api.Part, _ string) (api.GraphSummary, error) {
	return summary(), f.call(g, "start "+part.Accumulator+"/"+part.Output)
}

func (f *fake) SkipLost(_ context.Context, g api.Ref, accumulator, _ string) (api.SkipResult, error) {
	to, events := "t/0#mH9c2FVoQZOVT2DNtZ1yOA@15", int64(5)
	gaps := []api.Gap{
		{Stream: "t/0", From: "t/0#mH9c2FVoQZOVT2DNtZ1yOA@10", To: &to, Events: &events, Reason: "removed"},
		{Stream: "t/1", From: "t/1#mH9c2FVoQZOVT2DNtZ1yOA@10", Reason: "partition_gone"},
	}
	return api.SkipResult{GraphSummary: summary(), Gaps: gaps}, f.call(g, "skip "+accumulator)
}

// Push decides on every event as an accumulator would.
func (f *fake) Push(ctx context.Context, g api.Ref, accumulator string, events []json.RawMessage) (
	api.PushResult, error) {
	var r api.PushResult
	if err := f.accumulator(g, accumulator); err != nil {
		return r, err
	}
	if f.discard {
		r.Accepted = len(events)
		return r, nil
	}
	select {
	case f.started <- struct{}{}:
	default:
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pushes++
	dec := boundary.NewDecoder(nil, boundary.Limits{})
	for i, raw := range events {
		if f.full && f.free == 0 {
			f.mu.Unlock()
			select {
			case <-f.room:
				f.mu.Lock()
			case <-ctx.Done():
				f.mu.Lock()
				r.Full = true
				return r, nil
			}
		}
		f.free--
		v, err := dec.Decode(raw)
		if bad, ok := errors.AsType[*boundary.DecodeError](err); ok {
			r.Rejected = append(r.Rejected, api.Rejection{Index: i, Code: bad.Code, Detail: bad.Text})
			continue
		}
		if on, _ := v.Field("panic").AsBool(); on {
			panic("told to")
		}
		r.Accepted++
		if on, _ := v.Field("filter").AsBool(); on {
			r.Filtered++
			continue
		}
		f.events = append(f.events, string(raw))
	}
	return r, nil
}

// open lifts the hold.
func (f *fake) open() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.full = false
	close(f.room)
}

func (f *fake) RejectBody(_ context.Context, g api.Ref, accumulator, code string, n int) error {
	if err := f.accumulator(g, accumulator); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rejected = append(f.rejected, slices.Repeat([]string{code}, n)...)
	return nil
}

func (f *fake) Accumulators(_ context.Context, g api.Ref) ([]api.AccumulatorSummary, error) {
	return summary().Accumulators, f.find(g)
}

func (f *fake) Accumulator(_ context.Context, g api.Ref, name, _ string) (api.AccumulatorDetail, error) {
	return api.AccumulatorDetail{AccumulatorSummary: summary().Accumulators[0], Schema: json.RawMessage("null"),
		BoundaryType: "any"}, f.accumulator(g, name)
}

func (f *fake) Ready(context.Context) error { return f.ready }

func (f *fake) Tree(context.Context) []api.TreeNode {
	return []api.TreeNode{{Path: "graphd", State: "running", Since: at}}
}

func (f *fake) Limits(context.Context) []api.Limit {
	return []api.Limit{{Name: "graphs", Limit: 10, Used: new(int64(1)), Unit: "graphs"}}
}

func (f *fake) Watch(_ context.Context, g api.Ref, w api.Wanted) (api.Subscription, error) {
	if g.Name != "" {
		if err := f.find(g); err != nil {
			return nil, err
		}
	}
	if w.Since == "bad" {
		return nil, &api.Error{Status: 400, Code: "bad_since", Detail: "since is not incarnation:seq"}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s := &fakeSub{Wanted: w, frames: make(chan *api.Frame, 1000), closed: make(chan struct{})}
	f.subs = append(f.subs, s)
	return s, nil
}

func (f *fake) Reset(_ context.Context, g api.Ref, confirm, _ string) (api.GraphSummary, error) {
	return summary(), f.call(g, "reset "+confirm)
}

func (f *fake) Rewind(_ context.Context, g api.Ref, accumulator, position, confirm,
	_ string) (api.GraphSummary, error) {
	if err := f.accumulator(g, accumulator); err != nil {
		return api.GraphSummary{}, err
	}
	return summary(), f.call(g, "rewind "+accumulator+" "+position+" "+confirm)
}

func (f *fake) Backup(_ context.Context, send func(io.Reader, int64) error) error {
	return send(strings.NewReader("a copy"), 6)
}
