package engine

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/sink"
)

// The graph lead lets others follow the cuts of a and b; q fails where b is 0. The one named by the first verb follows.
const (
	lead = `graph: lead
accumulators:
  a: { strategy: sequential, schema: { type: object, properties: { n: { type: integer } } }, emit: { n: event.n } }
  b: { passive: true, default: 1, global: true }
nodes: { q: { expr: a.n / b } }
outputs:
  cuts: { from: reactor, sink: { followers: {} } }
  q: { from: q, sink: { drop: {} } }
`
	follows = `graph: %s
accumulators: { cut: { source: { follow: { name: lead, output: cuts } }%s } }
nodes: { m: { expr: '[cut.epoch, cut.a.n, cut.b]' } }
outputs: { %[1]s_out: { from: m, sink: { stdout: {} } } }
`
)

// followBed is a bed whose graphs x and y deliver to sinks that remember.
func followBed(t *testing.T, store checkpoint.Store, x, y *picky) *bed {
	t.Helper()
	return newBed(t, store, &scripted{sink: into(map[string]sink.Sink{"x_out": x, "y_out": y})})
}

// leads pushes the numbers of a range to lead, one after the other.
func (b *bed) leads(from, to int) {
	b.t.Helper()
	for n := from; n <= to; n++ {
		b.push("lead", "a", fmt.Sprintf(`{"n":%d}`, n))
	}
}

// cutsOf is what a graph that follows has put out of the cuts of a range, b being 1.
func cutsOf(from, to int) string {
	var list []string
	for n := from; n <= to; n++ {
		list = append(list, fmt.Sprintf("[%d,%d,1]", n, n))
	}
	return fmt.Sprint(list)
}

// M7, M46: graphs that follow fire on the cuts of the leader, once for each and in order, with its number of the epoch;
// a failed epoch of one is nothing to the others, and the leader keeps its cuts until all have them in a checkpoint.
func TestM7GraphsFollowTheCutsOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := &picky{}, &picky{}
		b := followBed(t, memstore.New(), x, y)
		defer b.close()
		b.apply(lead, "lead")
		b.apply(fmt.Sprintf(follows, "x", ""), "x")
		b.apply(strings.Replace(fmt.Sprintf(follows, "y", ""), "cut.a.n,", "6 / (3 - cut.a.n) * 0 + cut.a.n,", 1), "y")
		b.leads(1, 2)
		b.push("lead", "b", "0")
		b.leads(3, 3)
		b.push("lead", "b", "1")
		b.leads(4, 4)
		if o := b.summary("lead").Outputs[0]; o.Pending == 0 {
			t.Errorf("the cuts are not kept: %+v", o)
		}
		time.Sleep(5 * time.Second)
		if want := "[[1,1,1] [2,2,1] [3,3,0] [4,4,1]]"; x.taken() != want {
			t.Errorf("x took %s, want %s", x.taken(), want)
		}
		if want := "[[1,1,1] [2,2,1] [4,4,1]]"; y.taken() != want {
			t.Errorf("y took %s, want %s", y.taken(), want)
		}
		lead, down := b.summary("lead"), b.summary("y")
		if lead.Epoch != 4 || lead.Counters.DeadLettered != 2 || down.Epoch != 4 || down.Counters.DeadLettered != 1 ||
			b.summary("x").Counters.DeadLettered != 0 {
			t.Errorf("lead %+v, y %+v", lead.Counters, down.Counters)
		}
		if a := down.Accumulators[0]; a.Position != "graph/"+lead.Instance+"/cuts@4" || a.Health != "live" {
			t.Errorf("%+v", a)
		}
		if o := lead.Outputs[0]; o.Pending != 0 || o.Path != "outbox" {
			t.Errorf("what both have is still kept: %+v", o)
		}
	})
}

