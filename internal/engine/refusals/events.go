package refusals

import (
	"errors"
	"maps"
	"sync"

	"github.com/graphd/graphd/internal/api"
)

// Events counts the events that pushes were refused, by graph, input and code: the books of a graph have their number
// alone. Its zero value is ready for use, by any goroutine; it begins anew with the daemon.
type Events struct {
	mu sync.Mutex
	n  map[api.Ref]map[string]map[string]int64
}

// Count counts n events of an input that were refused for a code.
func (e *Events) Count(g api.Ref, input, code string, n int) {
	if n <= 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.n == nil {
		e.n = map[api.Ref]map[string]map[string]int64{}
	}
	if e.n[g] == nil {
		e.n[g] = map[string]map[string]int64{}
	}
	if e.n[g][input] == nil {
		e.n[g][input] = map[string]int64{}
	}
	e.n[g][input][code] += int64(n)
}

// Pushed counts what was refused of a push of so many events, and answers with its result.
func (e *Events) Pushed(g api.Ref, input string, events int, res api.PushResult, err error) (api.PushResult, error) {
	if refused, ok := errors.AsType[*api.Error](err); ok {
		if refused.Code == "graph_failed" { // others never came to the graph
			e.Count(g, input, refused.Code, events)
		}
		return res, err
	}
	for i := range res.Rejected {
		e.Count(g, input, res.Rejected[i].Code, 1)
	}
	if rest := events - res.Accepted - res.Filtered - len(res.Rejected); err == nil && res.Full && res.Refused == nil {
		e.Count(g, input, res.FullCode(), rest)
	}
	return res, err
}

// Of is how many events of each input of a graph were refused, by code.
func (e *Events) Of(g api.Ref) map[string]map[string]int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := make(map[string]map[string]int64, len(e.n[g]))
	for input, codes := range e.n[g] {
		all[input] = maps.Clone(codes)
	}
	return all
}

// Forget drops what is known of a graph that is there no more.
func (e *Events) Forget(g api.Ref) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.n, g)
}
