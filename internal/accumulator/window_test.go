package accumulator

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphd/graphd/internal/accumulator/window"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/spec"
)

// tumbling is a window over {"at","k","x"}, at in seconds of 2026-11-20T10.
func tumbling(size time.Duration, aggregates ...spec.Field) spec.Accumulator {
	if len(aggregates) == 0 {
		aggregates = []spec.Field{field("n", "count()")}
	}
	return spec.Accumulator{
		Kind: "window", Time: expr("event.at"), TimeUnit: "s",
		Config: window.Declared{Size: size, Every: size, Late: "drop", Groups: "each", Aggregate: aggregates},
	}
}

// reading is an event of the t-th second.
func reading(t int, k string, x any) *boundary.Event {
	return pulled(1, fmt.Sprintf(`{"at":%d,"k":%q,"x":%v}`, epochStart.Unix()+int64(t), k, x))
}

// far is a clock that no event is ahead of.
var far = epochStart.Add(24 * time.Hour)

// feedAll adds events and returns what was handed over, and the fates that were not Accepted.
func feedAll(t *testing.T, c *Core, events ...*boundary.Event) (out []string, fates []string) {
	t.Helper()
	before := c.Counters()
	for i, ev := range events {
		if o := c.Add(far, ev, true); o.Status != Accepted {
			fates = append(fates, fmt.Sprintf("%d %s %s", i, o.Status, o.Code))
		}
	}
	h := &Handoff{}
	c.Drain(h)
	balanced(t, c, before, h)
	return brief(h), fates
}

// brief is the boundaries with the times as seconds since epochStart, and what they account for.
func brief(h *Handoff) (out []string) {
	for i := range h.Boundaries {
		b := &h.Boundaries[i]
		start, _ := b.Value.Field("start").AsTime()
		end, _ := b.Value.Field("end").AsTime()
		s := fmt.Sprintf("[%v,%v)", start.Sub(epochStart).Seconds(), end.Sub(epochStart).Seconds())
		for name, f := range b.Value.Fields() {
			if name != "start" && name != "end" && name != "k" {
				s += " " + name + "=" + f.String()
			}
		}
		out = append(out, fmt.Sprintf("%s +%d", s, b.Events))
	}
	return out
}

// balanced checks the books of a core whose handoffs are all in h (M42).
func balanced(t *testing.T, c *Core, before Counters, h *Handoff) {
	t.Helper()
	n := c.Counters()
	fate := n.Filtered + n.Rejected + n.DeadLettered + n.Open + events(h)
	if was := before.Filtered + before.Rejected + before.DeadLettered +
		before.Open; n.Received-before.Received != fate-was {
		t.Errorf("received %d, and %d are accounted for: %+v", n.Received-before.Received, fate-was, n)
	}
	for _, b := range h.Boundaries {
		if b.Events < 0 || b.At.IsZero() || b.Size <= 0 {
			t.Errorf("boundary %s: %d events, at %v, size %d", b.Value, b.Events, b.At, b.Size)
		}
	}
}

