package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/graphd/graphd/internal/api"
)

const (
	typeJSON   = "application/json"
	typeYAML   = "application/yaml"
	typeNDJSON = "application/x-ndjson"
)

// Graphs lists the tenant's graphs.
func (c *Client) Graphs(ctx context.Context) ([]api.GraphSummary, error) {
	list, err := c.GraphList(ctx)
	return list.Items, err
}

// GraphList lists the tenant's graphs, and which daemons have not said how those stand that they run.
func (c *Client) GraphList(ctx context.Context) (api.GraphList, error) {
	return call[api.GraphList](ctx, c, request{method: http.MethodGet, path: "/v1/graphs"})
}

// Graph is one graph's summary.
func (c *Client) Graph(ctx context.Context, name string) (api.GraphSummary, error) {
	return call[api.GraphSummary](ctx, c, request{method: http.MethodGet, path: graph(name)})
}

// Apply stores and starts a declaration. revision is the one expected, 0 for any.
func (c *Client) Apply(ctx context.Context, name string, document []byte, revision int64, dryRun bool) (
	api.ApplyResult, error) {
	return c.ApplyWith(ctx, name, document, ApplyOptions{Revision: revision, DryRun: dryRun})
}

// ApplyOptions say how a declaration is applied; with the zero value whatever the revision is, and as it is written.
type ApplyOptions struct {
	// Revision is the one expected, 0 for any.
	Revision int64
	// DryRun changes nothing, and answers with what would change.
	DryRun bool
	// Set are vars of the declaration that get another value, of the type of the one that it gives them.
	Set map[string]any
}

// ApplyWith is [Client.Apply] as the options say.
func (c *Client) ApplyWith(ctx context.Context, name string, document []byte, o ApplyOptions) (
	api.ApplyResult, error) {
	r := request{method: http.MethodPut, path: graph(name), body: document, contentType: typeYAML, revision: o.Revision,
		query: url.Values{}}
	if o.DryRun {
		r.query.Set("dry_run", "1")
	}
	if len(o.Set) > 0 {
		set, err := json.Marshal(o.Set)
		if err != nil {
			return api.ApplyResult{}, fmt.Errorf("encode the vars: %w", err)
		}
		r.query.Set("set", string(set))
	}
	return call[api.ApplyResult](ctx, c, r)
}

// Delete stops and removes a graph, with state all it persisted too.
func (c *Client) Delete(ctx context.Context, name string, state bool) error {
	keep := "keep"
	if state {
		keep = "delete"
	}
	_, err := call[any](ctx, c, request{
		method: http.MethodDelete, path: graph(name), query: url.Values{"state": {keep}},
	})
	return err
}

// Shard is one shard of a graph, with its row in Shards.
func (c *Client) Shard(ctx context.Context, name string, shard int) (api.GraphSummary, error) {
	return call[api.GraphSummary](ctx, c, request{
		method: http.MethodGet, path: graph(name), query: url.Values{"shard": {strconv.Itoa(shard)}},
	})
}

// ShardState is how one shard of a graph stands, and what waits in its inputs; the state of a key is that of
// [Client.State].
func (c *Client) ShardState(ctx context.Context, name string, shard int) (api.State, error) {
	return call[api.State](ctx, c, request{
		method: http.MethodGet, path: graph(name, "state"), query: url.Values{"shard": {strconv.Itoa(shard)}},
	})
}

// State is a graph's cache, flags, queues and node values; key is "" for an unkeyed graph.
func (c *Client) State(ctx context.Context, name, key string) (api.State, error) {
	r := request{method: http.MethodGet, path: graph(name, "state")}
	if key != "" {
		r.query = url.Values{"key": {key}}
	}
	return call[api.State](ctx, c, r)
}

// Row is what a table has of one key, which is JSON or plain text.
func (c *Client) Row(ctx context.Context, name, table, key string) (api.TableRow, error) {
	detail, err := call[api.AccumulatorDetail](ctx, c, request{
		method: http.MethodGet, path: graph(name, "accumulators", table), query: url.Values{"row": {key}},
	})
	if err != nil || detail.Row == nil {
		return api.TableRow{}, err
	}
	return *detail.Row, nil
}

