package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/reactor"
)

// reluctant is a store that takes no declaration of a graph, and has something happen before it says so.
type reluctant struct {
	checkpoint.Store
	of     string
	before func()
}

func (s *reluctant) PutDeclaration(ctx context.Context, d checkpoint.Declaration, rev int64) (int64, error) {
	if d.Graph == s.of {
		s.before()
		return 0, errors.New("it is full")
	}
	return s.Store.PutDeclaration(ctx, d, rev)
}

// M33, M46: a graph whose update would end that it follows, and is refused, has followed all the time: what the leader
// has put out meanwhile was kept for it.
func TestM46ARefusedUpdateFollowsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := &picky{}, &picky{}
		store := &reluctant{Store: memstore.New()}
		b := followBed(t, store, x, y)
		defer b.close()
		b.apply(lead, "lead")
		b.apply(fmt.Sprintf(follows, "x", ""), "x")
		b.leads(1, 5)
		time.Sleep(5 * time.Second)
		store.before = func() {
			b.leads(6, 10)
			time.Sleep(5 * time.Second)
			if o := b.summary("lead").Outputs[0]; o.Pending != 5 {
				t.Errorf("the leader keeps %+v", o)
			}
		}
		store.of = "x"
		other := strings.Replace(fmt.Sprintf(follows, "x", ""), "source: { follow: { name: lead, output: cuts } }",
			"strategy: sequential", 1)
		if _, err := b.e.Apply(t.Context(), api.Ref{Tenant: "default", Name: "x"}, []byte(other),
			api.Change{}); err == nil {
			t.Error("it is applied")
		}
		time.Sleep(5 * time.Second)
		if x.taken() != cutsOf(1, 10) {
			t.Errorf("x took %s", x.taken())
		}
		// Once it is applied nobody is waited for.
		store.of = ""
		b.apply(other, "x")
		b.leads(11, 12)
		time.Sleep(5 * time.Second)
		if o := b.summary("lead").Outputs[0]; o.Pending != 0 {
			t.Errorf("the leader keeps %+v", o)
		}
	})
}

// M46: a graph whose declaration cannot be used at a start may be one that follows. The leader keeps its values until
// it is known, says whom for, and is neither deleted nor changed so that they would be others.
func TestM46AnUnusableFollowerIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := &picky{}, &picky{}
		store := memstore.New()
		b := followBed(t, store, x, y)
		doc := fmt.Sprintf(follows, "x", "")
		b.apply(lead, "lead")
		b.apply(doc, "x")
		b.leads(1, 5)
		time.Sleep(5 * time.Second)
		b.close()
		broken := checkpoint.Declaration{Tenant: "default", Graph: "x", Origin: "api", Updated: time.Now(),
			Text: strings.Replace(doc, "nodes:", "nodes: { m: [ }", 1)}
		if _, err := store.PutDeclaration(t.Context(), broken, 0); err != nil {
			t.Fatal(err)
		}
		b = followBed(t, store, x, y)
		defer func() { b.close() }()
		b.leads(6, 10)
		time.Sleep(5 * time.Second)
		if o := b.summary("lead").Outputs[0]; o.Pending != 5 || !strings.Contains(o.Error, `"x"`) {
			t.Errorf("%+v", o)
		}
		ref := api.Ref{Tenant: "default", Name: "lead"}
		wantCode(t, b.e.Delete(t.Context(), ref, true), http.StatusConflict, "followed", `graph "x"`)
		for _, other := range []string{strings.Replace(lead, "cuts:", "cut:", 1),
			strings.NewReplacer("emit: { n", "emit: { m", "a.n", "a.m").Replace(lead)} {
			_, err := b.e.Apply(t.Context(), ref, []byte(other), api.Change{})
			wantCode(t, err, http.StatusConflict, "followed", `graph "x"`, "cuts")
		}
		b.apply(lead+"description: another\n", "lead")
		b.apply(doc, "x")
		time.Sleep(5 * time.Second)
		if o := b.summary("lead").Outputs[0]; x.taken() != cutsOf(1, 10) || o.Pending != 0 {
			t.Errorf("x took %s, and the leader keeps %+v", x.taken(), o)
		}
	})
}

