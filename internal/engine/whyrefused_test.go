package engine

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/quota"
)

// TestWhyNotWhileALimitHolds: what more comes than a graph's limit lets in is told from the first moment on, and what
// was refused with its codes, of pushes and of what was not even handed over; of a graph that is made anew with none.
func TestWhyNotWhileALimitHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBedOf(t, &scripted{}, Config{Store: memstore.New(), Log: slog.New(slog.DiscardHandler),
			Quotas: quota.NewBook(nil)})
		defer b.close()
		const doc = "graph: g\nlimits: { events_per_second: 2 }\naccumulators: { a: { strategy: sequential } }\n" +
			"nodes: { n: { expr: a } }" + drops
		b.apply(doc, "g")
		push := func(n int, within time.Duration) api.PushResult {
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			res, err := b.e.Push(ctx, shardedRef, "a", slices.Repeat([]json.RawMessage{json.RawMessage("1")}, n))
			if err != nil {
				t.Error(err)
			}
			return res
		}
		time.Sleep(time.Second)
		waits := make(chan api.PushResult, 1)
		go func() { waits <- push(8, time.Minute) }()
		synctest.Wait()
		w := b.whyNot(api.WhyNotQuery{})
		if w.Now[0].Code != "limit_slowed" || w.Sentence != "events wait for their turn: more come "+
			"than limits.events_per_second lets in, 2" || strings.Contains(w.Now[0].Detail, "nothing") {
			t.Errorf("%q, now %+v", w.Sentence, w.Now)
		}
		if res := push(40, time.Second); !res.Full {
			t.Errorf("%+v", res)
		}
		<-waits
		if err := b.e.RejectBody(t.Context(), shardedRef, "a", "invalid_json", 3); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		w = b.whyNot(api.WhyNotQuery{})
		i := slices.IndexFunc(w.Refused, func(b api.Because) bool { return b.Code == "rejected" })
		if i < 0 || w.Refused[i].Detail != "input a has refused 43 events, and told who pushed: 3 as invalid_json and "+
			"40 as limit_exceeded" {
			t.Errorf("%+v", w.Refused)
		}
		if tells(w.Now, "limit_slowed") {
			t.Errorf("when nothing waits any more: %+v", w.Now)
		}
		if err := b.e.Delete(t.Context(), shardedRef, true); err != nil {
			t.Fatal(err)
		}
		b.apply(doc, "g")
		if err := b.e.RejectBody(t.Context(), shardedRef, "a", "invalid_json", 1); err != nil {
			t.Fatal(err)
		}
		if err := b.e.RejectBody(t.Context(), shardedRef, "nobody", "invalid_json", 1); err == nil {
			t.Error("events of an input that is not there are counted")
		}
		if kept := b.e.spread.Local.Refused.Of(shardedRef); len(kept) != 1 {
			t.Errorf("of one input this is kept: %v", kept)
		}
		time.Sleep(3 * time.Second)
		if w = b.whyNot(api.WhyNotQuery{}); !slices.ContainsFunc(w.Refused, func(b api.Because) bool {
			return strings.HasSuffix(b.Detail, "has refused 1 event, and told who pushed: 1 as invalid_json")
		}) {
			t.Errorf("of a graph of the same name: %+v", w.Refused)
		}
	})
}
