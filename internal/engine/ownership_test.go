package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/sink"
)

// delivery is a value that one daemon has sent out.
type delivery struct {
	daemon, value string
	at            time.Time
}

// sent collects what all daemons send out.
type sent struct {
	mu   sync.Mutex
	list []delivery
}

func (s *sent) by(daemon string) func(string) sink.Sink {
	return func(string) sink.Sink { return &sendingSink{s, daemon} }
}

func (s *sent) all() []delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]delivery(nil), s.list...)
}

type sendingSink struct {
	to     *sent
	daemon string
}

func (k *sendingSink) Deliver(_ context.Context, batch []sink.Message) error {
	k.to.mu.Lock()
	defer k.to.mu.Unlock()
	for i := range batch {
		k.to.list = append(k.to.list, delivery{k.daemon, batch[i].Value.String(), time.Now()})
	}
	return nil
}

func (k *sendingSink) Close(context.Context) error { return nil }

// two are two daemons on one store, the graph applied at the first.
type two struct {
	a, b         *bed
	viewA, viewB *view
	sent         *sent
}

func newTwo(t *testing.T) *two {
	s, out := newShared(), &sent{}
	s.capacity["a"] = 1 // b stands by
	d := &two{viewA: s.view("a"), viewB: s.view("b"), sent: out}
	d.a = newBed(t, d.viewA, &scripted{sink: out.by("a")})
	d.a.apply(owned, "g")
	d.b = newBed(t, d.viewB, &scripted{sink: out.by("b")})
	d.b.until("g", reactor.HealthStandby, 2*time.Second)
	return d
}

const owned = "graph: g\naccumulators: { a: { strategy: sequential } }\nnodes: { n: { expr: a } }\noutputs: { o: { " +
	"from: n, sink: { drop: {} } } }\n"

func (d *two) close() {
	d.b.close()
	d.a.close()
}

// until waits for a health in virtual time, and says how long that took.
func (b *bed) until(graph string, want reactor.Health, within time.Duration) time.Duration {
	b.t.Helper()
	began := time.Now()
	for {
		s, err := b.e.Graph(b.t.Context(), api.Ref{Tenant: "default", Name: graph})
		if err == nil && s.Health == string(want) {
			return time.Since(began)
		}
		if time.Since(began) > within {
			b.t.Fatalf("graph %s is %q (%v, %v) after %v, want %s", graph, s.Health, s.HealthReason, err, within, want)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func refusalOf(err error) *api.Error {
	var refused *api.Error
	errors.As(err, &refused)
	return refused
}

// M43: outages of the store end a graph's runs, and none of its processes: however many, they
// are nothing that its epochs did.
func TestM43Outages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newShared().view("a")
		b := newBed(t, v, &scripted{})
		defer b.close()
		b.apply(owned, "g")
		for n := range 5 {
			b.push("g", "a", fmt.Sprint(n)) // and each run is in the middle of something
			v.set(true, 0)
			time.Sleep(5 * time.Second)
			v.set(false, 0)
			b.until("g", reactor.HealthLive, 15*time.Second)
		}
		time.Sleep(2 * time.Second)
		events, err := b.e.RecoveryEvents(t.Context(), api.Ref{Tenant: "default", Name: "g"}, api.Query{})
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range events.Items {
			if ev.Kind == "quarantined" || ev.Kind == "unclean_start" {
				t.Errorf("an outage counts as a death: %+v", ev)
			}
		}
	})
}

// M37: what happens while the store is away is recorded when it is back.
func TestM37RecordedAfterTheOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newShared().view("a")
		b := newBed(t, v, &scripted{source: func(string) accumulator.Source {
			return sourceFunc(func(ctx context.Context, _ []boundary.Position, out accumulator.Out) error {
				out.Health(accumulator.Live, "")
				select {
				case <-ctx.Done():
					return nil
				case <-time.After(1500 * time.Millisecond):
					return errors.New("the source broke")
				}
			})
		}})
		defer b.close()
		b.apply("graph: g\naccumulators: { a: { source: { generator: { every: 1s, expr: i } } } }\nnodes: { n: { "+
			"expr: a } }\noutputs: { o: { from: n, sink: { drop: {} } } }\n", "g")
		time.Sleep(time.Second)
		v.set(true, 0)
		time.Sleep(time.Second) // shorter than the lease: the run goes on, and its source breaks
		v.set(false, 0)
		time.Sleep(90 * time.Second)
		events, err := b.e.RecoveryEvents(t.Context(), api.Ref{Tenant: "default", Name: "g"}, api.Query{Limit: 100})
		if err != nil || len(events.Items) == 0 {
			t.Fatal(events, err)
		}
		first := events.Items[len(events.Items)-1]
		if first.Attempt != 1 || first.Component != "accumulator/a" {
			t.Errorf("the first event of the outage is lost; the oldest is %+v", first)
		}
	})
}

