package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/sink"
)

const summing = `graph: g
accumulators:
  a: { state: { keep: 100 }, strategy: sequential }
%s
nodes:
  total: { expr: sum(a) }
%s
outputs:
  o: { from: total, sink: { websocket: {} } }
%s`

// kinds is the recovery events' kinds, newest first.
func (b *bed) kinds(graph string) (kinds []string) {
	for _, ev := range b.recovery(graph) {
		kinds = append(kinds, ev.Kind)
	}
	return kinds
}

func (b *bed) reapply(doc string) (api.ApplyResult, error) {
	res, err := b.e.Apply(b.t.Context(), api.Ref{Tenant: "default", Name: "g"}, []byte(doc), api.Change{})
	synctest.Wait()
	return res, err
}

func wantCode(t *testing.T, err error, status int, code string, words ...string) {
	t.Helper()
	var e *api.Error
	if !errors.As(err, &e) || e.Status != status || e.Code != code {
		t.Fatalf("got %v, want %d %s", err, status, code)
	}
	for _, w := range words {
		if !strings.Contains(e.Detail, w) {
			t.Errorf("%q does not say %q", e.Detail, w)
		}
	}
}

// M33: when a sink of the new declaration cannot be opened, or a source fails at once, the
// old graph runs on with all its state, the answer says so, and so do the summary and a
// recovery event. Nothing that the new one was handed is lost, and nothing of it is stored.
func TestM33UpdateRollsBack(t *testing.T) {
	const newSource = "  extra: { source: { generator: { every: 1s, expr: i } }, passive: true }\n"
	for name, broken := range map[string]string{
		"sink":   fmt.Sprintf(summing, "", "", "  bad: { from: total, sink: { stdout: {} } }\n"),
		"source": fmt.Sprintf(summing, newSource, "", ""),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memstore.New()
				b := newBed(t, store, &scripted{
					sink: func(name string) sink.Sink { return nil },
					source: func(name string) accumulator.Source {
						if name != "extra" {
							return nil
						}
						return sourceFunc(func(context.Context, []boundary.Position, accumulator.Out) error {
							return errors.New("open /data/ticks.csv: no such file")
						})
					},
				})
				b.e.cfg.Kinds.(*scripted).sinkErr = func(name string) error {
					if name == "bad" {
						return errors.New("open /data/out: permission denied")
					}
					return nil
				}
				defer b.close()
				g := api.Ref{Tenant: "default", Name: "g"}
				b.apply(fmt.Sprintf(summing, "", "", ""), "g")
				sub, err := b.e.Watch(t.Context(), g, api.Wanted{Topics: []string{"outputs"}})
				if err != nil {
					t.Fatal(err)
				}
				defer sub.Close()
				b.push("g", "a", "1", "2")
				_, err = b.reapply(broken)
				wantCode(t, err, http.StatusFailedDependency, "update_failed", "/data/", "revision 1 runs on")
				s := b.summary("g")
				if s.Revision != 1 || s.Health != "live" || s.Update == nil || s.Update.OK ||
					!strings.Contains(s.Update.Detail, "/data/") {
					t.Fatalf("%+v, update %+v", s, s.Update)
				}
				b.push("g", "a", "3")
				var got []string
				for f := sub.TryNext(); f != nil; f = sub.TryNext() {
					got = append(got, string(f.Value))
				}
				if !slices.Equal(got, []string{"1", "3", "6"}) {
					t.Fatalf("the watcher saw %v: state was lost", got)
				}
				if !slices.Contains(b.kinds("g"), "update_failed") {
					t.Errorf("recovery events %v", b.kinds("g"))
				}
				if decls, _ := store.Declarations(t.Context()); len(decls) != 1 || decls[0].Revision != 1 ||
					strings.Contains(decls[0].Text, "bad") {
					t.Errorf("stored: %+v", decls)
				}
				// What is fixed is taken.
				res, err := b.reapply(fmt.Sprintf(summing, "", "  more: { expr: total + 1 }\n", ""))
				if err != nil || res.Revision != 2 || res.Graph.Health != "live" || !res.Graph.Update.OK {
					t.Fatalf("%v %+v", err, res)
				}
				b.push("g", "a", "4")
				if f := sub.TryNext(); f == nil || string(f.Value) != "10" {
					t.Fatalf("frame %+v", f)
				}
			})
		})
	}
}

// M33: an update that cannot be stored, or whose graph cannot be saved first, changes nothing.
func TestM33UpdateNeedsTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fullStore{Store: memstore.New()}
		b := newBed(t, store, &scripted{})
		defer b.close()
		b.apply(fmt.Sprintf(summing, "", "", ""), "g")
		b.push("g", "a", "1")
		for _, full := range []struct{ commits, declarations bool }{{true, false}, {false, true}} {
			store.set(full.commits, full.declarations)
			if _, err := b.reapply(fmt.Sprintf(summing, "", "  more: { expr: total }\n", "")); err == nil {
				t.Fatalf("%+v: the update was taken", full)
			}
			store.set(false, false)
			time.Sleep(2 * time.Second)
			if s := b.summary("g"); s.Revision != 1 || s.Health != "live" || s.Counters.Received != 1 {
				t.Fatalf("%+v: %+v", full, s)
			}
		}
		b.push("g", "a", "2")
		if st, err := b.e.State(t.Context(), api.Ref{Tenant: "default", Name: "g"}, ""); err != nil ||
			string(st.Nodes["total"]) != "3" {
			t.Fatalf("%v %+v", err, st)
		}
	})
}

// fullStore is a store whose disk is full when it is told so.
type fullStore struct {
	checkpoint.Store
	mu                    sync.Mutex
	commits, declarations bool
}

func (s *fullStore) set(commits, declarations bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commits, s.declarations = commits, declarations
}