func want(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// M3: what an event at an edge, before it and after it does; windows without events; equal
// times; events out of order.
func TestM3WindowEdges(t *testing.T) {
	t.Parallel()
	t.Run("an event at the end belongs to the next window and closes this one", func(t *testing.T) {
		c := newCore(t, tumbling(10*time.Second))
		out, _ := feedAll(t, c, reading(0, "", 1), reading(9, "", 1), reading(9, "", 1))
		want(t, "open", out)
		out, _ = feedAll(t, c, reading(10, "", 1))
		want(t, "closed", out, "[0,10) n=3 +3")
	})
	t.Run("empty windows are not handed over", func(t *testing.T) {
		c := newCore(t, tumbling(10*time.Second))
		out, _ := feedAll(t, c, reading(0, "", 1), reading(55, "", 1), reading(60, "", 1))
		want(t, "closed", out, "[0,10) n=1 +1", "[50,60) n=1 +1")
	})
	t.Run("lateness keeps a window open for so long", func(t *testing.T) {
		a := tumbling(10 * time.Second)
		change(&a, func(w *window.Declared) { w.Lateness = 5 * time.Second })
		c := newCore(t, a)
		out, fates := feedAll(t, c, reading(3, "", 1), reading(14, "", 1), reading(9, "", 1))
		want(t, "within lateness", append(out, fates...))
		out, fates = feedAll(t, c, reading(15, "", 1), reading(9, "", 1))
		want(t, "closed", out, "[0,10) n=2 +2")
		want(t, "late", fates, "1 filtered ")
	})
	t.Run("before 1970", func(t *testing.T) {
		c := newCore(t, tumbling(10*time.Second))
		raw := func(at int) *boundary.Event { return pulled(1, fmt.Sprintf(`{"at":%d}`, at)) }
		for _, at := range []int{-11, -10, -1, 0} {
			c.Add(far, raw(at), true)
		}
		h := take(t, c)
		if got := values(h); !slices.Equal(got, []string{
			`{"end":"1969-12-31T23:59:50.000Z","n":1,"start":"1969-12-31T23:59:40.000Z"}`,
			`{"end":"1970-01-01T00:00:00.000Z","n":2,"start":"1969-12-31T23:59:50.000Z"}`,
		}) {
			t.Errorf("got %q", got)
		}
	})
	t.Run("groups in the order of their ends and keys", func(t *testing.T) {
		c := newCore(t, keyed(tumbling(10*time.Second)))
		out, _ := feedAll(t, c, reading(1, "b", 1), reading(11, "a", 1), reading(2, "c", 1), reading(2, "b", 1),
			reading(3, "a", 1), reading(30, "a", 1))
		// The event of the second window closed the first, so that three were late.
		want(t, "closed", out, `[0,10) key="b" n=1 +1`, `[10,20) key="a" n=1 +1`)
		a := keyed(tumbling(10 * time.Second))
		change(&a, func(w *window.Declared) { w.Lateness = 10 * time.Second })
		c = newCore(t, a)
		out, _ = feedAll(t, c, reading(1, "b", 1), reading(11, "a", 1), reading(2, "c", 1), reading(2, "b", 1),
			reading(3, "a", 1), reading(40, "a", 1))
		want(t, "closed in order", out, `[0,10) key="a" n=1 +1`, `[0,10) key="b" n=2 +2`, `[0,10) key="c" n=1 +1`,
			`[10,20) key="a" n=1 +1`)
	})
}

// M3, M42: hopping windows hold an event several times and account for it once, by the last.
func TestM42HoppingAccountsOnce(t *testing.T) {
	t.Parallel()
	a := tumbling(30 * time.Second)
	change(&a, func(w *window.Declared) { w.Every = 10 * time.Second })
	c := newCore(t, a)
	out, _ := feedAll(t, c, reading(5, "", 1), reading(15, "", 1), reading(39, "", 1), reading(100, "", 1))
	want(t, "closed", out,
		"[-20,10) n=1 +0", "[-10,20) n=2 +0", "[0,30) n=2 +1",
		"[10,40) n=2 +1", "[20,50) n=1 +0", "[30,60) n=1 +1")
	if n := c.Counters(); n.Received != 4 || n.Open != 1 {
		t.Errorf("counters %+v", n)
	}
	// An event whose first windows have closed is in those that are open, and accounted for.
	if o := c.Add(far, reading(85, "", 1), true); o.Status != Accepted {
		t.Errorf("an event with an open window is %s", o.Status)
	}
	c.EndOfInput(far)
	h := take(t, c)
	want(t, "end of input", brief(h), "[80,110) n=2 +1", "[90,120) n=1 +0", "[100,130) n=1 +1")
}

// M3: late events, by policy.
func TestM3LatePolicies(t *testing.T) {
	t.Parallel()
	late := []*boundary.Event{reading(1, "a", 1), reading(25, "a", 1), reading(2, "a", 1)}
	t.Run("drop", func(t *testing.T) {
		c := newCore(t, keyed(tumbling(10*time.Second)))
		out, fates := feedAll(t, c, late...)
		want(t, "fates", fates, "2 filtered ")
		want(t, "closed", out, `[0,10) key="a" n=1 +1`)
		if n := c.Counters(); n.Filtered != 1 || n.Received != 3 || n.Open != 1 {
			t.Errorf("counters %+v", n)
		}
	})
	t.Run("dead_letter", func(t *testing.T) {
		a := keyed(tumbling(10 * time.Second))
		change(&a, func(w *window.Declared) { w.Late = "dead_letter" })
		c := newCore(t, a)
		for _, ev := range late {
			c.Add(far, ev, true)
		}
		h := take(t, c)
		if len(h.DeadLetters) != 1 || h.DeadLetters[0].Code != "late_event" ||
			string(h.DeadLetters[0].Payload) != string(late[2].Raw) || h.Mark.Counters.DeadLettered != 1 {
			t.Errorf("letters %+v, counters %+v", h.DeadLetters, h.Mark.Counters)
		}
		// A sender who waits is told instead (M5).
		if o := c.Add(far, pushed(string(late[2].Raw)), false); o.Status != Rejected || o.Code != "late_event" {
			t.Errorf("a pushed late event: %+v", o)
		}
	})
	t.Run("update", func(t *testing.T) {
		a := keyed(tumbling(10 * time.Second))
		change(&a, func(w *window.Declared) { w.Late, w.Retain = "update", 20*time.Second })
		c := newCore(t, a)
		out, fates := feedAll(t, c, append(late, reading(3, "b", 1), reading(29, "a", 1), reading(4, "a", 1),
			reading(30, "a", 1), reading(5, "a", 1))...)
		want(t, "handed over", out,
			`[0,10) key="a" n=1 update=false +1`, `[0,10) key="a" n=2 update=true +1`,
			`[0,10) key="b" n=1 update=true +1`,
			`[0,10) key="a" n=3 update=true +1`, `[20,30) key="a" n=2 update=false +2`)
		want(t, "past retain", fates, "7 filtered ")
		if n := c.Counters(); n.Open != 1 || n.Received != 8 || n.Filtered != 1 {
			t.Errorf("counters %+v", n)
		}
	})
	t.Run("update of hopping windows, all groups", func(t *testing.T) {
		a := keyed(tumbling(20 * time.Second))
		change(&a, func(w *window.Declared) {
			w.Every, w.Groups, w.Late, w.Retain = 10*time.Second, "all", "update", time.Minute
		})
		c := newCore(t, a)
		out, _ := feedAll(t, c, reading(11, "b", 1), reading(35, "a", 1), reading(12, "a", 1))
		want(t, "handed over", out,
			`[0,20) groups=[{"k":"b","key":"b","n":1}] update=false +0`,
			`[10,30) groups=[{"k":"b","key":"b","n":1}] update=false +1`,
			`[0,20) groups=[{"k":"a","key":"a","n":1},{"k":"b","key":"b","n":1}] update=true +0`,
			`[10,30) groups=[{"k":"a","key":"a","n":1},{"k":"b","key":"b","n":1}] update=true +1`)
	})
}

// M3: the watermark is that of the slowest partition that is not idle.
func TestM3Partitions(t *testing.T) {
	t.Parallel()
	from := func(stream string, second int) *boundary.Event {
		ev := reading(second, "", 1)
		ev.Pos.Stream = stream
		return ev
	}
	a := tumbling(10 * time.Second)
	change(&a, func(w *window.Declared) { w.Idle = time.Minute })
	c := newCore(t, a)
	now := far
	c.Advance(now, boundary.Position{Stream: "t/2", Offset: 0}) // announced, and waited for
	c.Add(now, from("t/0", 5), true)
	c.Add(now, from("t/1", 25), true)
	c.Add(now, from("t/0", 12), true)
	h := take(t, c)
	want(t, "while t/2 has said nothing", brief(h))
	now = now.Add(30 * time.Second)
	c.Add(now, from("t/2", 8), true)
	c.Add(now, from("t/2#1", 11), true) // the next generation of the same stream
	want(t, "up to the slowest", brief(take(t, c)), "[0,10) n=2 +2")
	due, ok := c.Due()
	if !ok || due.Sub(far) != time.Minute {
		t.Fatalf("due %v %v, want a minute after t/0 and t/1 were heard of", due, ok)
	}
	c.Tick(due) // t/0 and t/1 are idle
	want(t, "t/2 alone", brief(take(t, c)))
	c.Add(due, from("t/2", 31), true)
	want(t, "t/2 alone moves it", brief(take(t, c)), "[10,20) n=2 +2", "[20,30) n=1 +1")
	if o := c.Add(due, from("t/0", 14), true); o.Status != Filtered {
		t.Errorf("what an idle partition sends behind the watermark is %s", o.Status)
	}
	// When all are idle nobody waits for anybody: the one that is furthest decides.
	c.Add(due, from("t/1", 50), true)
	now = due.Add(time.Minute)
	c.Tick(now)
	want(t, "all idle", brief(take(t, c)), "[30,40) n=1 +1")
	if due, ok := c.Due(); ok {
		t.Errorf("due %v although all partitions are idle", due)
	}
}

// M3: a clock that runs ahead closes nothing before its time, and the event is kept.
func TestM3ClockInTheFuture(t *testing.T) {
	t.Parallel()
	c := newCore(t, tumbling(10*time.Second))
	add := func(now, event int) Outcome {
		return c.Add(at(time.Duration(now)*time.Second), reading(event, "", 1), true)
	}
	add(1, 1)
	add(2, 7200) // two hours ahead
	add(3, 3)
	if n := c.Counters(); n.Open != 3 || n.Filtered != 0 {
		t.Fatalf("counters %+v, want all open", n)
	}
	add(11, 11)
	want(t, "closed in time", brief(take(t, c)), "[0,10) n=2 +2")
	c.EndOfInput(far)
	want(t, "the rest", brief(take(t, c)), "[10,20) n=1 +1", "[7200,7210) n=1 +1")
	if o := c.Add(far, pulled(1, `{"at":99999999999}`), true); o.Code != "time_invalid" {
		t.Errorf("a time out of range: %+v", o)
	}
}

// M3: without time windows run on the arrival clock and close by it.
func TestM3ArrivalClock(t *testing.T) {
	t.Parallel()
	a := tumbling(10 * time.Second)
	a.Time = spec.Expr{}
	change(&a, func(w *window.Declared) { w.Lateness = 2 * time.Second })
	c := newCore(t, a)
	c.Add(at(time.Second), pushed(`{}`), false)
	c.Add(at(9*time.Second), pushed(`{}`), false)
	due, ok := c.Due()
	if !ok || !due.Equal(at(12*time.Second)) {
		t.Fatalf("due %v %v", due, ok)
	}
	c.Tick(at(11 * time.Second))
	want(t, "too soon", brief(take(t, c)))
	c.Tick(due)
	want(t, "closed", brief(take(t, c)), "[0,10) n=2 +2")
	if due, ok := c.Due(); ok {
		t.Errorf("due %v with nothing open", due)
	}
}

// M3: partial results of open windows account for nothing.
func TestM3Early(t *testing.T) {
	t.Parallel()
	a := keyed(tumbling(time.Minute))
	change(&a, func(w *window.Declared) { w.Early = 5 * time.Second })
	c := newCore(t, a)
	step := func(now, event int, k string) { c.Add(at(time.Duration(now)*time.Second), reading(event, k, 1), true) }
	step(1, 1, "b")
	step(2, 2, "a")
	due, ok := c.Due()
	if !ok || !due.Equal(at(6*time.Second)) {
		t.Fatalf("due %v %v", due, ok)
	}
	c.Tick(due)
	want(t, "early", brief(take(t, c)), `[0,60) key="a" n=1 early=true +0`, `[0,60) key="b" n=1 early=true +0`)
	if _, ok := c.Due(); ok {
		t.Error("due although nothing has changed")
	}
	step(10, 10, "b")
	c.Tick(at(15 * time.Second))
	want(t, "what has changed", brief(take(t, c)), `[0,60) key="b" n=2 early=true +0`)
	step(60, 60, "b")
	want(t, "final", brief(take(t, c)), `[0,60) key="a" n=1 early=false +1`, `[0,60) key="b" n=2 early=false +2`)
}

// M42, M21: a group whose result cannot be computed is a dead letter that accounts for its events.
func TestM42GroupWithoutResult(t *testing.T) {
	t.Parallel()
	c := newCore(t,
		keyed(tumbling(10*time.Second, field("total", "sum(event.x)"), field("half", "sum(event.x) / count()"))))
	big := "9223372036854775807"
	for _, ev := range []*boundary.Event{
		reading(1, "a", big), reading(2, "a", 1), reading(3, "b", big), reading(4, "b", -1), reading(20, "a", 1),
	} {
		c.Add(far, ev, true)
	}
	h := &Handoff{}
	c.Drain(h)
	want(t, "the good one", brief(h), `[0,10) key="b" total=9223372036854775806 half=4611686018427387904 +2`)
	if len(h.DeadLetters) != 1 {
		t.Fatalf("letters %+v", h.DeadLetters)
	}
	l := h.DeadLetters[0]
	if l.Code != "not_finite" || l.Stage != "aggregate" || l.Events != 2 || !l.Folded || l.Key != "" ||
		h.Mark.Counters.DeadLettered != 2 || h.Mark.Counters.Open != 1 {
		t.Errorf("letter %+v, counters %+v", l, h.Mark.Counters)
	}
	for raw, code := range map[string]string{
		`{"at":1800000000,"k":"a","x":"text"}`: "type_error", `{"at":1800000000,"x":1}`: "key_missing",
		`{"at":1800000000,"k":1.5,"x":1}`: "bad_key", `{"at":null,"k":"a","x":1}`: "time_invalid",
	} {
		if o := c.Add(far, pulled(1, raw), true); o.Code != code || o.Status != DeadLettered {
			t.Errorf("%s: %+v, want %s", raw, o, code)
		}
	}
}

// The key stands under its field's name too, composite keys are lists, and what emit makes
// is what is aggregated while key and time read the event as it came.
func TestWindowShapes(t *testing.T) {
	t.Parallel()
	a := tumbling(10*time.Second, field("worst", "max_by(event, event.y).y"), field("all", "collect(event.y, 2)"))
	change(&a, func(w *window.Declared) { w.Key = []spec.Expr{expr("event.k"), expr("event.x % 2 == 0")} })
	a.Emit = []spec.Field{field("y", "event.x * 10")}
	p := compileOnly(t, a)
	if got := p.Type().String(); got != "{all: list, end: time, k: any, key: list, start: time, worst: any}" {
		t.Errorf("type %s", got)
	}
	c := newCore(t, a)
	for _, ev := range []*boundary.Event{reading(3, "a", 2), reading(2, "a", 4), reading(1, "a", 6), reading(1, "a", 7),
		reading(20, "a", 1)} {
		c.Add(far, ev, true)
	}
	h := take(t, c)
	want(t, "values", values(h),
		`{"all":[70],"end":"2026-11-20T10:00:10.000Z","k":"a","key":["a",false],"start":"2026-11-20T10:00:00.000Z",`+
			`"worst":70}`,
		`{"all":[60,40],"end":"2026-11-20T10:00:10.000Z","k":"a","key":["a",true],`+
			`"start":"2026-11-20T10:00:00.000Z","worst":60}`)
	if k := h.Boundaries[0].Key; k != "" {
		t.Errorf("key %s", k)
	}
}
