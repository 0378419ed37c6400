package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/sink"
)

// The two ways to say that the graph up feeds the graph down.
const (
	upPlain = "graph: up\naccumulators: { a: { strategy: sequential%s } }\nnodes: { n: { expr: a * 10 } " +
		"}\noutputs: { o: { from: n, sink: { drop: {} } } }\n"
	upFeeds = "graph: up\naccumulators: { a: { strategy: sequential%s } }\nnodes: { n: { expr: a * 10 } " +
		"}\noutputs: { o: { from: n, sink: { graph: { name: down, accumulator: b } } } }\n"
	downPlain = "graph: down\naccumulators: { b: { strategy: sequential%s } }\nnodes: { m: { expr: b + 1 } " +
		"}\noutputs: { p: { from: m, sink: { stdout: {} } } }\n"
	downFed = "graph: down\naccumulators: { b: { source: { graph: { name: up, output: o } }, strategy: " +
		"sequential%s } }\nnodes: { m: { expr: b + 1 } }\noutputs: { p: { from: m, sink: { stdout: {} } } }\n"
)

// feeding is the two graphs in both ways, up and down.
func feeding() map[string][2]string {
	return map[string][2]string{"source": {upPlain, downFed}, "sink": {upFeeds, downPlain}}
}

// fedBed is a bed whose graph down delivers to a sink that remembers.
func fedBed(t *testing.T) (*bed, *picky) {
	t.Helper()
	end := &picky{}
	return fedBedOver(t, memstore.New(), end), end
}

func fedBedOver(t *testing.T, store checkpoint.Store, end *picky) *bed {
	t.Helper()
	return newBed(t, store, &scripted{sink: into(map[string]sink.Sink{"p": end})})
}

// flow pushes numbers into the graph up, beside what else goes on.
func (b *bed) flow(from, to int) api.PushResult {
	var raw []json.RawMessage
	for _, n := range numbers(from, to, 1, 0) {
		raw = append(raw, json.RawMessage(n))
	}
	res, err := b.e.Push(b.t.Context(), api.Ref{Tenant: "default", Name: "up"}, "a", raw)
	if err != nil {
		b.t.Errorf("push: %v", err)
	}
	return res
}

func numbers(from, to, factor, plus int) []string {
	var list []string
	for i := from; i <= to; i++ {
		list = append(list, fmt.Sprint(i*factor+plus))
	}
	return list
}

// M46: what one graph puts out, the other takes as an event with a position that says where it
// comes from, in order; in either way of declaring it.
func TestM46GraphFeedsGraph(t *testing.T) {
	for name, docs := range feeding() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, end := fedBed(t)
				defer b.close()
				b.apply(fmt.Sprintf(docs[0], ""), "up")
				b.apply(fmt.Sprintf(docs[1], ""), "down")
				b.push("up", "a", numbers(1, 200, 1, 0)...)
				time.Sleep(time.Second)
				if want := fmt.Sprint(numbers(1, 200, 10, 1)); end.taken() != want {
					t.Errorf("took %s, want %s", end.taken(), want)
				}
				up, down := b.summary("up"), b.summary("down")
				if want := fmt.Sprintf("graph/%s/o#%d@200", up.Instance,
					up.Incarnation); down.Accumulators[0].Position != want {
					t.Errorf("position %s, want %s", down.Accumulators[0].Position, want)
				}
				if up.Incarnation != 1 {
					t.Errorf("the graph that feeds was started %d times", up.Incarnation)
				}
				if h := down.Accumulators[0].Health; name == "source" && h != "live" ||
					name == "sink" && h != "socket_only" {
					t.Errorf("health %s", h)
				}
			})
		})
	}
}

