package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/sink"
)

// freshBed runs a graph with two outputs that are to be fresh within ten seconds: one that is delivered, and one that
// an epoch gives to nobody.
func freshBed(t *testing.T, got *picky) *bed {
	b := newBed(t, memstore.New(), &scripted{sink: into(map[string]sink.Sink{"told": got})})
	b.apply(`graph: g
accumulators: { a: { strategy: sequential }, b: { strategy: sequential } }
nodes: { n: { expr: a }, m: { expr: b } }
outputs:
  told: { from: n, fresh: 10s, sink: { stdout: {} } }
  seen: { from: m, fresh: 10s, sink: { drop: {} } }
  free: { from: n, sink: { drop: {} } }
`, "g")
	return b
}

// stale names the outputs of g that are, and what its health says.
func (b *bed) stale() string {
	b.t.Helper()
	s, said := b.summary("g"), ""
	for i := range s.Outputs {
		if s.Outputs[i].Stale {
			said += s.Outputs[i].Name + " "
		}
	}
	if s.HealthReason != nil {
		said += s.HealthReason.Code
	}
	return strings.TrimSpace(s.Health + " " + said)
}

// An output is stale when it has given nothing for longer than it is to, and until it gives something: to its sink
// where there is one. Health says so where it has nothing else to say.
func TestStaleOutputs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := &picky{}
		b := freshBed(t, got)
		defer b.close()
		want := func(when, want string) {
			t.Helper()
			if said := b.stale(); said != want {
				t.Errorf("%s: %s, want %s", when, said, want)
			}
		}
		want("it has just begun", "live")
		time.Sleep(9 * time.Second)
		want("there is time left", "live")
		time.Sleep(2 * time.Second)
		want("nothing has come at all", "live told seen stale")
		since := time.Now().Add(-11 * time.Second).UTC().Format(time.RFC3339)
		if why := b.summary("g").HealthReason; why == nil || why.Detail != fmt.Sprintf("output told has given nothing "+
			"since %s, and is to give something within 10s: graphd why-not g --output-name told says why", since) {
			t.Errorf("the reason is %+v", why)
		}
		b.push("g", "b", "1")
		want("one has come", "live told stale")
		b.push("g", "a", "1")
		want("both have", "live")
		got.set(func([]sink.Message) error { return errors.New("connection refused") })
		time.Sleep(8 * time.Second)
		b.push("g", "a", "2")
		b.push("g", "b", "2")
		time.Sleep(3 * time.Second)
		want("the sink takes nothing, which is why", "live told output_failing")
		if s := b.summary("g"); *s.Outputs[0].AgeSeconds != 11 || *s.Outputs[1].AgeSeconds != 3 ||
			*s.Outputs[2].AgeSeconds != 3 || s.Outputs[0].FreshSeconds != 10 || s.Outputs[2].FreshSeconds != 0 {
			t.Errorf("%+v", s.Outputs)
		}
		if row := api.RowOf(new(b.summary("g"))); row.Stale != 1 {
			t.Errorf("a row with %d stale outputs", row.Stale)
		}
		got.set(nil)
		time.Sleep(6 * time.Second)
		want("it has taken what waited", "live")
	})
}

// What somebody has paused or stopped is not stale, and has all of its time when it goes on; an input that was stopped
// is no excuse.
func TestWhatIsToGiveNothingIsNotStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := freshBed(t, &picky{})
		defer b.close()
		g := api.Ref{Tenant: "default", Name: "g"}
		after := func(span time.Duration, what, want string) {
			t.Helper()
			time.Sleep(span)
			if said := b.stale(); said != want {
				t.Errorf("%s after %s: %s, want %s", what, span, said, want)
			}
		}
		do := func(_ any, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		do(b.e.Pause(t.Context(), g, "ann"))
		after(time.Minute, "paused", "live")
		if s := b.summary("g"); s.Outputs[0].AgeSeconds != nil {
			t.Errorf("an age of %v seconds", *s.Outputs[0].AgeSeconds)
		}
		do(b.e.Resume(t.Context(), g, "ann"))
		after(9*time.Second, "resumed", "live")
		after(2*time.Second, "resumed", "live told seen stale")
		do(b.e.StopPart(t.Context(), g, api.Part{Output: "told"}, "ann"))
		after(time.Minute, "an output stopped", "live seen part_stopped")
		do(b.e.StartPart(t.Context(), g, api.Part{Output: "told"}, "ann"))
		after(9*time.Second, "the output started", "live seen stale")
		after(2*time.Second, "the output started", "live told seen stale")
		do(b.e.StopPart(t.Context(), g, api.Part{Accumulator: "a"}, "ann"))
		after(time.Second, "an input stopped", "live told seen part_stopped")
	})
}