// M29, M46: a leader or a graph that follows which is taken down at any moment, updated, reset, paused, or there later
// than the other, loses and doubles nothing; the cuts that nobody has yet wait.
func TestM46FollowersLoseNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := &picky{}, &picky{}
		store := memstore.New()
		b := followBed(t, store, x, y)
		ref := func(name string) api.Ref { return api.Ref{Tenant: "default", Name: name} }
		b.apply(fmt.Sprintf(follows, "x", ""), "x")
		if a := b.summary("x").Accumulators[0]; a.Health != "disconnected" ||
			!strings.Contains(a.HealthReason.Detail, `there is no graph "lead"`) {
			t.Errorf("%+v", a)
		}
		b.apply(lead, "lead")
		b.leads(1, 10)
		b.apply(lead+"description: another\n", "lead")
		b.leads(11, 20)
		b.apply(fmt.Sprintf(follows, "x", "")+"description: another\n", "x")
		b.leads(21, 30)
		time.Sleep(time.Second)
		if _, err := b.e.Pause(t.Context(), ref("x"), "test"); err != nil {
			t.Fatal(err)
		}
		b.leads(31, 40)
		b.close()
		b = followBed(t, store, x, y)
		defer func() { b.close() }()
		b.leads(41, 50)
		time.Sleep(5 * time.Second)
		if x.taken() != cutsOf(1, 30) {
			t.Errorf("paused, x took %s", x.taken())
		}
		if _, err := b.e.Resume(t.Context(), ref("x"), "test"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if x.taken() != cutsOf(1, 50) {
			t.Errorf("x took %s", x.taken())
		}
		b.apply(fmt.Sprintf(follows, "y", ""), "y")
		b.leads(51, 60)
		time.Sleep(5 * time.Second)
		if x.taken() != cutsOf(1, 60) || !strings.HasSuffix(y.taken(), strings.TrimPrefix(cutsOf(51, 60), "[")) {
			t.Errorf("x took %s, y %s", x.taken(), y.taken())
		}
	})
}

// M46: what a graph that follows has taken and has in no checkpoint comes again after a crash of it, from the leader,
// which was told of nothing else.
func TestM46FollowerGoesBackToItsCheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := &picky{}, &picky{}
		store := memstore.New()
		b := followBed(t, store, x, y)
		b.apply(lead, "lead")
		b.apply(fmt.Sprintf(follows, "x", "")+"durability: { interval: 1h }\n", "x")
		b.leads(1, 5)
		time.Sleep(10 * time.Second)
		if got, o := x.taken(), b.summary("lead").Outputs[0]; got != cutsOf(1, 5) || o.Pending != 5 {
			t.Fatalf("x took %s, and the leader keeps %+v", got, o)
		}
		// What comes meanwhile is read at once, although the leader still waits for what was before.
		b.leads(6, 9)
		time.Sleep(time.Second)
		if x.taken() != cutsOf(1, 9) {
			t.Errorf("x took %s", x.taken())
		}
		// Another process takes everything over from the store as this one left it, with nothing of its memory.
		other := &picky{}
		b2 := newBed(t, store, &scripted{sink: into(map[string]sink.Sink{"x_out": other})})
		defer b2.close()
		time.Sleep(time.Minute)
		if other.taken() != cutsOf(1, 9) {
			t.Errorf("after the crash x took %s", other.taken())
		}
		_ = b.e.Close() // its graphs are somebody else's by now
	})
}

// M4: a graph that follows and does not come on bounds its leader, which says whom it waits for, and loses nothing.
func TestM4FollowerHoldsItsLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := &picky{}, &picky{}
		b := followBed(t, memstore.New(), x, y)
		defer b.close()
		b.apply(lead, "lead")
		b.apply(fmt.Sprintf(follows, "x", ", capacity: 8"), "x")
		ref := api.Ref{Tenant: "default", Name: "x"}
		if _, err := b.e.Pause(t.Context(), ref, "test"); err != nil {
			t.Fatal(err)
		}
		b.leads(1, 2000)
		time.Sleep(2 * time.Minute)
		if o := b.summary("lead").Outputs[0]; o.Pending < 1900 || !strings.Contains(o.Error, `"x"`) {
			t.Errorf("%+v", o)
		}
		if _, err := b.e.Resume(t.Context(), ref, "test"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		if o := b.summary("lead").Outputs[0]; x.taken() != cutsOf(1, 2000) || o.Pending != 0 || o.Error != "" {
			t.Errorf("%+v, x took %.100s", o, x.taken())
		}
	})
}

