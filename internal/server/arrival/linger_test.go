package arrival

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/access"
)

// A12: who goes on after a refusal is answered later and so sends less; another's first refusals, and requests that are
// within the rate, are answered at once; and who has gone waits no longer.
func TestRefusalsLinger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, err := New(Config{MaxRequests: 200})
		if err != nil {
			t.Fatal(err)
		}
		const clients, seconds = 8, 20
		ctx, cancel := context.WithTimeout(t.Context(), seconds*time.Second)
		defer cancel()
		var sent, refused atomic.Int64
		var wg sync.WaitGroup
		for range clients {
			wg.Go(func() {
				for ctx.Err() == nil {
					sent.Add(1)
					if g.Request(ctx, &access.Principal{Token: "loud"}) != nil {
						refused.Add(1)
					}
					time.Sleep(time.Millisecond) // the way there and back
				}
			})
		}
		time.Sleep(seconds / 2 * time.Second)
		began := time.Now()
		for range 50 {
			if err := g.Request(ctx, &access.Principal{Token: "calm"}); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("another waits %v", took)
		}
		wg.Wait()
		if most := int64(promptlyAtOnce + (promptly+clients)*seconds); refused.Load() > most || refused.Load() < 100 {
			t.Errorf("of %d that were sent %d were refused, %d at most", sent.Load(), refused.Load(), most)
		}
		if l := g.lingering; l.all != 0 || len(l.each) != 0 {
			t.Errorf("%d are left, of %v", l.all, l.each)
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		began = time.Now()
		for range 1000 {
			g.Linger(gone, "gone")
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("nobody is waited for %v", took)
		}
	})
}

// TestLingeringIsBounded: as many wait as there may be connections of one, and the next is answered at once; addresses
// wait as tokens do.
func TestLingeringIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, err := New(Config{MaxRequests: 1, MaxConnections: 10, MaxConnectionsEach: 4})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for range promptlyAtOnce + 2 { // with those that are within the rate
			_, _ = g.From(&http.Request{RemoteAddr: "203.0.113.5:1"})
		}
		if took := time.Since(began); took != 0 {
			t.Fatalf("the first take %v", took)
		}
		var wg sync.WaitGroup
		var last atomic.Int64
		for range 7 {
			wg.Go(func() {
				if _, err := g.From(&http.Request{RemoteAddr: "203.0.113.5:1"}); err == nil {
					t.Error("it was let in")
				}
				if time.Since(began) == 0 {
					last.Add(1)
				}
			})
		}
		wg.Wait()
		if took := time.Since(began); took != lingers || last.Load() != 3 {
			t.Errorf("%d of 7 were answered at once, the others after %v", last.Load(), took)
		}
	})
}
