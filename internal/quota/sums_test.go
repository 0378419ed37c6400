package quota_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/quota"
)

// admitted says whether a push to a graph gets in within a second.
func admitted(t *testing.T, b *quota.Book, tenant, graph string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	return b.Pace(tenant, graph).Admit(ctx, 1, 10)
}

// wantFull holds a refusal to what it is to tell.
func wantFull(t *testing.T, err error, of quota.Name, used, limit int, do string) {
	t.Helper()
	over, ok := errors.AsType[*quota.ExceededError](err)
	if !ok || over.Quota != of || over.Used != used || over.Limit != limit || over.After <= 0 ||
		over.Code() != "quota_exceeded" || !strings.Contains(err.Error(), do) {
		t.Errorf("refused with %+v (%v)", over, err)
	}
}

// A11: the keys of all graphs of a tenant count together; past them events of its graphs with keys wait, and of no
// others, until there are fewer.
func TestKeysOfATenant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := quota.NewBook(map[string]quota.Limits{"acme": {Keys: 100}})
		a, c := b.Meter("acme", "a"), b.Meter("acme", "c")
		for _, g := range []string{"a", "c"} {
			b.Meter("acme", g).Bind(quota.Bounds{Keyed: true})
			b.Meter("beta", g).Bind(quota.Bounds{Keyed: true})
		}
		b.Meter("acme", "plain").Bind(quota.Bounds{})
		b.Meter("beta", "a").Keys(0, 1000)
		a.Keys(0, 40)
		a.Keys(1, 10)
		if p := b.Pace("acme", "a"); p.Most() != 50/8 {
			t.Errorf("with half of the keys batches have %d", p.Most())
		}
		c.Keys(0, 45)
		if p := b.Pace("acme", "a"); p.Most() == 0 || b.Pace("acme", "plain").Most() != 0 {
			t.Errorf("near its keys a tenant's batches are as large as ever")
		}
		if err := admitted(t, b, "acme", "a"); err != nil {
			t.Error(err)
		}
		c.Keys(0, 50)
		wantFull(t, admitted(t, b, "acme", "a"), quota.Keys, 100, 100, "larger max_keys")
		wantFull(t, admitted(t, b, "acme", "c"), quota.Keys, 100, 100, "ttl")
		for _, other := range [][2]string{{"acme", "plain"}, {"beta", "a"}} {
			if err := admitted(t, b, other[0], other[1]); err != nil {
				t.Errorf("%v: %v", other, err)
			}
		}
		began := time.Now()
		time.AfterFunc(300*time.Millisecond, func() { a.Left(1) })
		if err := admitted(t, b, "acme", "a"); err != nil || time.Since(began) > 310*time.Millisecond {
			t.Errorf("with fewer keys, after %v: %v", time.Since(began), err)
		}
		for _, u := range b.Uses("acme") {
			if u.Quota != quota.Keys || u.Used != 90 || u.Limit != 100 || u.Refused != 2 || u.Waited < 2*time.Second {
				t.Errorf("told is %+v", u)
			}
		}
		b.Forget("acme", "c")
		c.Left(0) // what ends late counts nothing twice
		if u := b.Uses("acme"); len(u) != 1 || u[0].Used != 40 {
			t.Errorf("without a graph: %+v", u)
		}
		a.Keys(0, 0)
		for _, g := range []string{"a", "plain"} {
			b.Forget("acme", g)
		}
		if all := b.Uses(""); len(all) != 0 {
			t.Errorf("a tenant with nothing is remembered: %+v", all)
		}
	})
}

// A11: past what a tenant may have in the store the events of all its graphs wait until it is less.
func TestStoredBytesOfATenant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := quota.NewBook(map[string]quota.Limits{quota.All: {StoredBytes: 64 << 20}})
		if b.Bounded() != nil {
			t.Error("nobody is there yet")
		}
		for _, tenant := range []string{"acme", "beta"} {
			b.Add(tenant, quota.Graphs, 1)
			b.Meter(tenant, "a").Bind(quota.Bounds{})
		}
		if len(b.Bounded()) != 2 {
			t.Errorf("to be measured are %q", b.Bounded())
		}
		b.Stored("acme", 60<<20)
		if p := b.Pace("acme", "a"); p.Most() == 0 || admitted(t, b, "acme", "a") != nil {
			t.Error("what is near it is in small batches, and goes on")
		}
		b.Stored("acme", 65<<20)
		err := admitted(t, b, "acme", "a")
		wantFull(t, err, quota.Stored, 65<<20, 64<<20, "discard dead letters")
		if want := "the tenant may have 64 MiB in the store, and has 65 MiB: "; !strings.HasPrefix(err.Error(), want) {
			t.Error(err)
		}
		if err := admitted(t, b, "beta", "a"); err != nil {
			t.Error(err)
		}
		began := time.Now()
		time.AfterFunc(200*time.Millisecond, func() { b.Stored("acme", 1<<20) })
		if err := admitted(t, b, "acme", "a"); err != nil || time.Since(began) > 210*time.Millisecond {
			t.Errorf("with less, after %v: %v", time.Since(began), err)
		}
	})
}