// M45: a second daemon shows the graph as standby, and says who runs it to whoever asks it for more.
func TestM45Standby(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTwo(t)
		defer d.close()
		g := api.Ref{Tenant: "default", Name: "g"}
		s := d.b.summary("g")
		if s.HealthReason == nil || s.HealthReason.Code != "owned_elsewhere" {
			t.Fatalf("health reason %+v", s.HealthReason)
		}
		_, fire := d.b.e.Fire(t.Context(), g, api.FireRequest{Mode: "force"})
		_, restart := d.b.e.Restart(t.Context(), g, "", "test")
		_, push := d.b.e.Push(t.Context(), g, "a", []json.RawMessage{json.RawMessage("1")})
		for _, c := range []struct {
			what   string
			err    error
			status int
		}{{"fire", fire, 409}, {"restart", restart, 409}, {"push", push, 503}} {
			r := refusalOf(c.err)
			if r == nil || r.Status != c.status || r.Code != "graph_standby" || r.Extra["owner"] != "a/1" ||
				r.Extra["owner_address"] != "a.example:8080" {
				t.Errorf("%s: %+v, want %d graph_standby and the owner", c.what, c.err, c.status)
			}
		}
		d.a.push("g", "a", "1")
		time.Sleep(time.Minute)
		if s := d.a.summary("g"); s.Health != "live" || s.Epoch != 1 || s.Incarnation != 1 {
			t.Errorf("the owner after a minute: %+v", s)
		}
	})
}

// M45: an owner that cannot reach the store sends nothing more once its own deadline has
// passed, and another one takes over within five seconds; never do two send.
func TestM45TakeoverOfTheUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTwo(t)
		defer d.close()
		stop := make(chan struct{})
		var pushing sync.WaitGroup
		for _, b := range []*bed{d.a, d.b} {
			pushing.Go(func() {
				for n := 0; ; n++ {
					ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
					// refused where it stands by
					_, _ = b.e.Push(ctx, api.Ref{Tenant: "default", Name: "g"}, "a", []json.RawMessage{
						json.RawMessage(fmt.Sprint(n)),
					})
					cancel()
					select {
					case <-time.After(20 * time.Millisecond):
					case <-stop:
						return
					}
				}
			})
		}
		time.Sleep(5 * time.Second)
		d.viewA.set(true, 0)
		cut := time.Now()
		took := d.b.until("g", reactor.HealthLive, 5*time.Second)
		if took < 2*time.Second {
			t.Errorf("taken over after %v: the lease still lasted", took)
		}
		d.a.until("g", reactor.HealthStandby, time.Second)
		time.Sleep(5 * time.Second)
		d.viewA.set(false, 0)
		time.Sleep(5 * time.Second)
		close(stop)
		pushing.Wait()
		if s := d.a.summary("g"); s.Health != "standby" || s.HealthReason.Code != "owned_elsewhere" {
			t.Errorf("the first owner after its return: %s %+v", s.Health, s.HealthReason)
		}
		var lastA, firstB time.Time
		for _, x := range d.sent.all() {
			if x.daemon == "a" {
				lastA = x.at
			} else if firstB.IsZero() {
				firstB = x.at
			}
		}
		if lastA.Before(cut) || lastA.Sub(cut) > 3*time.Second || !firstB.After(lastA) {
			t.Errorf("cut at 0; a has sent until %v, b from %v", lastA.Sub(cut), firstB.Sub(cut))
		}
	})
}

// M45: a process that was stopped and goes on knows by its own clock, at its first look,
// that it is no owner: also when the answer to its last renewal is good news.
func TestM45WokenOwnerStandsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTwo(t)
		defer d.close()
		time.Sleep(1500 * time.Millisecond)
		d.viewA.set(false, 20*time.Second)  // the next answer comes late
		time.Sleep(2600 * time.Millisecond) // its own deadline is over, nobody has taken the graph yet
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		// whatever is answered, nothing may come of it
		_, _ = d.a.e.Push(ctx, api.Ref{Tenant: "default", Name: "g"}, "a", []json.RawMessage{json.RawMessage("1")})
		cancel()
		synctest.Wait()
		if s, err := d.a.e.Graph(t.Context(), api.Ref{Tenant: "default", Name: "g"}); err != nil || s.Epoch != 0 {
			t.Errorf("an owner of the past has fired epoch %d, %v", s.Epoch, err)
		}
		d.b.until("g", reactor.HealthLive, 6*time.Second)
		if d.a.e.own.Holds() {
			t.Fatal("the stopped owner holds its term while another runs the graph")
		}
		before := len(d.sent.all())
		time.Sleep(20 * time.Second)
		d.viewA.set(false, 0)
		d.a.until("g", reactor.HealthStandby, time.Second)
		if n := len(d.sent.all()); n != before {
			t.Errorf("%d values were sent by an owner of the past", n-before)
		}
		if s := d.b.summary("g"); s.Health != "live" || s.Incarnation != 2 {
			t.Errorf("the new owner: %+v", s)
		}
	})
}

