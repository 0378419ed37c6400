package differential

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/engine"
	"github.com/graphd/graphd/internal/quota"
)

// M26: what a bounded run answers, a live graph answers that is held back for longer than a silence is waited for:
// what is held back is no silence, and none of it is late. Whatever holds it back: a quota that others of the tenant
// have used, the graph's own limit, the processor's time. (What a paused graph takes in is fired together.)
func TestM26HeldBackEqualsRun(t *testing.T) {
	t.Parallel()
	const tenant, rate, long = "default", 100, 16
	for name, c := range map[string]struct {
		quotas map[string]quota.Limits
		doc    string
		holds  func(t *testing.T, book *quota.Book, e *engine.Engine, ref api.Ref) error
	}{
		"quota of events": {
			map[string]quota.Limits{tenant: {EventsPerSecond: rate}}, "",
			func(t *testing.T, book *quota.Book, _ *engine.Engine, _ api.Ref) error {
				for range 2 {
					for range long * rate {
						go func() { _ = book.Rate(tenant).Wait(t.Context(), 1) }()
					}
					time.Sleep(long * time.Second)
				}
				return nil
			},
		},
		"limit of events": {
			nil, "limits: { events_per_second: 20 }\n",
			func(t *testing.T, book *quota.Book, _ *engine.Engine, ref api.Ref) error {
				pace := book.Pace(ref.Tenant, ref.Name)
				for range long * 20 {
					go func() { _ = pace.Admit(t.Context(), 1, 0) }()
				}
				return nil
			},
		},
		"quota of the processor": {
			map[string]quota.Limits{tenant: {CPU: 0.5}}, "",
			func(_ *testing.T, book *quota.Book, _ *engine.Engine, ref api.Ref) error {
				book.Meter(ref.Tenant, ref.Name).Worked(0, long*time.Second)
				return nil
			},
		},
		"limit of the processor": {
			nil, "limits: { cpu: 0.5 }\n",
			func(_ *testing.T, book *quota.Book, _ *engine.Engine, ref api.Ref) error {
				book.Meter(ref.Tenant, ref.Name).Worked(0, long*time.Second)
				return nil
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seeds(t, 20, func(t *testing.T, seed uint64) {
				synctest.Test(t, func(t *testing.T) {
					time.Sleep(zero.AddDate(0, 1, 0).Sub(time.Now())) // the events are of the past
					p, dir := newClockPlan(seed, false), t.TempDir()
					p.doc += c.doc
					for i := range p.lines {
						p.append(t, dir, i, p.lines[i]...)
					}
					want := p.run(t, dir)
					p.quotas = quota.NewBook(c.quotas)
					p.begun = func(e *engine.Engine, ref api.Ref) error { return c.holds(t, p.quotas, e, ref) }
					store, out := memstore.NewSeeded(seed), &safeBuffer{}
					defer store.Close()
					m := &mortal{Store: store, death: make(chan struct{})}
					m.left.Store(1 << 40)
					p.live(t, dir, seed%2 == 0, m, out, p.events(), nil)
					p.check(t, "held back", out, want)
				})
			})
		})
	}
}
