package quota_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/quota"
)

// TestTakeIsOfOneTenant: what one tenant has is no matter of another's, and what all have is bounded by *.
func TestTakeIsOfOneTenant(t *testing.T) {
	t.Parallel()
	b := quota.NewBook(map[string]quota.Limits{"acme": {Graphs: 2}, quota.All: {Graphs: 1, Sockets: 1}})
	take := func(tenant string, of quota.Name, ok bool) func() {
		t.Helper()
		free, err := b.Take(tenant, of)
		if (err == nil) != ok {
			t.Errorf("%s of %s: %v", of, tenant, err)
		}
		return free
	}
	first := take("acme", quota.Graphs, true)
	take("acme", quota.Graphs, true)
	take("acme", quota.Graphs, false)
	take("beta", quota.Graphs, true)
	take("beta", quota.Graphs, false)
	take("acme", quota.Sockets, true)
	_, err := b.Take("acme", quota.Sockets)
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Code != "quota_exceeded" || e.Extra["limit"] != 1 ||
		e.Status != http.StatusTooManyRequests {
		t.Errorf("a socket too many: %v", err)
	}
	first()
	take("acme", quota.Graphs, true)
	for _, u := range b.Uses("acme") {
		want := map[quota.Name]quota.Use{quota.Graphs: {Used: 2, Limit: 2, Refused: 1},
			quota.Sockets: {Used: 1, Limit: 1, Refused: 1}}[u.Quota]
		if want.Tenant, want.Quota = "acme", u.Quota; u != want {
			t.Errorf("got %+v, want %+v", u, want)
		}
	}
	if all := b.Uses("nobody"); len(all) != 2 || all[0].Used != 0 {
		t.Errorf("of a tenant with nothing: %+v", all)
	}
	if all := b.Uses(""); len(all) != 4 {
		t.Errorf("whoever was asked for is remembered: %+v", all)
	}
}

// TestNobodyIsBoundWithoutQuotas: a nil book bounds nothing.
func TestNobodyIsBoundWithoutQuotas(t *testing.T) {
	t.Parallel()
	var b *quota.Book
	b.Add("a", quota.Graphs, 1)
	if _, err := b.Take("a", quota.Graphs); err != nil {
		t.Error(err)
	}
	if err := b.Rate("a").Wait(t.Context(), 1e9); err != nil || b.Uses("") != nil {
		t.Error(err)
	}
}

// TestRateSlows: what is let through in a time is what the rate says, in the order of its coming; a batch that is more
// than a second has room for goes whole and is waited for by those behind it.
func TestRateSlows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := quota.NewRate(100)
		began := time.Now()
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if err := r.Wait(t.Context(), 30); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		// 1,500 at 100 a second, of which the first second's are there at once and the last are owed.
		if took := time.Since(began); took < 13*time.Second || took > 15*time.Second {
			t.Errorf("it took %v", took)
		}
		if held := r.Held(); held <= 0 || held > time.Second {
			t.Errorf("who comes now waits %v", held)
		}
	})
}

// TestRateTellsWhen: one who cannot wait for so long is told at once when to come again, and takes nothing; then
// there is room.
func TestRateTellsWhen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := quota.NewRate(10)
		if err := r.Wait(t.Context(), 70); err != nil { // the first is never refused
			t.Fatal(err)
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		err := r.Wait(ctx, 1)
		over, ok := errors.AsType[*quota.ExceededError](err)
		if !ok || over.After != 6*time.Second || time.Since(began) != 0 {
			t.Fatalf("after %v: %v", time.Since(began), err)
		}
		time.Sleep(over.After)
		if err := r.Wait(t.Context(), 1); err != nil || time.Since(began) != 6*time.Second {
			t.Errorf("at %v: %v", time.Since(began), err)
		}
		gone, leave := context.WithCancel(t.Context())
		_ = r.Wait(t.Context(), 100)
		time.AfterFunc(time.Second, leave)
		if err := r.Wait(gone, 1000); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if held := r.Held(); held > 10*time.Second { // what nobody took is owed by nobody
			t.Errorf("%v are owed", held)
		}
	})
}

// TestPaceIsTheSlowest: several rates together are as slow as the slowest.
func TestPaceIsTheSlowest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &quota.Meter{}
		p := quota.Pace{Rates: []*quota.Rate{nil, quota.NewRate(1000), quota.NewRate(50)}, Meter: m}
		if p.Most() != 5 || (quota.Pace{}).Most() != 0 {
			t.Errorf("%d at once", p.Most())
		}
		began := time.Now()
		for range 40 {
			if err := p.Wait(t.Context(), 5, 10, nil); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took < 2900*time.Millisecond || took > 3100*time.Millisecond {
			t.Errorf("200 events took %v", took)
		}
		if c := m.Cost(); c.Read != 400 {
			t.Errorf("the meter has %+v", c)
		}
	})
}
