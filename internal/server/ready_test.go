package server

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
)

// pinged is a Control that counts the looks at its store.
type pinged struct {
	*fake
	looks atomic.Int64
}

func (p *pinged) Ready(ctx context.Context) error {
	p.looks.Add(1)
	return p.fake.Ready(ctx)
}

// TestProbesShareALook: a flood of probes, which take no token, is no flood for the store (A12).
func TestProbesShareALook(t *testing.T) {
	t.Parallel()
	p := &pinged{fake: newFake()}
	s := newServer(t, p, Config{})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			for range 50 {
				if x := do(t, s, "GET", "/readyz", nil); x.status != http.StatusOK {
					t.Errorf("%d %s", x.status, x.body)
				}
			}
		})
	}
	wg.Wait()
	if n := p.looks.Load(); n > 200 {
		t.Errorf("1000 probes are %d looks at the store", n)
	}
}