// M33, M46: a leader is neither deleted nor changed into what its followers cannot read, nor is a graph applied that
// reads what the leader does not have: each refusal names the difference, and nothing has changed.
func TestM33ContractsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := &picky{}, &picky{}
		b := followBed(t, memstore.New(), x, y)
		defer b.close()
		apply := func(doc, name string) error {
			t.Helper()
			_, err := b.e.Apply(t.Context(), api.Ref{Tenant: "default", Name: name}, []byte(doc), api.Change{})
			return err
		}
		mistake := func(doc, name, code string, words ...string) {
			t.Helper()
			var e *api.Error
			err := apply(doc, name)
			if !errors.As(err, &e) || len(e.Diagnostics) != 1 || e.Diagnostics[0].Code != code ||
				e.Diagnostics[0].Line == 0 {
				t.Fatalf("%v %+v, want one mistake %s", err, e.Diagnostics, code)
			}
			for _, w := range words {
				if !strings.Contains(e.Diagnostics[0].Text, w) {
					t.Errorf("%q does not say %q", e.Diagnostics[0].Text, w)
				}
			}
		}
		b.apply(lead, "lead")
		good := fmt.Sprintf(follows, "x", "")
		mistake(strings.Replace(good, "output: cuts", "output: other", 1), "x", "contract", "no such output", "cuts, q")
		mistake(strings.Replace(good, "output: cuts", "output: q", 1), "x", "contract", "followers: {}")
		mistake(strings.Replace(good, "cut.a.n", "cut.c", 1), "x", "unknown_field", "c", "a, b, epoch")
		mistake(fmt.Sprintf(follows, "x", ", schema: { type: object, required: [a, c], properties: { a: { type: "+
			"object, required: [m, n], properties: { n: { type: string } } } } }"), "x", "contract",
			"cut.c is required and does not come (a, b, epoch, meta, now)", "cut.a.m is required",
			"cut.a.n is declared as string and comes as int")
		b.apply(fmt.Sprintf(follows, "x", ", schema: { type: object, required: [a], properties: { a: { type: object, "+
			"required: [n], properties: { n: { type: integer } } } } }"), "x")
		b.apply(fmt.Sprintf(follows, "y", ""), "y")
		renamed := strings.NewReplacer("emit: { n", "emit: { m", "a.n", "a.m").Replace(lead)
		wantCode(t, apply(renamed, "lead"), http.StatusConflict, "followed", "x (accumulator cut)",
			"cut.a.n is required", "y (accumulator cut)")
		wantCode(t, apply(strings.Replace(lead, "cuts:", "cut:", 1), "lead"), http.StatusConflict, "followed", "x", "y",
			"no such output")
		err := b.e.Delete(t.Context(), api.Ref{Tenant: "default", Name: "lead"}, true)
		wantCode(t, err, http.StatusConflict, "followed",
			"x (accumulator cut, of output cuts)", "y (accumulator cut, of output cuts)")
		if s := b.summary("lead"); s.Revision != 1 || s.Health != "live" {
			t.Errorf("the leader has changed: %+v", s)
		}
		for _, g := range []string{"x", "y", "lead"} {
			if err := b.e.Delete(t.Context(), api.Ref{Tenant: "default", Name: g}, true); err != nil {
				t.Error(err)
			}
		}
	})
}

// M29, M46: a leader that has been reset goes on with the numbers of its cuts, and a graph that follows and has been
// reset begins with what the leader still keeps: neither passes a cut over.
func TestM46ResetsLoseNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := &picky{}, &picky{}
		b := followBed(t, memstore.New(), x, y)
		defer b.close()
		b.apply(lead, "lead")
		b.apply(fmt.Sprintf(follows, "x", ""), "x")
		b.leads(1, 5)
		time.Sleep(5 * time.Second)
		for _, g := range []string{"lead", "x", "lead"} {
			if _, err := b.e.Reset(t.Context(), api.Ref{Tenant: "default", Name: g}, g, "test"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			n := int(b.summary("lead").Epoch)
			b.leads(n+1, n+5)
			time.Sleep(5 * time.Second)
		}
		if x.taken() != cutsOf(1, 20) {
			t.Errorf("x took %s", x.taken())
		}
		// One that is reset while the leader waits for it has to have all of that again.
		ref := api.Ref{Tenant: "default", Name: "x"}
		b.apply(fmt.Sprintf(follows, "x", "")+"durability: { interval: 1h }\n", "x")
		b.leads(21, 25)
		time.Sleep(5 * time.Second)
		if _, err := b.e.Reset(t.Context(), ref, "x", "test"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if s := b.summary("x"); s.Counters.Received != 5 || b.summary("lead").Outputs[0].Pending != 5 {
			t.Errorf("it has %+v, and the leader keeps %+v", s.Counters, b.summary("lead").Outputs[0])
		}
	})
}