func list[T any](ctx context.Context, c *Client, path string, q api.Query) (api.Page[T], error) {
	v := url.Values{}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Before != "" {
		v.Set("before", q.Before)
	}
	if q.Key != "" {
		v.Set("key", q.Key)
	}
	if q.Shard != nil {
		v.Set("shard", strconv.Itoa(*q.Shard))
	}
	return call[api.Page[T]](ctx, c, request{method: http.MethodGet, path: path, query: v})
}

// Firings lists epochs, newest first.
func (c *Client) Firings(ctx context.Context, name string, q api.Query) (api.Page[api.Firing], error) {
	return list[api.Firing](ctx, c, graph(name, "firings"), q)
}

// Firing is one epoch in full.
func (c *Client) Firing(ctx context.Context, name string, epoch int64) (api.FiringDetail, error) {
	return c.FiringOf(ctx, name, 0, epoch)
}

// FiringOf is one epoch of a shard in full.
func (c *Client) FiringOf(ctx context.Context, name string, shard int, epoch int64) (api.FiringDetail, error) {
	v := url.Values{}
	if shard != 0 {
		v.Set("shard", strconv.Itoa(shard))
	}
	return call[api.FiringDetail](ctx, c, request{
		method: http.MethodGet, path: graph(name, "firings", strconv.FormatInt(epoch, 10)), query: v,
	})
}

// RecoveryEvents lists what the supervisor has done, newest first.
func (c *Client) RecoveryEvents(ctx context.Context, name string, q api.Query) (api.Page[api.RecoveryEvent], error) {
	return list[api.RecoveryEvent](ctx, c, graph(name, "recovery-events"), q)
}

// Push sends events, one JSON value a line. A *api.Problem comes with what was taken all the same.
func (c *Client) Push(ctx context.Context, name, accumulator string, lines []byte) (api.PushResult, error) {
	return c.PushOnce(ctx, name, accumulator, lines, "")
}

// PushNow is Push that does not wait for room.
func (c *Client) PushNow(ctx context.Context, name, accumulator string, lines []byte) (api.PushResult, error) {
	return c.PushWith(ctx, name, accumulator, lines, PushOptions{NoWait: true})
}

// PushOnce is Push with a key that makes it safe to repeat: the daemon answers a second push of the same
// lines with the same key as it did the first, or goes on where that was held up. "" is no key.
func (c *Client) PushOnce(ctx context.Context, name, accumulator string, lines []byte, key string) (
	api.PushResult, error) {
	return c.PushWith(ctx, name, accumulator, lines, PushOptions{Key: key})
}

// PushOptions say how a push is made; the zero value is [Client.Push].
type PushOptions struct {
	// Key makes the push safe to repeat, see [Client.PushOnce].
	Key string
	// NoWait has it refused at once where there is no room.
	NoWait bool
}

// PushWith is Push as the options say. Whether a push with a key may be repeated after an error tells [MayRepeat].
func (c *Client) PushWith(ctx context.Context, name, accumulator string, lines []byte, o PushOptions) (
	api.PushResult, error) {
	return call[api.PushResult](ctx, c, pushRequest(name, accumulator, lines, o))
}

func pushRequest(name, accumulator string, lines []byte, o PushOptions) request {
	r := request{
		method: http.MethodPost, path: graph(name, "accumulators", accumulator, "events"), body: lines,
		contentType: typeNDJSON, key: o.Key,
	}
	if o.NoWait {
		r.prefer = "wait=0"
	}
	return r
}

// PushAll is Push until every event was taken or refused, or ctx ends: it waits for room, for a daemon that starts, and
// through lost connections. The request has a key, so nothing is pushed twice while the daemon runs, and with
// durability: journal not after a restart either; without, a daemon that is started anew in the middle has forgotten
// the key, and gets all of the lines again.
func (c *Client) PushAll(ctx context.Context, name, accumulator string, lines []byte) (api.PushResult, error) {
	r := pushRequest(name, accumulator, lines, PushOptions{Key: rand.Text()})
	r.endless = true
	return call[api.PushResult](ctx, c, r)
}

// post sends a command with a JSON body, nil for none.
func post[T any](ctx context.Context, c *Client, path string, body any) (T, error) {
	r := request{method: http.MethodPost, path: path}
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			var zero T
			return zero, fmt.Errorf("encode the request: %w", err)
		}
		r.body, r.contentType = data, typeJSON
	}
	return call[T](ctx, c, r)
}

// Fire runs one epoch on command.
func (c *Client) Fire(ctx context.Context, name string, f api.FireRequest) (api.FireResult, error) {
	return post[api.FireResult](ctx, c, graph(name, "fire"), f)
}

