package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/reactor"
)

const plainGraph = `graph: %s
accumulators: { a: { strategy: sequential } }
nodes: { n: { expr: a.x } }
outputs: { o: { from: n, sink: { websocket: {} } } }
`

const dealtPush = `graph: g
accumulators: { a: { strategy: sequential } }
reactor: { key: id, shards: %d }
nodes: { n: { expr: a.x } }
outputs: { o: { from: n, sink: { websocket: {} } } }
`

// gathered are three daemons with ten plain graphs and one that is dealt, all of which run.
func gathered(t *testing.T) (m *many, names []string) {
	t.Helper()
	m = newMany(t, true, false, "a", "b", "c")
	for i := range 10 {
		names = append(names, fmt.Sprintf("p%d", i))
		m.beds["a"].apply(fmt.Sprintf(plainGraph, names[i]), names[i])
	}
	m.beds["a"].apply(fmt.Sprintf(dealtPush, 12), "g")
	time.Sleep(20 * time.Second)
	m.whole(12, "", time.Second)
	return m, append([]string{"g"}, names...)
}

// at is the daemon that runs a plain graph.
func (m *many) at(graph string) string {
	m.t.Helper()
	for _, name := range m.names {
		if g, err := m.beds[name].e.graph(api.Ref{Tenant: "default", Name: graph}); err == nil && g.Runs(0) {
			return name
		}
	}
	m.t.Fatalf("graph %s runs nowhere", graph)
	return ""
}

// M53: a list tells of graphs and shards wherever they run, whoever is asked; one that does not answer holds it up for
// a moment alone, is named with what it runs, and the rest is told.
func TestM53ListsAreGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, names := gathered(t)
		defer m.close()
		var of []string // what c runs some or all of
		for _, name := range names {
			if name == "g" || m.at(name) == "c" {
				of = append(of, name)
			}
		}
		if len(of) < 2 || len(of) == len(names) {
			t.Fatalf("c runs %v of %v", of, names)
		}
		m.beds[m.at(names[1])].push(names[1], "a", `{"x":1}`)
		for _, by := range m.names {
			began := time.Now()
			list, err := m.beds[by].e.Graphs(t.Context(), "default")
			if err != nil || len(list.Items) != len(names) || len(list.Missing) != 0 || time.Since(began) > 0 {
				t.Fatalf("%d graphs of %d after %v, %+v, %v", len(list.Items), len(names), time.Since(began),
					list.Missing, err)
			}
			for i := range list.Items {
				s := &list.Items[i]
				if s.Graph != names[i] || s.Health != string(reactor.HealthLive) || s.HealthReason != nil {
					t.Errorf("%s tells of %s: %s %+v", by, s.Graph, s.Health, s.HealthReason)
				}
			}
			if s := &list.Items[0]; len(s.Shards) != 12 || s.Keys.ShardsRunning != 12 {
				t.Errorf("%s tells of shards: %+v", by, s.Keys)
			}
			if s := &list.Items[1]; s.Epoch != 1 || s.Counters.Consumed != 1 {
				t.Errorf("%s tells of %s: epoch %d, %+v", by, s.Graph, s.Epoch, s.Counters)
			}
		}
		for what, broken := range map[string]map[string]bool{"deaf": m.deaf, "slow": m.slow, "older": m.older} {
			m.mu.Lock()
			broken["c"] = true
			m.mu.Unlock()
			began := time.Now()
			list, err := m.beds["a"].e.Graphs(t.Context(), "default")
			if took := time.Since(began); err != nil || took > summaryTimes || len(list.Missing) != 1 {
				t.Fatalf("%s: after %v %+v, %v", what, took, list.Missing, err)
			}
			lost := list.Missing[0]
			if lost.Member != "c" || lost.Code != api.CodeOwnerUnreachable || lost.Detail == "" ||
				what == "older" != strings.Contains(lost.Detail, "another release") ||
				!slices.Equal(lost.Graphs, of) {
				t.Errorf("%s: missing is %+v, want %v", what, lost, of)
			}
			for i := range list.Items {
				s := &list.Items[i]
				live := !slices.Contains(of, s.Graph)
				if live != (s.Health == string(reactor.HealthLive)) ||
					!live && s.HealthReason.Code != api.CodeOwnerUnreachable {
					t.Errorf("%s: %s is %s %+v", what, s.Graph, s.Health, s.HealthReason)
				}
			}
			m.mu.Lock()
			broken["c"] = false
			m.mu.Unlock()
		}
	})
}

// summaryTimes is how long a list may take where one of the daemons does not answer.
const summaryTimes = 2 * time.Second

