package quota_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/quota"
)

// told are the quotas of a tenant as they are shown: used, and for how many seconds each has held something back.
func told(b *quota.Book) string {
	text := ""
	for _, u := range b.Uses("acme") {
		holds := 0
		if !u.Since.IsZero() {
			holds = int(time.Since(u.Since).Seconds())
		}
		text += fmt.Sprintf("%s %d/%d holds %d; ", u.Quota, u.Used, u.Limit, holds)
	}
	return text
}

// A11: a quota that holds back is used up, and it is told since when it holds; afterwards it does not.
func TestWhatHoldsIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := quota.NewBook(map[string]quota.Limits{"acme": {EventsPerSecond: 10, Keys: 5, CPU: 0.5}})
		m := b.Meter("acme", "a")
		m.Bind(quota.Bounds{Keyed: true})
		pace := b.Pace("acme", "a")
		if got := told(b); got != "events_per_second 0/10 holds 0; keys 0/5 holds 0; cpu_millicores 0/500 holds 0; " {
			t.Error(got)
		}
		go func() { _ = pace.Wait(t.Context(), 100, 1, nil) }()
		synctest.Wait()
		go func() { _ = pace.Wait(t.Context(), 1, 1, nil) }()
		m.Worked(0, 5*time.Second)
		time.Sleep(6500 * time.Millisecond)
		want := "events_per_second 10/10 holds 6; keys 0/5 holds 0; cpu_millicores 500/500 holds 6; "
		if got := told(b); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		time.Sleep(10 * time.Second)
		if got := told(b); got != "events_per_second 0/10 holds 0; keys 0/5 holds 0; cpu_millicores 0/500 holds 0; " {
			t.Error(got)
		}
	})
}

// A11: of several that have no room all are told, of the graph and in the log.
func TestAllThatHoldAreTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := quota.NewBook(map[string]quota.Limits{"acme": {Keys: 5, StoredBytes: 1 << 20}})
		m := b.Meter("acme", "a")
		m.Bind(quota.Bounds{Keyed: true, Memory: 1 << 20})
		m.Keys(0, 5)
		m.Holds(0, quota.Memory{})
		m.Holds(1, quota.Memory{State: 2 << 20})
		b.Stored("acme", 2<<20)
		go func() { _ = b.Pace("acme", "a").Wait(t.Context(), 1, 1, nil) }()
		time.Sleep(6 * time.Second)
		var by []quota.Cause
		for _, s := range m.Slowed() {
			by = append(by, s.Why)
		}
		want := []quota.Cause{quota.TenantKeys, quota.TenantBytes, quota.GraphMemory}
		if fmt.Sprint(by) != fmt.Sprint(want) {
			t.Errorf("it is slowed by %v, want %v", by, want)
		}
		var of []quota.Name
		for _, c := range b.Changes() {
			of = append(of, c.Quota)
		}
		if fmt.Sprint(of) != "[keys stored_bytes]" || len(b.Changes()) != 0 {
			t.Errorf("written down: %v", of)
		}
	})
}

// What others keep is told as it begins and ends to hold back, once.
func TestWhatOthersKeepIsWrittenDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := quota.NewBook(map[string]quota.Limits{"acme": {Outbound: 1}})
		use := quota.Use{Used: 1, Limit: 1}
		b.Watch("acme", quota.Outbound, func() quota.Use { return use })
		changes := func() (n int) {
			for range 3 {
				n += len(b.Changes())
			}
			return n
		}
		if n := changes(); n != 0 {
			t.Errorf("nothing waits, and %d changes are told", n)
		}
		use.Refused, use.Since = 7, time.Now()
		if n := changes(); n != 1 {
			t.Errorf("calls wait: %d changes are told", n)
		}
		time.Sleep(2 * time.Minute)
		if n := changes(); n != 0 {
			t.Errorf("calls wait still, though no more have come: %d changes are told", n)
		}
		use.Since = time.Time{}
		time.Sleep(2 * time.Minute)
		if n := changes(); n != 1 {
			t.Errorf("no call waits any more: %d changes are told", n)
		}
	})
}
