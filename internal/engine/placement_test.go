package engine

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/placement"
	"github.com/graphd/graphd/internal/reactor"
)

const placed = "graph: %s\naccumulators: { a: { strategy: sequential } }\nnodes: { n: { expr: a } }\noutputs: { o: { " +
	"from: n, sink: { drop: {} } } }\n"

// spread are the graphs that each of two daemons runs.
func (d *two) spread(names []string) (a, b []string) {
	d.a.t.Helper()
	for _, name := range names {
		atA, atB := d.a.summary(name).Health == "live", d.b.summary(name).Health == "live"
		switch {
		case atA && atB:
			d.a.t.Fatalf("graph %s is live at both", name)
		case atA:
			a = append(a, name)
		case atB:
			b = append(b, name)
		}
	}
	return a, b
}

// M52: a daemon that comes is given its share, a tenth at a time, after half a minute: each graph goes on where
// it was, and none is lost on the way. A drain gives all to the other at once, and its end gives them back.
func TestM52NewcomerGetsItsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, out := newShared(), &sent{}
		s.capacity["a"], s.capacity["b"] = 1, 1
		d := &two{viewA: s.view("a"), viewB: s.view("b"), sent: out}
		d.a = newBed(t, d.viewA, &scripted{sink: out.by("a")})
		var names, atA []string
		for n := range 20 {
			name := fmt.Sprintf("g%d", n)
			names = append(names, name)
			d.a.apply(fmt.Sprintf(placed, name), name)
			d.a.until(name, reactor.HealthLive, time.Second)
			d.a.push(name, "a", "1")
			ranks := placement.OrderOf(placement.Places{}, []checkpoint.Member{
				{ID: "a", Capacity: 1}, {ID: "b", Capacity: 1},
			}).Rank(checkpoint.ID{Tenant: "default", Graph: name})
			if ranks[0] == "a" {
				atA = append(atA, name)
			}
		}
		d.b = newBed(t, d.viewB, &scripted{sink: out.by("b")})
		defer d.close()
		time.Sleep(29 * time.Second)
		if a, b := d.spread(names); len(a) != 20 {
			t.Fatalf("before half a minute: %v and %v", a, b)
		}
		time.Sleep(15 * time.Second)
		a, b := d.spread(names)
		if fmt.Sprint(a) != fmt.Sprint(atA) || len(a)+len(b) != len(names) || len(b) == 0 {
			t.Errorf("at a are %v, want %v; at b %v", a, atA, b)
		}
		for _, name := range b {
			if s := d.b.summary(name); s.Epoch != 1 || s.Counters.Received != 1 {
				t.Errorf("%s goes on at %+v", name, s)
			}
		}
		s.drain("a", true)
		time.Sleep(time.Second)
		if a, b := d.spread(names); len(a) != 0 || len(b) != len(names) {
			t.Errorf("drained: %v and %v", a, b)
		}
		s.drain("a", false)
		time.Sleep(45 * time.Second)
		if a, _ := d.spread(names); fmt.Sprint(a) != fmt.Sprint(atA) {
			t.Errorf("after the drain: %v, want %v", a, atA)
		}
	})
}

// M52: graphs that feed each other are at one daemon, whatever they would be alone, and go together: what one
// has handed to the other arrives.
func TestM52LinkedGraphsStayTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, out := newShared(), &sent{}
		s.capacity["a"], s.capacity["b"] = 1, 1
		d := &two{viewA: s.view("a"), viewB: s.view("b"), sent: out}
		d.a = newBed(t, d.viewA, &scripted{sink: out.by("a")})
		d.a.apply(fmt.Sprintf(upFeeds, ""), "up")
		d.a.apply(fmt.Sprintf(downPlain, ""), "down")
		d.a.until("down", reactor.HealthLive, time.Second)
		d.b = newBed(t, d.viewB, &scripted{sink: out.by("b")})
		defer d.close()
		for round := range 6 {
			at, other := d.a, d.b
			if at.summary("up").Health != "live" {
				at, other = other, at
			}
			at.until("down", reactor.HealthLive, 2*time.Second)
			for n := range 5 {
				at.push("up", "a", fmt.Sprint(5*round+n))
			}
			s.drain(at.e.own.Self(), true)
			other.until("up", reactor.HealthLive, 2*time.Second)
			other.until("down", reactor.HealthLive, 2*time.Second)
			s.drain(at.e.own.Self(), false)
		}
		time.Sleep(time.Second)
		seen := map[string]int{}
		for _, x := range out.all() {
			seen[x.value]++
		}
		for n := range 30 {
			if v := fmt.Sprint(10*n + 1); seen[v] != 1 {
				t.Errorf("%s has arrived %d times", v, seen[v])
			}
		}
	})
}