// listen is what a watcher of all graphs has been told since the last time.
func listen(sub api.Subscription) (outputs, health []string, gaps int) {
	time.Sleep(time.Second)
	for f := sub.TryNext(); f != nil; f = sub.TryNext() {
		switch f.Type {
		case "output":
			outputs = append(outputs, f.Graph+" "+string(f.Value))
		case "health":
			health = append(health, f.Graph+" "+f.Health)
		case "gap":
			gaps++
		}
	}
	slices.Sort(outputs)
	return outputs, health, gaps
}

// M53: who watches all graphs is told of what they do wherever they run, follows those that move, and hears of a gap
// where a daemon was lost; that one stands by for what another runs is no news of the graph.
func TestM53AllGraphsAreWatchedWhereverTheyRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, names := gathered(t)
		defer m.close()
		sub, err := m.beds["a"].e.Watch(t.Context(), api.Ref{Tenant: "default"},
			api.Wanted{Topics: []string{"outputs", "health"}})
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		push := func(x int) (want []string) {
			for _, name := range names[1:] {
				m.beds[m.at(name)].push(name, "a", fmt.Sprintf(`{"x":%d}`, x))
				want = append(want, fmt.Sprintf("%s %d", name, x))
			}
			return want
		}
		want := push(1)
		if outputs, health, gaps := listen(sub); !slices.Equal(outputs, want) || len(health)+gaps != 0 {
			t.Errorf("%v, %v, %d gaps; want %v", outputs, health, gaps, want)
		}
		m.s.drain("b", true)
		time.Sleep(5 * time.Second)
		outputs, health, gaps := listen(sub)
		if len(outputs)+gaps != 0 {
			t.Errorf("a drain: %v, %d gaps", outputs, gaps)
		}
		last := map[string]string{}
		for _, line := range health {
			var name, is string
			if _, err := fmt.Sscan(line, &name, &is); err != nil {
				t.Fatal(err)
			}
			if is == "standby" {
				t.Errorf("a drain: %s", line)
			}
			last[name] = is
		}
		for name, is := range last {
			if is != "live" {
				t.Errorf("the last that was told of %s is %s", name, is)
			}
		}
		if want = push(2); len(last) == 0 {
			t.Error("nothing was told of what has moved")
		}
		if outputs, _, gaps := listen(sub); !slices.Equal(outputs, want) || gaps != 0 {
			t.Errorf("after a drain: %v, %d gaps; want %v", outputs, gaps, want)
		}

		m.mu.Lock()
		m.deaf["c"] = true // the next frame is lost
		m.mu.Unlock()
		m.views["c"].set(true, 0)
		push(3)
		if outputs, _, gaps := listen(sub); gaps == 0 || len(outputs) == len(want) {
			t.Errorf("with c lost: %v, %d gaps", outputs, gaps)
		}
		time.Sleep(10 * time.Second) // all of it runs at a
		listen(sub)
		want = push(4)
		if outputs, _, _ := listen(sub); !slices.Equal(outputs, want) {
			t.Errorf("after a death: %v, want %v", outputs, want)
		}
		m.mu.Lock()
		m.deaf["c"] = false
		m.mu.Unlock()
		m.views["c"].set(false, 0)
		time.Sleep(5 * time.Second)
		listen(sub)
		m.join("d", true) // is listened to before it has anything
		time.Sleep(2 * time.Minute)
		if _, _, gaps := listen(sub); gaps != 1 {
			t.Errorf("%d gaps for a newcomer", gaps)
		}
		want = push(5)
		if outputs, _, gaps := listen(sub); !slices.Equal(outputs, want) || gaps != 0 {
			t.Errorf("with a newcomer: %v, %d gaps; want %v", outputs, gaps, want)
		}
	})
}

// M53: the metrics of daemons add up, wherever what they count has run before, and say of a graph that it is well where
// some of it runs.
func TestM53MetricsAreOfWhatRunsHere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, names := gathered(t)
		defer m.close()
		m.beds["a"].push("g", "a", events(0, 40)...)
		adds := func(when string) {
			t.Helper()
			time.Sleep(time.Second)
			counts, live := map[string]int64{}, map[string]bool{}
			for _, b := range m.beds {
				for _, g := range b.e.Metrics(t.Context()) {
					counts[g.Summary.Graph] += g.Summary.Counters.Consumed
					for i := range g.Summary.Accumulators {
						counts["inputs of "+g.Summary.Graph] += g.Summary.Accumulators[i].Counters.Consumed
					}
					live[g.Summary.Graph] = live[g.Summary.Graph] || g.Summary.Health == string(reactor.HealthLive)
				}
			}
			if counts["g"] != 40 || counts["inputs of g"] != 40 {
				t.Errorf("%s: %v", when, counts)
			}
			for _, name := range names {
				if !live[name] {
					t.Errorf("%s: %s is live nowhere", when, name)
				}
			}
		}
		adds("at first")
		m.s.drain("b", true)
		time.Sleep(5 * time.Second)
		adds("after a drain")
		m.s.drain("b", false)
		time.Sleep(2 * time.Minute)
		adds("when they are back")
	})
}