// M46, M52: a graph that another daemon has applied, and that the one which runs the leader has no room for, is waited
// for: the leader keeps its values, says whom for, and is neither deleted nor changed. Once there is room, or the graph
// is deleted, that ends.
func TestM46AFollowerWithoutRoomIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := &picky{}, &picky{}
		s := newShared()
		s.capacity["a"] = 1
		a, b := followBed(t, s.view("a"), x, y), followBed(t, s.view("b"), x, y)
		defer func() {
			b.close()
			a.close()
		}()
		a.e.cfg.MaxGraphs = 2
		ref := func(name string) api.Ref { return api.Ref{Tenant: "default", Name: name} }
		remove := func(at *bed, name string) {
			t.Helper()
			if err := at.e.Delete(t.Context(), ref(name), true); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Minute)
		}
		keeps := func(pending int64, whom string) {
			t.Helper()
			if o := a.summary("lead").Outputs[0]; o.Pending != pending || !strings.Contains(o.Error, whom) {
				t.Errorf("the leader keeps %+v, want %d", o, pending)
			}
		}
		a.apply(lead, "lead")
		a.apply(fmt.Sprintf(placed, "spare"), "spare")
		a.until("lead", reactor.HealthLive, time.Minute)
		b.until("lead", reactor.HealthStandby, time.Minute)
		b.apply(fmt.Sprintf(follows, "y", ""), "y")
		b.apply(fmt.Sprintf(follows, "x", ""), "x")
		time.Sleep(10 * time.Second)
		a.leads(1, 5)
		time.Sleep(time.Minute)
		keeps(5, `"x" is not taken`)
		wantCode(t, a.e.Delete(t.Context(), ref("lead"), true), http.StatusConflict, "followed", `graph "x"`)
		_, err := a.e.Apply(t.Context(), ref("lead"), []byte(strings.Replace(lead, "cuts:", "cut:", 1)), api.Change{})
		wantCode(t, err, http.StatusConflict, "followed", `graph "x"`, "cuts")
		remove(b, "x")
		keeps(5, `"y" is not taken`)
		remove(a, "spare")
		keeps(0, "")
		if y.taken() != cutsOf(1, 5) || x.taken() != "[]" {
			t.Errorf("y took %s, x %s", y.taken(), x.taken())
		}
		b.apply(fmt.Sprintf(follows, "x", ""), "x")
		time.Sleep(10 * time.Second)
		a.leads(6, 8)
		time.Sleep(time.Minute)
		keeps(3, `"x" is not taken`)
		remove(b, "x")
		keeps(0, "")
	})
}

// M46, M52: a newer declaration of a graph that another daemon has applied, and that this one cannot use, may be one
// that follows, until it is another again; the graph runs on as it was.
func TestM46AnUnusableRevisionIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := &picky{}, &picky{}
		s := newShared()
		a := followBed(t, s.view("a"), x, y)
		defer a.close()
		a.apply(lead, "lead")
		doc, other := fmt.Sprintf(placed, "x"), s.view("b")
		a.apply(doc, "x")
		put := func(text string) {
			t.Helper()
			d := checkpoint.Declaration{Tenant: "default", Graph: "x", Origin: "api", Updated: time.Now(), Text: text}
			if _, err := other.PutDeclaration(t.Context(), d, 0); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		put(strings.Replace(fmt.Sprintf(follows, "x", ""), "nodes:", "nodes: { m: [ }", 1))
		a.leads(1, 5)
		time.Sleep(time.Minute)
		if o := a.summary("lead").Outputs[0]; o.Pending != 5 || !strings.Contains(o.Error, `"x" cannot be used`) {
			t.Errorf("the leader keeps %+v", o)
		}
		put("# as it was\n" + doc)
		if o := a.summary("lead").Outputs[0]; o.Pending != 0 {
			t.Errorf("the leader keeps %+v", o)
		}
	})
}

// M46: of two graphs whose declarations cannot be used neither keeps the other from being deleted, unless the words of
// these say that one may follow the other.
func TestM46UnusableGraphsAreDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := &picky{}, &picky{}
		store := memstore.New()
		b := followBed(t, store, x, y)
		b.apply(lead, "lead")
		docs := map[string]string{"z": strings.Replace(fmt.Sprintf(follows, "z", ""), "name: lead, output: cuts",
			"name: mid, output: on", 1)}
		for _, name := range []string{"x", "y", "mid"} {
			docs[name] = fmt.Sprintf(follows, name, "")
		}
		docs["mid"] = strings.TrimSuffix(docs["mid"], " }\n") + ", on: { from: m, sink: { followers: {} } } }\n"
		for _, name := range []string{"x", "y", "mid"} {
			b.apply(docs[name], name)
		}
		b.close()
		for name, doc := range docs {
			broken := checkpoint.Declaration{Tenant: "default", Graph: name, Origin: "api", Updated: time.Now(),
				Text: strings.Replace(doc, "nodes:", "nodes: { m: [ }", 1)}
			if _, err := store.PutDeclaration(t.Context(), broken, 0); err != nil {
				t.Fatal(err)
			}
		}
		b = followBed(t, store, x, y)
		defer func() { b.close() }()
		remove := func(name string) error {
			return b.e.Delete(t.Context(), api.Ref{Tenant: "default", Name: name}, true)
		}
		wantCode(t, remove("mid"), http.StatusConflict, "followed", `graph "z"`)
		for _, name := range []string{"x", "z", "mid", "y", "lead"} {
			if err := remove(name); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// M46: an output that is kept for followers is read by nobody else: at either end that is a mistake, and names the
// other.
func TestM46KeptOutputsAreReadByFollowersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := &picky{}, &picky{}
		b := followBed(t, memstore.New(), x, y)
		defer b.close()
		fed := strings.Replace(fmt.Sprintf(follows, "x", ""), "follow: {", "graph: {", 1)
		refused := func(doc, name, want string) {
			t.Helper()
			var e *api.Error
			_, err := b.e.Apply(t.Context(), api.Ref{Tenant: "default", Name: name}, []byte(doc), api.Change{})
			if !errors.As(err, &e) || len(e.Diagnostics) != 1 || e.Diagnostics[0].Code != "contract" ||
				!strings.Contains(e.Diagnostics[0].Text, want) || e.Diagnostics[0].Line == 0 {
				t.Errorf("%v, want one mistake that says %q", err, want)
			}
		}
		b.apply(lead, "lead")
		refused(fed, "x", "cut cannot read output cuts of graph lead")
		if err := b.e.Delete(t.Context(), api.Ref{Tenant: "default", Name: "lead"}, true); err != nil {
			t.Fatal(err)
		}
		b.apply(fed, "x")
		refused(lead, "lead", "graph x (accumulator cut) could read output cuts no more")
	})
}