// A11: the graphs of a tenant rest together for what one has worked longer than all may.
func TestProcessorOfATenant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := quota.NewBook(map[string]quota.Limits{"acme": {CPU: 0.5}})
		busy, idle, own := b.Meter("acme", "busy"), b.Meter("acme", "idle"), b.Meter("acme", "own")
		other := b.Meter("beta", "busy")
		own.Bind(quota.Bounds{Cores: 0.1})
		busy.Worked(0, 1500*time.Millisecond) // half a second is in hand
		other.Worked(0, time.Hour)
		if busy.Rests() != 2*time.Second || idle.Rests() != 2*time.Second || other.Rests() != 0 {
			t.Errorf("%v, %v and %v", busy.Rests(), idle.Rests(), other.Rests())
		}
		own.Worked(0, 600*time.Millisecond)
		if own.Rests() != 5*time.Second || idle.Rests() != 3200*time.Millisecond {
			t.Errorf("the longer of both: %v, %v", own.Rests(), idle.Rests())
		}
		time.Sleep(1500 * time.Millisecond)
		u := b.Uses("acme")
		if len(u) != 1 || u[0].Quota != quota.CPU || u[0].Limit != 500 || u[0].Used != 2100 ||
			u[0].Waited != 1500*time.Millisecond {
			t.Errorf("told is %+v", u)
		}
		b.Forget("acme", "busy")
		b.Forget("acme", "idle")
		b.Forget("acme", "own")
		if b.Meter("acme", "new").Rests() != 1700*time.Millisecond {
			t.Error("with its graphs the debt is gone")
		}
	})
}

// TestQuotasAreToldOnce: that a quota holds somebody back is told once, however often it does, with the graphs; and
// that it does not when it has not for a minute.
func TestQuotasAreToldOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := quota.NewBook(map[string]quota.Limits{"acme": {CPU: 0.5, Sockets: 1}})
		m := b.Meter("acme", "g")
		var told []quota.Change
		look := func(n int, each func()) {
			for range n {
				each()
				told = append(told, b.Changes()...)
				time.Sleep(time.Second)
			}
		}
		look(30, func() { m.Worked(0, time.Second) })
		if len(told) != 1 || !told[0].Holds || told[0].Quota != quota.CPU || told[0].Tenant != "acme" ||
			strings.Join(told[0].Graphs, ",") != "g" {
			t.Fatalf("%+v", told)
		}
		look(200, func() {})
		if len(told) != 2 || told[1].Holds || told[1].Quota != quota.CPU {
			t.Fatalf("%+v", told[1:])
		}
		free, err := b.Take("acme", quota.Sockets)
		if err != nil {
			t.Fatal(err)
		}
		defer free()
		look(10, func() {
			if _, err := b.Take("acme", quota.Sockets); err == nil {
				t.Error("one too many")
			}
		})
		look(100, func() {})
		if len(told) != 4 || !told[2].Holds || told[2].Quota != quota.Sockets || told[3].Holds {
			t.Errorf("%+v", told[2:])
		}
	})
}

// TestQuotasAreChecked refuses what nothing can be bounded by.
func TestQuotasAreChecked(t *testing.T) {
	t.Parallel()
	for _, l := range []quota.Limits{{Keys: -1}, {StoredBytes: -1}, {CPU: -1}, {CPU: 0.001}, {CPU: 5000}} {
		if l.Check() == nil {
			t.Errorf("%+v is taken", l)
		}
	}
	if err := (quota.Limits{Keys: 1, StoredBytes: 1, CPU: 0.01}).Check(); err != nil {
		t.Error(err)
	}
}