// M46, M2: live means that the other graph exists: it comes later, goes, loses the output and
// gets it back.
func TestM46UpstreamComesAndGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, end := fedBed(t)
		defer b.close()
		health := func(want, reason string) {
			t.Helper()
			synctest.Wait()
			a := b.summary("down").Accumulators[0]
			if a.Health != want || reason != "" && !strings.Contains(a.HealthReason.Detail, reason) {
				t.Errorf("health %s, %+v, want %s: %s", a.Health, a.HealthReason, want, reason)
			}
		}
		b.apply(fmt.Sprintf(downFed, ""), "down")
		health("disconnected", `there is no graph "up"`)
		b.apply(fmt.Sprintf(upPlain, ""), "up")
		health("live", "")
		b.push("up", "a", "1")
		b.apply(strings.Replace(fmt.Sprintf(upPlain, ""), "o: { from", "other: { from", 1), "up")
		health("disconnected", `the graph "up" has no output "o"`)
		b.push("up", "a", "2")
		b.apply(fmt.Sprintf(upPlain, ""), "up")
		health("live", "")
		b.push("up", "a", "3")
		if err := b.e.Delete(t.Context(), api.Ref{Tenant: "default", Name: "up"}, true); err != nil {
			t.Fatal(err)
		}
		health("disconnected", `there is no graph "up"`)
		b.apply(fmt.Sprintf(upPlain, ""), "up")
		b.push("up", "a", "4")
		time.Sleep(time.Second)
		if end.taken() != "[11 31 41]" {
			t.Errorf("took %s", end.taken())
		}
	})
}

// M46: a sink of kind graph waits for its graph and accumulator, and says what for.
func TestM46SinkWaitsForItsGraph(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, end := fedBed(t)
		defer b.close()
		b.apply(fmt.Sprintf(upFeeds, ""), "up")
		b.push("up", "a", "1", "2")
		if o := b.summary("up").Outputs[0]; o.Pending != 2 ||
			o.Error != `there is no graph "down" yet; the values wait for it` {
			t.Errorf("%+v", o)
		}
		b.apply(strings.ReplaceAll(fmt.Sprintf(downPlain, ""), "b", "c"), "down")
		time.Sleep(time.Minute)
		if o := b.summary("up").Outputs[0]; o.Pending != 2 ||
			o.Error != `the graph "down" has no accumulator "b"; the values wait for it` {
			t.Errorf("%+v", o)
		}
		b.apply(fmt.Sprintf(downPlain, ""), "down")
		time.Sleep(time.Minute)
		if o := b.summary("up").Outputs[0]; o.Pending != 0 || end.taken() != "[11 21]" {
			t.Errorf("%+v, took %s", o, end.taken())
		}
		if err := b.e.Delete(t.Context(), api.Ref{Tenant: "default", Name: "down"}, true); err != nil {
			t.Fatal(err)
		}
		b.push("up", "a", "3")
		b.apply(fmt.Sprintf(downPlain, ""), "down")
		time.Sleep(time.Minute)
		if end.taken() != "[11 21 31]" {
			t.Errorf("took %s", end.taken())
		}
	})
}

// M46: graphs that feed each other form no cycle, however its links are declared; the way
// around is shown, and nothing has changed.
func TestM46CircleIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := fedBed(t)
		defer b.close()
		const third = "graph: third\naccumulators: { c: %s }\noutputs: { q: { from: c, sink: %s } }\n"
		b.apply(fmt.Sprintf(upPlain, ""), "up")
		b.apply(fmt.Sprintf(downFed, ""), "down")
		b.apply(fmt.Sprintf(third, "{ source: { graph: { name: down, output: p } } }", "{ drop: {} }"), "third")
		refused := func(doc, name, want string, dry bool) {
			t.Helper()
			ref := api.Ref{Tenant: "default", Name: name}
			_, err := b.e.Apply(t.Context(), ref, []byte(doc), api.Change{DryRun: dry})
			var e *api.Error
			if !errors.As(err, &e) || len(e.Diagnostics) != 1 || e.Diagnostics[0].Code != "graph_cycle" ||
				e.Diagnostics[0].Line == 0 || !strings.Contains(e.Diagnostics[0].Text, want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
		bySink := fmt.Sprintf(third, "{ source: { graph: { name: down, output: p } } }",
			"{ graph: { name: up, accumulator: a } }")
		refused(bySink, "third", "third → up → down → third", false)
		refused(bySink, "third", "third → up → down → third", true)
		bySource := fmt.Sprintf(upPlain, ", source: { graph: { name: third, output: q } }")
		refused(bySource, "up", "up → down → third → up", false)
		if s := b.summary("up"); s.Revision != 1 || s.Health != "live" {
			t.Errorf("the graph changed: %+v", s)
		}
		if err := b.e.Delete(t.Context(), api.Ref{Tenant: "default", Name: "down"}, true); err != nil {
			t.Fatal(err)
		}
		b.apply(bySource, "up") // the cycle is open
		refused(fmt.Sprintf(downFed, ""), "down", "down → third → up → down", false)
	})
}

