package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/quota"
)

// numbered are so many events with keys of their own.
func numbered(n int) (events []json.RawMessage) {
	for i := range n {
		events = append(events, json.RawMessage(fmt.Sprintf(`{"k":%d}`, i)))
	}
	return events
}

// M42: a push that is larger than what a second may bring comes in at the rate of its tenant's quota, and not at once:
// others of the tenant have their turn in between, what was not taken in time is told and counted, and the rest can be
// sent behind it.
func TestPushesComeInSlices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := limitedBed(t, Config{Quotas: quota.NewBook(map[string]quota.Limits{"default": {EventsPerSecond: 50}})})
		defer b.close()
		g := api.Ref{Tenant: "default", Name: "g"}
		b.apply("graph: g\naccumulators: { a: {} }\nreactor: { strategy: sequential }\n"+
			"outputs: { o: { from: a, sink: { drop: {} } } }\n", "g")
		push := func(n int, within time.Duration) (api.PushResult, time.Duration) {
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			began := time.Now()
			r, err := b.e.Push(ctx, g, "a", numbered(n))
			if err != nil {
				t.Error(err)
			}
			return r, time.Since(began)
		}
		big := make(chan api.PushResult)
		go func() {
			r, _ := push(1000, 10*time.Second)
			big <- r
		}()
		time.Sleep(3 * time.Second)
		if r, took := push(1, 5*time.Second); r.Accepted != 1 || took > 500*time.Millisecond {
			t.Errorf("beside a large push one event was taken %+v after %v", r, took)
		}
		r := <-big
		if r.Accepted < 400 || r.Accepted > 560 || !r.Full || r.Why == nil || r.Why.Code != "quota_exceeded" ||
			r.After <= 0 {
			t.Errorf("of a push of 1,000 at 50 a second: %+v", r)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if c := b.summary("g").Counters; c.Received != 1001 || c.Rejected != int64(1000-r.Accepted) {
			t.Errorf("the books have %+v of %d that were taken", c, r.Accepted+1)
		}
		if r, took := push(500, time.Minute); r.Accepted != 500 || r.Full || took < 7*time.Second {
			t.Errorf("with time enough: %+v after %v", r, took)
		}
	})
}

// A11: the keys that one push brings are counted while it comes in, so that it does not go far beyond the quota.
func TestKeysOfOnePush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := limitedBed(t, Config{Quotas: quota.NewBook(map[string]quota.Limits{"default": {Keys: 100}})})
		defer b.close()
		g := api.Ref{Tenant: "default", Name: "g"}
		b.apply("graph: g\naccumulators: { a: {} }\nreactor: { key: k, strategy: sequential }\n"+
			"outputs: { o: { from: a, sink: { drop: {} } } }\n", "g")
		time.Sleep(time.Second) // it runs, and its keys are bounded
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		r, err := b.e.Push(ctx, g, "a", numbered(1000))
		if err != nil || !r.Full || r.Accepted < 100 || r.Accepted > 120 {
			t.Errorf("%d keys came in where 100 may be: %+v, %v", r.Accepted, r.Why, err)
		}
	})
}
