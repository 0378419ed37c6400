package everyday

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/graphd/graphd/examples/everyday/gen"
)

// A relay is the scoring service and what stands between it and the graph: it takes a request, scores it, and pushes
// the score, once however often it is asked. It is slow.
type relay struct {
	ctx    context.Context
	url    string
	daemon *daemon

	mu   sync.Mutex
	done map[string]bool
}

func newRelay(ctx context.Context, t *testing.T) *relay {
	r := &relay{ctx: ctx, done: map[string]bool{}}
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	r.url = s.URL + "/score"
	return r
}

func (r *relay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var asked struct{ ID string }
	text, err := io.ReadAll(req.Body)
	if err != nil || json.Unmarshal(text, &asked) != nil {
		http.Error(w, "no request", http.StatusBadRequest)
		return
	}
	r.mu.Lock() // who asks again while the first is under way waits for it
	defer r.mu.Unlock()
	if r.done[asked.ID] {
		return
	}
	<-time.After(time.Millisecond)
	line, err := json.Marshal(gen.Relay(asked.ID))
	if err == nil { // not with the request's context: who asked may be killed, and the score still counts
		err = push(r.ctx, r.daemon, scoring, scores, append(line, '\n'))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	r.done[asked.ID] = true
}