// M46, M4: a full sequential input holds the writer at the other end, and by it the graph that
// feeds; nothing is lost, and all goes on when there is room.
func TestM46BackpressureGoesUpstream(t *testing.T) {
	for name, docs := range feeding() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, end := fedBed(t)
				defer b.close()
				b.apply(fmt.Sprintf(docs[0], ""), "up")
				b.apply(fmt.Sprintf(docs[1], ", capacity: 8"), "down")
				if _, err := b.e.Pause(t.Context(), api.Ref{Tenant: "default", Name: "down"}, "test"); err != nil {
					t.Fatal(err)
				}
				const n = 6000 // more than the writer's queue and both inputs hold
				sent := make(chan api.PushResult)
				go func() { sent <- b.flow(1, n) }()
				time.Sleep(time.Minute)
				up, down := b.summary("up"), b.summary("down")
				if down.Accumulators[0].Depth < 8 || up.Outputs[0].Pending < 4096 || up.Epoch >= n {
					t.Errorf("depth %d, pending %d, epoch %d: the graph that feeds was not held",
						down.Accumulators[0].Depth, up.Outputs[0].Pending, up.Epoch)
				}
				if _, err := b.e.Resume(t.Context(), api.Ref{Tenant: "default", Name: "down"}, "test"); err != nil {
					t.Fatal(err)
				}
				if res := <-sent; res.Accepted != n {
					t.Errorf("%+v", res)
				}
				time.Sleep(time.Minute)
				if got := end.taken(); got != fmt.Sprint(numbers(1, n, 10, 1)) {
					t.Errorf("not each value once and in order: %.200s", got)
				}
			})
		})
	}
}

// M46, M33: updates of either side, while values flow, lose none and double none.
func TestM46UpdatesLoseNothing(t *testing.T) {
	for name, docs := range feeding() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, end := fedBed(t)
				defer b.close()
				b.apply(fmt.Sprintf(docs[0], ""), "up")
				b.apply(fmt.Sprintf(docs[1], ", capacity: 16"), "down")
				const rounds, each = 20, 100
				done := make(chan struct{})
				go func() {
					defer close(done)
					for i := range rounds {
						b.flow(i*each+1, (i+1)*each)
						time.Sleep(10 * time.Millisecond)
					}
				}()
				for i := range rounds {
					b.apply(fmt.Sprintf(docs[0], "")+fmt.Sprintf("description: number %d\n", i), "up")
					time.Sleep(7 * time.Millisecond)
					b.apply(fmt.Sprintf(docs[1], ", capacity: 16")+fmt.Sprintf("description: number %d\n", i), "down")
					time.Sleep(5 * time.Millisecond)
				}
				<-done
				time.Sleep(time.Minute)
				if got := end.taken(); got != fmt.Sprint(numbers(1, rounds*each, 10, 1)) {
					t.Errorf("not each value once and in order: %.300s", got)
				}
				if s := b.summary("down"); s.Revision < 2 || s.Counters.Consumed != rounds*each {
					t.Errorf("revision %d, %+v", s.Revision, s.Counters)
				}
			})
		})
	}
}