// M45: a daemon that stops hands its graphs over at once.
func TestM45PlannedHandoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTwo(t)
		defer d.b.close()
		d.a.push("g", "a", "1", "2")
		time.Sleep(300 * time.Millisecond) // not in step with the renewals
		d.a.close()
		if took := d.b.until("g", reactor.HealthLive, time.Second); took > 500*time.Millisecond {
			t.Errorf("handed over in %v", took)
		}
		if s := d.b.summary("g"); s.Epoch != 2 || s.Counters.Received != 2 {
			t.Errorf("the successor goes on at %+v", s)
		}
	})
}

// A store that is away for a moment and comes back finds the same owner, without a restart;
// one that is away for longer than the lease stops the graph, and it goes on.
func TestM45StoreOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, out := newShared(), &sent{}
		v := s.view("a")
		b := newBed(t, v, &scripted{sink: out.by("a")})
		defer b.close()
		b.apply(owned, "g")
		b.push("g", "a", "1")
		time.Sleep(10*time.Second + 10*time.Millisecond) // not in step with the renewals
		v.set(true, 0)
		time.Sleep(1300 * time.Millisecond)
		v.set(false, 0)
		time.Sleep(10 * time.Second)
		if s := b.summary("g"); s.Health != "live" || s.Incarnation != 1 {
			t.Fatalf("after a short outage: %+v", s)
		}
		v.set(true, 0)
		b.until("g", reactor.HealthStandby, 3*time.Second)
		if s := b.summary("g"); s.HealthReason.Code != "lease_lost" {
			t.Errorf("health reason %+v", s.HealthReason)
		}
		v.set(false, 0)
		b.until("g", reactor.HealthLive, 2*time.Second)
		if s := b.summary("g"); s.Incarnation != 2 || s.Epoch != 1 {
			t.Errorf("after a long outage: %+v", s)
		}
	})
}

// M45: a graph that is applied, changed or deleted at one daemon is so at the others.
func TestM45DeclarationsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTwo(t)
		defer d.close()
		d.a.push("g", "a", "1")
		d.b.apply("graph: g\naccumulators: { a: { strategy: sequential } }\nnodes: { n: { expr: a + 100 } "+
			"}\noutputs: { o: { from: n, sink: { drop: {} } } }\n", "g")
		time.Sleep(time.Second)
		if s := d.a.summary("g"); s.Revision != 2 || s.Health != "live" || s.Epoch != 1 {
			t.Fatalf("the owner after an update at the other: %+v", s)
		}
		d.a.push("g", "a", "2")
		if all := d.sent.all(); all[len(all)-1].value != "102" || all[len(all)-1].daemon != "a" {
			t.Errorf("sent %+v", all)
		}
		if err := d.b.e.Delete(t.Context(), api.Ref{Tenant: "default", Name: "g"}, true); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if _, err := d.a.e.Graph(t.Context(), api.Ref{Tenant: "default", Name: "g"}); refusalOf(err) == nil ||
			refusalOf(err).Status != 404 {
			t.Errorf("the owner has the deleted graph: %v", err)
		}
		if owners := d.viewA.s.owned(); len(owners) != 0 {
			t.Errorf("deleted at the other daemon, it is owned still: %v", owners)
		}
		d.a.apply(fmt.Sprintf(placed, "h"), "h")
		time.Sleep(10 * time.Second)
		owner := d.a
		if d.a.summary("h").Health != "live" {
			owner = d.b
		}
		if owners := d.viewA.s.owned(); len(owners) != 1 {
			t.Fatalf("owned: %v", owners)
		}
		if err := owner.e.Delete(t.Context(), api.Ref{Tenant: "default", Name: "h"}, false); err != nil {
			t.Fatal(err)
		}
		if owners := d.viewA.s.owned(); len(owners) != 0 {
			t.Errorf("deleted at its owner, it is owned still: %v", owners)
		}
	})
}
