package webhook

import (
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/sink/sinktest"
	"github.com/graphd/graphd/internal/spec"
)

// M30: so many requests are out at once as were asked for, each over a connection that is used again.
func TestM30SeveralRequestsAtOnce(t *testing.T) {
	const several, rounds = 32, 5
	var mu sync.Mutex
	connections, waiting, gate := map[string]bool{}, 0, make(chan struct{})
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		connections[r.RemoteAddr] = true
		mine := gate
		if waiting++; waiting == several { // nobody is answered before all are here
			close(gate)
			waiting, gate = 0, make(chan struct{})
		}
		mu.Unlock()
		select {
		case <-mine:
		case <-r.Context().Done():
		}
	}))
	k := newSink(t, Config{URL: s.URL, Concurrency: several, Timeout: time.Minute})
	for range rounds {
		var calls sync.WaitGroup
		for n := range int64(several) {
			calls.Go(func() {
				if err := k.Deliver(t.Context(), []sink.Message{message(n)}); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
	}
	// A connection goes back a moment after its answer is there, so a few may be made beside it.
	if n := len(connections); k.Concurrency() != several || n > 2*several {
		t.Errorf("%d requests over %d connections, %d at once", several*rounds, n, k.Concurrency())
	}
}

// What has its order: the sink's own key, else the graph's; a value whose key cannot be computed is refused.
func TestLanes(t *testing.T) {
	s := serve(t, &receiver{})
	option, err := sink.CompileOption(spec.Expr{Text: "value.customer"}, boundary.Null())
	if err != nil {
		t.Fatal(err)
	}
	order := func(v boundary.Value) *sink.Message {
		m := sinktest.Message("out", 1, boundary.Object(boundary.NewShape("customer"), []boundary.Value{v}))
		m.Key = `"of the graph"`
		return &m
	}
	plain, keyed := newSink(t, Config{URL: s.URL}), newSink(t, Config{URL: s.URL, Key: option, Concurrency: 2})
	for _, c := range []struct {
		of   *Sink
		v    boundary.Value
		want string
	}{
		{plain, boundary.String("a"), `"of the graph"`}, {keyed, boundary.String("a"), `"a"`},
		{keyed, boundary.Int(1), "1"}, {keyed, boundary.Null(), "null"},
	} {
		if got := c.of.Lane(order(c.v)); got != c.want {
			t.Errorf("%v has the lane %s, want %s", c.v, got, c.want)
		}
	}
	bad := sinktest.Message("out", 1, boundary.Int(1))
	var refused *sink.PermanentError
	err = keyed.Deliver(t.Context(), []sink.Message{bad})
	if !errors.As(err, &refused) || refused.Code != "key_failed" || keyed.Lane(&bad) != "" {
		t.Errorf("without a customer: %v", err)
	}
}