// M38, M46: a daemon that stops ends the graphs that feed before those that are fed: what is
// between them arrives, although the end is slow and queues are full; the last of it, which
// no epoch has taken yet, is in the fed graph's state and comes out after the start.
func TestM46StopsInTheOrderOfTheFlow(t *testing.T) {
	for name, docs := range feeding() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, end := fedBed(t)
				b.apply(fmt.Sprintf(docs[1], ", capacity: 8"), "down")
				b.apply(fmt.Sprintf(docs[0], ""), "up")
				end.set(func([]sink.Message) error { time.Sleep(time.Second); return nil })
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				for _, n := range numbers(1, 20_000, 1, 0) {
					res, err := b.e.Push(ctx, api.Ref{Tenant: "default", Name: "up"}, "a", []json.RawMessage{
						json.RawMessage(n),
					})
					if err != nil {
						t.Fatal(err)
					}
					if res.Full { // so is everything behind it
						break
					}
				}
				up, down := b.summary("up"), b.summary("down")
				if up.Outputs[0].Pending == 0 || up.Epoch == down.Epoch {
					t.Fatalf("nothing was between the graphs: %d and %d epochs, %d pending", up.Epoch, down.Epoch,
						up.Outputs[0].Pending)
				}
				b.close()
				end.set(nil)
				again := fedBedOver(t, b.store, end)
				defer again.close()
				time.Sleep(time.Second)
				if got, n := end.taken(), int(again.summary("up").Epoch); n < int(up.Epoch) ||
					got != fmt.Sprint(numbers(1, n, 10, 1)) {
					t.Errorf("not each of %d values once and in order: %d bytes", n, len(got))
				}
			})
		})
	}
}

// M46: an update changes where values come from, or go to, at the update and not before.
func TestM46UpdateChangesTheLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, end := fedBed(t)
		defer b.close()
		second := strings.NewReplacer("graph: up", "graph: up2", "a * 10", "a * 100")
		b.apply(fmt.Sprintf(upPlain, ""), "up")
		b.apply(second.Replace(fmt.Sprintf(upPlain, "")), "up2")
		b.apply(fmt.Sprintf(downFed, ""), "down")
		both := func(n string) {
			b.push("up", "a", n)
			b.push("up2", "a", n)
			time.Sleep(time.Second)
		}
		both("1")
		b.apply(strings.Replace(fmt.Sprintf(downFed, ""), "name: up", "name: up2", 1), "down")
		both("2")
		b.apply(fmt.Sprintf(downPlain, ""), "down")
		both("3")
		b.apply(second.Replace(fmt.Sprintf(upFeeds, "")), "up2")
		both("4")
		if end.taken() != "[11 201 401]" {
			t.Errorf("took %s", end.taken())
		}
	})
}

// M5, M46: a value that the fed graph cannot use is a dead letter there, and holds up nobody.
func TestM46BadValueIsADeadLetter(t *testing.T) {
	for name, docs := range feeding() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, end := fedBed(t)
				defer b.close()
				b.apply(fmt.Sprintf(docs[0], ""), "up")
				b.apply(fmt.Sprintf(docs[1], ", schema: { type: integer, maximum: 15 }"), "down")
				b.push("up", "a", "1", "2", "1")
				time.Sleep(time.Second)
				letters := b.letters("down")
				if len(letters) != 1 || letters[0].Code != "against_schema" || string(letters[0].Payload) != "20" ||
					!strings.HasPrefix(letters[0].Position, "graph/") {
					t.Errorf("%+v", letters)
				}
				if c := b.summary("down").Counters; c.DeadLettered != 1 || c.Rejected != 0 || end.taken() != "[11 11]" {
					t.Errorf("%+v, took %s", c, end.taken())
				}
			})
		})
	}
}

// One output feeds several graphs and its own sink; each gets every value once, although one
// of them is held up and the sink fails on the way.
func TestM46SeveralEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own, other := &picky{}, &picky{}
		b := newBed(t, memstore.New(), &scripted{sink: into(map[string]sink.Sink{"o": own, "p": other})})
		defer b.close()
		failed := 0
		own.fail = func(batch []sink.Message) error {
			if failed++; failed < 3 {
				return errors.New("no space left")
			}
			return nil
		}
		b.apply(fmt.Sprintf(upPlain, ""), "up")
		b.apply(fmt.Sprintf(downFed, ""), "down")
		b.apply(strings.Replace(fmt.Sprintf(downFed, ""), "graph: down", "graph: down2", 1), "down2")
		b.push("up", "a", numbers(1, 150, 1, 0)...)
		time.Sleep(time.Minute)
		if own.taken() != fmt.Sprint(numbers(1, 150, 10, 0)) {
			t.Errorf("its own sink took %.200s", own.taken())
		}
		for _, g := range []string{"down", "down2"} {
			if c := b.summary(g).Counters; c.Consumed != 150 || c.Received != 150 {
				t.Errorf("%s: %+v", g, c)
			}
		}
	})
}
