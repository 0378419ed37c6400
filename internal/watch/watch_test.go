package watch

import (
	"testing"

	"github.com/graphd/graphd/internal/api"
)

func queue(t *testing.T, all bool, topics ...string) *Queue {
	t.Helper()
	q, err := NewQueue(topics, 0, all)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func frames(q *Queue) (seen []string) {
	for f := q.TryNext(); f != nil; f = q.TryNext() {
		seen = append(seen, f.Graph+" "+f.Health)
	}
	return seen
}

// A watcher that comes to a graph twice, because one of two ways in was late, gets each frame once.
func TestWatcherIsAttachedOnce(t *testing.T) {
	h := NewHub(api.Ref{Tenant: "acme", Name: "g"})
	q := queue(t, false, "health")
	h.Attach(q)
	h.Attach(q)
	h.HealthChanged("live", nil)
	if got := frames(q); len(got) != 1 {
		t.Errorf("frames %v, want one", got)
	}
	q.Close()
	if n := h.watching.Load(); n != 0 {
		t.Errorf("%d watch after the only watcher has gone", n)
	}
}

// The watchers of all graphs of a tenant are attached to those that come, and to no other's.
func TestEveryone(t *testing.T) {
	var all Everyone
	q := queue(t, true, "health")
	sub := all.Add("acme", q)
	own, other := NewHub(api.Ref{Tenant: "acme", Name: "g"}), NewHub(api.Ref{Tenant: "else", Name: "h"})
	all.Attach("acme", own)
	all.Attach("else", other)
	own.HealthChanged("live", nil)
	other.HealthChanged("live", nil)
	if got := frames(q); len(got) != 1 || got[0] != "g live" {
		t.Errorf("frames %v", got)
	}
	own.Close() // one graph goes; the watcher of all stays
	if _, ended := q.pop(); ended {
		t.Error("the watcher of all ended with one graph")
	}
	sub.Close()
	if len(all.queues) != 0 {
		t.Errorf("%v is left", all.queues)
	}
}
