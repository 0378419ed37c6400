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

	"github.com/graphd/graphd/test/everyday/gen"
)

// A relay is the scoring service and what stands between it and the graph: it takes a request, scores it, and pushes
// the score, once however often it is asked. It is slow.
type relay struct {
	url    string
	daemon *daemon

	mu   sync.Mutex
	done map[string]bool
}

func newRelay(t *testing.T) *relay {
	r := &relay{done: map[string]bool{}}
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
	r.mu.Lock()
	done := r.done[asked.ID]
	r.mu.Unlock()
	if done {
		return
	}
	<-time.After(time.Millisecond)
	// Not with the request's context: who asked may be killed, and the score still counts.
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Second)
	defer cancel()
	line, err := json.Marshal(gen.Relay(asked.ID))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if err := push(ctx, r.daemon, scoring, scores, append(line, '\n')); err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	r.mu.Lock()
	r.done[asked.ID] = true
	r.mu.Unlock()
}