// M46: an output that is taken out and comes back goes on with its numbers, so that who has followed it before, and was
// deleted with its state kept, passes nothing over.
func TestM46OutputsGoOnWithTheirNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := &picky{}, &picky{}
		b := followBed(t, memstore.New(), x, y)
		defer b.close()
		b.apply(lead, "lead")
		b.apply(fmt.Sprintf(follows, "x", ""), "x")
		b.leads(1, 5)
		time.Sleep(5 * time.Second)
		if err := b.e.Delete(t.Context(), api.Ref{Tenant: "default", Name: "x"}, false); err != nil {
			t.Fatal(err)
		}
		b.apply(strings.Replace(lead, "  cuts: { from: reactor, sink: { followers: {} } }\n", "", 1), "lead")
		b.leads(6, 7)
		b.apply(lead, "lead")
		b.apply(fmt.Sprintf(follows, "x", ""), "x")
		b.leads(8, 10)
		time.Sleep(5 * time.Second)
		if want := strings.TrimSuffix(cutsOf(1, 5), "]") + " " + cutsOf(8, 10)[1:]; x.taken() != want {
			t.Errorf("x took %s, want %s", x.taken(), want)
		}
	})
}

// M26, M46: a graph that follows goes by the leader's time where it says so.
func TestM26FollowersHaveTheLeadersTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := &picky{}, &picky{}
		b := followBed(t, memstore.New(), x, y)
		defer b.close()
		b.apply(lead, "lead")
		doc := fmt.Sprintf(follows, "x", ", time: event.now, window: { tumbling: 1m, aggregate: { n: count(), last: "+
			"max(event.epoch) } }")
		b.apply(strings.Replace(doc, "cut.epoch, cut.a.n, cut.b", "cut.n, cut.last", 1), "x")
		for n := range 10 {
			b.leads(n+1, n+1)
			time.Sleep(20 * time.Second)
		}
		time.Sleep(time.Minute)
		if x.taken() != "[[3,3] [3,6] [3,9] [1,10]]" {
			t.Errorf("x took %s", x.taken())
		}
	})
}

// M13, M48: keys travel with the cuts, and a graph with shards that is followed, or follows, runs as one.
func TestM48ShardsThatFollowRunAsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := &picky{}, &picky{}
		b := followBed(t, memstore.New(), x, y)
		defer b.close()
		b.apply(lead+"reactor: { key: n % 3, shards: 4 }\n", "lead")
		b.apply(strings.Replace(fmt.Sprintf(follows, "x", ""), "'[cut.epoch, cut.a.n, cut.b]'", "'[key, cut.key, "+
			"cut.a.n]'", 1)+"reactor: { key: key, shards: 2 }\n", "x")
		b.leads(1, 4)
		time.Sleep(5 * time.Second)
		if x.taken() != "[[1,1,1] [2,2,2] [0,0,3] [1,1,4]]" {
			t.Errorf("x took %s", x.taken())
		}
		for _, g := range []string{"lead", "x"} {
			if k := b.summary(g).Keys; k == nil || k.Count != 3 || k.AsOne == "" || k.ShardsRunning != 1 {
				t.Errorf("%s: %+v", g, k)
			}
		}
	})
}

// M46: an output of a node is followed as the reactor's is.
func TestM46NodesAreFollowedToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := &picky{}, &picky{}
		b := followBed(t, memstore.New(), x, y)
		defer b.close()
		b.apply(strings.Replace(lead, "from: reactor", "from: q", 1), "lead")
		b.apply(strings.Replace(fmt.Sprintf(follows, "x", ""), "'[cut.epoch, cut.a.n, cut.b]'", "cut + 1", 1), "x")
		b.leads(1, 3)
		time.Sleep(5 * time.Second)
		if x.taken() != "[2 3 4]" {
			t.Errorf("x took %s", x.taken())
		}
		if kinds := b.kinds("x"); slices.Contains(kinds, "source_data_lost") {
			t.Errorf("%v", kinds)
		}
	})
}
