package faults

import (
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/testbed"
)

// TestHalfOpenOwnerIsReplaced: the network between an owner and its database takes every byte,
// acknowledges it and answers nothing. The owner stands down by itself, the other daemon
// takes over, nothing is lost or doubled, and once the network is back the old owner stands
// by (M45).
func TestHalfOpenOwnerIsReplaced(t *testing.T) {
	const lease = 2 * time.Second // a shorter one is lost on a busy machine without any fault
	d := newPair(t, lease)
	var slowest time.Duration
	const rounds = 2
	for n := 0; n < rounds; n++ {
		old, next := d.owner, 1-d.owner
		rows, said := d.one("SELECT count(*) FROM numbers"), len(d.p[next].log.String())
		d.proxy[old].Swallow()
		began := time.Now()
		d.lived += time.Since(d.since)
		d.within(5*time.Second, next, "live")
		slowest = max(slowest, time.Since(began))
		quiet := d.sent(old) // its own deadline is over since the other has the graph
		d.taken(rows)
		incarnation := d.incarnation()
		d.untilHealth(old, "standby")
		d.proxy[old].Pass()
		woke := d.one("SELECT count(*) FROM numbers")
		d.p[next].until("the new owner goes on", stuck, func() bool {
			return d.one("SELECT count(*) FROM numbers") > woke+200
		})
		d.standsDown(old, incarnation)
		more := d.sent(old) - quiet
		if d.again(incarnation, next, said) {
			n--
			continue
		}
		if more > oneWrite { // what it was writing may end
			t.Errorf("round %d: the owner has sent %d bytes more after the other had taken the graph", n, more)
		}
	}
	d.settle()
	t.Logf("%d times half open with a lease of %v: taken over within %v", rounds, lease, slowest)
}

// TestStrandedConnections: the connections that both daemons have are half open, as after a
// gateway has forgotten them, and new ones get through. One call finds that out, and the others are
// not tried one by one: a daemon goes on with the graph after little more than the time of one
// call (2.5 s), and nothing is lost or doubled.
func TestStrandedConnections(t *testing.T) {
	d := newPair(t, 3*time.Second)
	for _, proxy := range d.proxy {
		proxy.Strand()
	}
	began, rows := time.Now(), d.one("SELECT count(*) FROM numbers")
	d.lived += began.Sub(d.since)
	d.beside.anew()
	d.p[0].until("somebody goes on", stuck, func() bool {
		return d.one("SELECT count(*) FROM numbers") > rows+200
	})
	took := time.Since(began)
	d.beside.kept(t, "somebody goes on", took, 5*time.Second)
	d.owned()
	more := d.one("SELECT count(*) FROM numbers")
	d.p[d.owner].until("it goes on for a while", stuck, func() bool {
		return d.one("SELECT count(*) FROM numbers") > more+500
	})
	d.settle()
	t.Logf("gone on after %v", took)
}

const outageGraph = `graph: idle
accumulators: { events: {} }
reactor: { strategy: sequential }
outputs: { out: { from: events, sink: { drop: {} } } }
`

// TestLostLeasesAreNoCrashes: outages of the database that are longer than the lease take a
// graph from its owner, again and again. It is no crash: the graph is live again after each,
// and never quarantined (M43, M45).
func TestLostLeasesAreNoCrashes(t *testing.T) {
	proxy, dsn := testbed.PostgresProxy(t, testbed.Postgres(t))
	dir := declare(t, "idle", outageGraph)
	p := start(t, dir, "--store", dsn, "--lease", "600ms")
	health := func() string {
		var s summary
		if p.do("GET", "/v1/graphs/idle", "", &s) != nil {
			return ""
		}
		return s.Health
	}
	p.until("it is live", stuck, func() bool { return health() == "live" })
	const outages = 4 // more than crashes are forgiven
	for range outages {
		proxy.Refuse()
		p.until("the lease is lost", stuck, func() bool { return health() == "standby" })
		proxy.Pass()
		p.until("it is live again", stuck, func() bool { return health() == "live" })
	}
	p.takes("idle", "events", `{"n":1}`, func(s *summary) bool { return s.Counters.Consumed == 1 })
	var events struct {
		Items []struct{ Kind, Reason string }
	}
	if err := p.do("GET", "/v1/graphs/idle/recovery-events", "", &events); err != nil {
		t.Fatal(err)
	}
	for _, ev := range events.Items {
		if ev.Kind == "quarantined" || strings.Contains(ev.Reason, "crash loop") {
			t.Errorf("%+v", ev)
		}
	}
	if err := p.stop(); err != nil {
		t.Errorf("the daemon did not stop cleanly: %v\n%s", err, p.log)
	}
}
