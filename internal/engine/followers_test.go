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
