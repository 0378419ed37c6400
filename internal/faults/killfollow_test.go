package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The leader takes every event of the load as a cut, and a fifth of its epochs fail. Both graphs that follow keep the
// last cuts in a state window: what is lost or doubled shows in it. Every third epoch of one of them fails.
const (
	leadGraph = `graph: lead
accumulators:
  events: { source: { file: { path: ../events.ndjson, follow: true } }, strategy: sequential }
  note: { passive: true, default: none }
nodes:
  q: { expr: '10 / (events.n %% 5)' }
outputs:
  cuts: { from: reactor, sink: { followers: {} } }
  q: { from: q, sink: { drop: {} } }
durability: { mode: %s, interval: 50ms }
`
	followGraph = `graph: %s
accumulators:
  cut:
    source: { follow: { name: lead, output: cuts } }
    emit: '[event.epoch, event.events.n]'
    state: { keep: 2000 }
nodes:
  newest: { expr: 'last(cut)[0]' }
  bad: { expr: '1 / (last(cut)[1] %% %d)' }
outputs:
  newest: { from: newest, sink: { drop: {} } }
  bad: { from: bad, sink: { drop: {} } }
durability: { mode: %s, interval: %s }
`
)

// TestKillFollowers kills the daemon at random moments under load (M7, M28, M29, M46): every cut of the leader is in
// the state of each graph that follows exactly once and in order, whatever failed in one of the others, also where
// their checkpoints are taken at other times.
func TestKillFollowers(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"checkpoint", "journal"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			killFollowers(t, mode)
		})
	}
}

func killFollowers(t *testing.T, mode string) {
	t.Helper()
	dir := declare(t, "lead", fmt.Sprintf(leadGraph, mode))
	for name, doc := range map[string]string{
		"every": fmt.Sprintf(followGraph, "every", 1<<40, mode, "50ms"),
		"third": fmt.Sprintf(followGraph, "third", 3, mode, "300ms"),
	} {
		if err := os.WriteFile(filepath.Join(dir, "graphs", name+".yaml"), []byte(doc), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := startLoadAt(ctx, t, filepath.Join(dir, "events.ndjson"), 20)
	kill := 0
	n := max(kills(t, 10)/2, 6)
	killAtRandom(t, dir, "every", n, func(p *process, _ summary) {
		for _, graph := range []string{"every", "third"} {
			p.until(graph+" runs", 60*time.Second, func() bool { return p.summary(graph).Health == "live" })
			checkFollows(t, p, graph, kill)
		}
		kill++
	})
	cancel()
	<-l.done

	p := start(t, dir)
	total := l.written.Load()
	counts := func(graph string) counters { return p.summary(graph).Accumulators[0].Counters }
	p.drains("cuts that are not in the state of all", func() int64 {
		lead, every, third := counts("lead"), counts("every"), counts("third")
		return 3*total - lead.Consumed - lead.DeadLettered - every.Consumed - every.DeadLettered -
			third.Consumed - third.DeadLettered
	})
	p.drains("values that the leader keeps", func() int64 {
		s := p.summary("lead")
		return pending(&s)
	})
	for graph, failed := range map[string]int64{"lead": (total + 4) / 5, "every": 1, "third": (total + 2) / 3} {
		c := counts(graph)
		if graph == "lead" && c.DeadLettered != failed || c.Received != total {
			t.Errorf("%s: %+v of %d events, %d of which fail", graph, c, total, failed)
		}
	}
	for _, graph := range []string{"every", "third"} {
		if s := checkFollows(t, p, graph, kill); s.Epoch != total {
			t.Errorf("%s is at epoch %d of %d", graph, s.Epoch, total)
		}
	}
	if err := p.stop(); err != nil {
		t.Errorf("the daemon did not stop cleanly: %v\n%s", err, p.log)
	}
	if total < 500 {
		t.Errorf("the test is void: only %d events", total)
	}
	t.Logf("%d kills: %d cuts, each once at both", n, total)
}

// checkFollows holds the state of a graph that follows against what must be true of it.
func checkFollows(t *testing.T, p *process, graph string, kill int) summary {
	t.Helper()
	s := p.summary(graph)
	if err := s.balanced(); err != nil {
		t.Fatalf("kill %d: %s: %v", kill, graph, err)
	}
	cut := s.Accumulators[0]
	var at int64
	if _, err := fmt.Sscanf(cut.Position[strings.LastIndex(cut.Position, "@")+1:], "%d", &at); cut.Position != "" &&
		(err != nil || at != cut.Counters.Received) {
		t.Fatalf("kill %d: %s: position %q of %d cuts: %v", kill, graph, cut.Position, cut.Counters.Received, err)
	}
	var state struct{ Cache map[string]json.RawMessage }
	if err := p.do("GET", "/v1/graphs/"+graph+"/state", "", &state); err != nil {
		t.Fatal(err)
	}
	var window [][2]int64
	if text := state.Cache["cut"]; text != nil {
		if err := json.Unmarshal(text, &window); err != nil {
			t.Fatal(err)
		}
	}
	for i, w := range window {
		if w[0] != window[0][0]+int64(i) || w[1] != w[0]-1 {
			t.Fatalf("kill %d: %s: the window has cut %v at place %d, and begins with %v", kill, graph, w, i, window[0])
		}
	}
	return s
}