// Pause stops the evaluation; it is durable when it is answered.
func (c *Client) Pause(ctx context.Context, name string) (api.GraphSummary, error) {
	return post[api.GraphSummary](ctx, c, graph(name, "pause"), nil)
}

// Resume goes on.
func (c *Client) Resume(ctx context.Context, name string) (api.GraphSummary, error) {
	return post[api.GraphSummary](ctx, c, graph(name, "resume"), nil)
}

// Drain waits until nothing is left to fire, and checkpoints.
func (c *Client) Drain(ctx context.Context, name string) (api.GraphSummary, error) {
	return post[api.GraphSummary](ctx, c, graph(name, "drain"), nil)
}

// Step runs up to n epochs of a paused graph.
func (c *Client) Step(ctx context.Context, name string, n int) (api.GraphSummary, error) {
	return post[api.GraphSummary](ctx, c, graph(name, "step"), map[string]int{"n": n})
}

// Restart revives a graph, or one accumulator of it when it is not "".
func (c *Client) Restart(ctx context.Context, name, accumulator string) (api.GraphSummary, error) {
	body := map[string]*string{"accumulator": nil}
	if accumulator != "" {
		body["accumulator"] = &accumulator
	}
	return post[api.GraphSummary](ctx, c, graph(name, "restart"), body)
}

// StopPart stops one input or output of a graph while its siblings go on; it is durable when
// it is answered.
func (c *Client) StopPart(ctx context.Context, name string, p api.Part) (api.GraphSummary, error) {
	return post[api.GraphSummary](ctx, c, graph(name, "stop"), partBody(p))
}

// StartPart lets a stopped input or output go on.
func (c *Client) StartPart(ctx context.Context, name string, p api.Part) (api.GraphSummary, error) {
	return post[api.GraphSummary](ctx, c, graph(name, "start"), partBody(p))
}

func partBody(p api.Part) map[string]string {
	if p.Output != "" {
		return map[string]string{"output": p.Output}
	}
	return map[string]string{"accumulator": p.Accumulator}
}

// SkipLost lets a halted accumulator go on behind a gap in its source, and answers what is
// left out.
func (c *Client) SkipLost(ctx context.Context, name, accumulator string) (api.SkipResult, error) {
	return post[api.SkipResult](ctx, c, graph(name, "skip-lost"), map[string]string{"accumulator": accumulator})
}

// Reset takes all state from a graph; the caller has been asked whether that is meant.
func (c *Client) Reset(ctx context.Context, name string) (api.GraphSummary, error) {
	return post[api.GraphSummary](ctx, c, graph(name, "reset"), map[string]string{"confirm": name})
}

// Rewind has an accumulator read its source again from a position; the caller has been
// asked whether that is meant.
func (c *Client) Rewind(ctx context.Context, name, accumulator, position string) (api.GraphSummary, error) {
	return post[api.GraphSummary](ctx, c, graph(name, "accumulators", accumulator, "rewind"),
		map[string]string{"position": position, "confirm": name})
}

// Checkpoint answers with the epoch covered once the checkpoint is durable.
func (c *Client) Checkpoint(ctx context.Context, name string) (int64, error) {
	r, err := post[struct {
		Epoch int64 `json:"checkpoint_epoch"`
	}](ctx, c, graph(name, "checkpoint"), nil)
	return r.Epoch, err
}

// Plan is the graph's compiled plan; the same bytes for the same declaration.
func (c *Client) Plan(ctx context.Context, name string) (json.RawMessage, error) {
	return call[json.RawMessage](ctx, c, request{method: http.MethodGet, path: graph(name, "plan")})
}

// Accumulators are the graph's inputs in the order of their declaration.
func (c *Client) Accumulators(ctx context.Context, name string) ([]api.AccumulatorSummary, error) {
	page, err := call[api.Page[api.AccumulatorSummary]](ctx, c, request{
		method: http.MethodGet, path: graph(name, "accumulators"),
	})
	return page.Items, err
}

// Accumulator is one input, with what it expects and hands over.
func (c *Client) Accumulator(ctx context.Context, name, accumulator string) (api.AccumulatorDetail, error) {
	return call[api.AccumulatorDetail](ctx, c, request{
		method: http.MethodGet, path: graph(name, "accumulators", accumulator),
	})
}