func (s *fullStore) Commit(ctx context.Context, c *checkpoint.Commit) error {
	s.mu.Lock()
	full := s.commits
	s.mu.Unlock()
	if full {
		return errors.New("database or disk is full")
	}
	return s.Store.Commit(ctx, c)
}

func (s *fullStore) PutDeclaration(ctx context.Context, d checkpoint.Declaration, rev int64) (int64, error) {
	s.mu.Lock()
	full := s.declarations
	s.mu.Unlock()
	if full {
		return 0, errors.New("database or disk is full")
	}
	return s.Store.PutDeclaration(ctx, d, rev)
}

// M33: a dry run says beforehand what of the state will be kept and dropped, and the
// recovery event says afterwards the same.
func TestM33UpdateSaysWhatIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, memstore.New(), &scripted{})
		defer b.close()
		g := api.Ref{Tenant: "default", Name: "g"}
		b.apply("graph: g\naccumulators: { a: {}, b: {}, gone: {} }\nnodes: { x: { expr: a }, y: { expr: b } "+
			"}\noutputs: { o: { from: x, sink: { drop: {} } } }\n", "g")
		b.push("g", "a", "1")
		b.push("g", "b", "1")
		next := []byte("graph: g\naccumulators: { a: {}, b: { state: { keep: 2 } } }\nnodes: { x: { expr: a }, y: { " +
			"expr: a + 1 } }\noutputs: { o: { from: x, sink: { drop: {} } } }\n")
		dry, err := b.e.Apply(t.Context(), g, next, api.Change{DryRun: true})
		if err != nil {
			t.Fatal(err)
		}
		want := &api.StateChange{
			Kept: []string{"accumulator a", "input a", "input b", "node x"},
			Dropped: []string{
				"accumulator b: its kind or its source is another: reading begins anew, and an open fold is filtered",
				"accumulator gone: it is gone, and with it its value, its queue and its position",
				"node y: it computes something else and runs anew",
			},
		}
		if !slices.Equal(dry.State.Kept, want.Kept) || !slices.Equal(dry.State.Dropped, want.Dropped) {
			t.Fatalf("kept %q dropped %q", dry.State.Kept, dry.State.Dropped)
		}
		if s := b.summary("g"); s.Revision != 1 || s.Update != nil {
			t.Fatalf("the dry run changed something: %+v", s)
		}
		if _, err := b.reapply(string(next)); err != nil {
			t.Fatal(err)
		}
		st, err := b.e.State(t.Context(), g, "")
		if err != nil || string(st.Nodes["x"]) != "1" || string(st.Cache["b"]) != "1" {
			t.Fatalf("%v %+v", err, st)
		}
		for _, ev := range b.recovery("g") {
			if ev.Kind == "updated" {
				for _, line := range want.Dropped {
					if !strings.Contains(ev.Reason, line) {
						t.Errorf("%q does not say %q", ev.Reason, line)
					}
				}
				return
			}
		}
		t.Errorf("no recovery event: %v", b.kinds("g"))
	})
}

// M33: a command that comes while an update is being tried waits for its outcome, and one
// slow update holds up no other graph's.
func TestM33CommandsWaitForTheUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		connected := make(chan struct{})
		b := newBed(t, memstore.New(), &scripted{source: func(name string) accumulator.Source {
			if name != "slow" {
				return nil
			}
			return sourceFunc(func(ctx context.Context, _ []boundary.Position, out accumulator.Out) error {
				select {
				case <-connected:
					out.Health(accumulator.Live, "")
				case <-ctx.Done():
				}
				<-ctx.Done()
				return nil
			})
		}})
		defer b.close()
		g := api.Ref{Tenant: "default", Name: "g"}
		b.apply(fmt.Sprintf(summing, "", "", ""), "g")
		b.push("g", "a", "1")
		applied, fired := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := b.e.Apply(t.Context(), g,
				fmt.Appendf(nil, summing, "  slow: { source: { generator: { every: 1s, expr: i } }, passive: true }\n",
					"", ""), api.Change{})
			applied <- err
		}()
		time.Sleep(time.Second)
		pushed := make(chan error, 1)
		go func() {
			_, err := b.e.Push(t.Context(), g, "a", []json.RawMessage{[]byte("2")})
			pushed <- err
		}()
		go func() {
			_, err := b.e.Fire(t.Context(), g, api.FireRequest{Mode: "force"})
			fired <- err
		}()
		synctest.Wait()
		select {
		case err := <-fired:
			t.Fatalf("the command did not wait: %v", err)
		case err := <-applied:
			t.Fatalf("the update did not wait for the source: %v", err)
		case err := <-pushed:
			t.Fatalf("a push was taken by a graph on trial: %v", err)
		default:
		}
		b.apply("graph: other\naccumulators: { a: {} }\nnodes: { n: { expr: a } }\noutputs: { o: { from: n, sink: { "+
			"drop: {} } } }\n", "other")
		close(connected)
		for _, done := range []chan error{applied, fired, pushed} {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A watcher of all graphs sees each frame once, however often a graph is updated.
func TestM33WatcherOfAllSeesEachFrameOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, memstore.New(), &scripted{})
		defer b.close()
		sub, err := b.e.Watch(t.Context(), api.Ref{Tenant: "default"}, api.Wanted{Topics: []string{"outputs"}})
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		for i := range 3 {
			b.apply(fmt.Sprintf(summing, "", fmt.Sprintf("  n%d: { expr: total }\n", i), ""), "g")
		}
		b.push("g", "a", "7")
		if f := sub.TryNext(); f == nil || string(f.Value) != "7" {
			t.Fatalf("frame %+v", f)
		}
		if f := sub.TryNext(); f != nil {
			t.Fatalf("a second frame %+v", f)
		}
	})
}