// M11: the deliveries of an output that graphs follow are not stopped alone, for they would go on; and an input that
// follows is not rewound, with the reason.
func TestM11FollowedOutputsAreNotStoppedAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := &picky{}, &picky{}
		b := followBed(t, memstore.New(), x, y)
		defer b.close()
		b.apply(lead, "lead")
		b.apply(fmt.Sprintf(follows, "x", ""), "x")
		_, err := b.e.StopPart(t.Context(), api.Ref{Tenant: "default", Name: "lead"}, api.Part{Output: "cuts"}, "ann")
		wantCode(t, err, http.StatusConflict, "output_not_stoppable", "cuts", "stop the inputs of those that follow")
		for _, to := range []string{"start", "5"} {
			_, err = b.e.Rewind(t.Context(), api.Ref{Tenant: "default", Name: "x"}, "cut", to, "x", "ann")
			wantCode(t, err, http.StatusUnprocessableEntity, "cannot_rewind", "output cuts of graph lead", "a reset")
		}
	})
}

// M11: an output that is stopped, and becomes one which graphs follow, goes on, for nobody could stop it now.
func TestM11AStoppedOutputThatIsFollowedGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := &picky{}, &picky{}
		b := followBed(t, memstore.New(), x, y)
		defer b.close()
		ref := api.Ref{Tenant: "default", Name: "lead"}
		b.apply(strings.Replace(lead, "followers:", "stdout:", 1), "lead")
		if _, err := b.e.StopPart(t.Context(), ref, api.Part{Output: "cuts"}, "ann"); err != nil {
			t.Fatal(err)
		}
		b.apply(lead, "lead")
		b.apply(fmt.Sprintf(follows, "x", ""), "x")
		b.leads(1, 5)
		time.Sleep(5 * time.Second)
		s := b.summary("lead")
		if o := s.Outputs[0]; x.taken() != cutsOf(1, 5) || o.Pending != 0 || o.Stopped != nil || s.HealthReason != nil {
			t.Errorf("x took %s, of %+v, %+v", x.taken(), o, s.HealthReason)
		}
	})
}

// M46: the summary of a leader tells who follows each output, and how many values each does not have in a checkpoint:
// those of one that runs, of one that is paused, and after a start.
func TestM46ALeaderTellsWhoFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := &picky{}, &picky{}
		store := memstore.New()
		b := followBed(t, store, x, y)
		defer func() { b.close() }()
		told := func() string {
			var list []string
			for _, f := range b.summary("lead").Outputs[0].Followers {
				behind := "?"
				if f.Behind != nil {
					behind = fmt.Sprint(*f.Behind)
				}
				list = append(list, f.Graph+"."+f.Accumulator+" "+behind)
			}
			return strings.Join(list, ", ")
		}
		want := func(want string) {
			t.Helper()
			if got := told(); got != want {
				t.Errorf("%q follow, want %q", got, want)
			}
		}
		b.apply(lead, "lead")
		want("")
		for _, name := range []string{"y", "x"} {
			b.apply(fmt.Sprintf(follows, name, ""), name)
		}
		want("x.cut 0, y.cut 0")
		b.leads(1, 5)
		time.Sleep(5 * time.Second)
		want("x.cut 0, y.cut 0")
		if _, err := b.e.StopPart(t.Context(), api.Ref{Tenant: "default", Name: "y"}, api.Part{Accumulator: "cut"},
			"ann"); err != nil {
			t.Fatal(err)
		}
		b.leads(6, 12)
		time.Sleep(5 * time.Second)
		want("x.cut 0, y.cut 7")
		b.close()
		b = followBed(t, store, x, y)
		time.Sleep(5 * time.Second)
		want("x.cut 0, y.cut 7")
		if err := b.e.Delete(t.Context(), api.Ref{Tenant: "default", Name: "y"}, true); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		want("x.cut 0")
	})
}
