package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// redealtKeys is how many keys there are, so that event n of a file is the (n / redealtKeys + 1)-th of its key.
const redealtKeys = 97

// Each event is an epoch of its key, whose value says how many there were of it.
const redealtGraph = `graph: effects
accumulators:
  events:
    %s
    strategy: sequential
    fold: { key: 'event.n %% 97', init: { c: 0, n: 0 }, step: { c: state.c + 1, n: event.n } }
reactor: { key: 'key', shards: %d }
nodes:
  n: { expr: '{ "n": events.n, "c": events.c, "at": now() }' }
outputs:
  hook: { from: n, sink: { http: { url: %q } }, delivery: outbox }
durability: { interval: 50ms%s }
`

// TestKillRedeal changes the number of shards again and again under load, and kills the daemon at each step of it and
// at random moments around it (M54): whatever is there afterwards, the old deal or the new one, each event has been
// taken in once, by the key's one state, and its value has come under one id. A change that is found at a start, before
// any shard runs here, is not refused for that.
func TestKillRedeal(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		killRedeal(t, false)
	})
	t.Run("journal", func(t *testing.T) {
		t.Parallel()
		killRedeal(t, true)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dsn, _ := database(t)
		// Each start waits until the lease of the process before is over.
		killRedeal(t, false, "--store", dsn, "--lease", "1s")
	})
}

// redealing is a daemon whose graph is dealt anew.
type redealing struct {
	t      *testing.T
	dir    string
	args   []string
	source string // of the input
	hook   string
	more   string // of durability
	// up is told where the daemon is, "" while it is down.
	up func(base string)
	// killed counts the ends at failpoints, dealt the changes that came through.
	killed, dealt int
}

// tookFiles fails the test where a daemon has refused a file since the graph did not run. One that has lost its lease
// on a busy machine may.
func (r *redealing) tookFiles(p *process) {
	r.t.Helper()
	log := p.log.String()
	if strings.Contains(log, "lease is lost") {
		return
	}
	for line := range strings.Lines(log) {
		if strings.Contains(line, "have to run here") || strings.Contains(line, "not handed over") {
			r.t.Errorf("a change was refused and is not tried again: %s", line)
		}
	}
}

// declare writes the declaration with so many shards.
func (r *redealing) declare(shards int) {
	r.t.Helper()
	text := fmt.Sprintf(redealtGraph, r.source, shards, r.hook, r.more)
	path := filepath.Join(r.dir, "graphs", "effects.yaml")
	err := os.WriteFile(path+".new", []byte(text), 0o600)
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// runsAs reports whether the graph is live, as how many shards.
func runsAs(p *process) (shards int, live bool) {
	var s struct {
		Health string
		Keys   struct{ Shards int }
	}
	if p.do("GET", "/v1/graphs/effects", "", &s) != nil {
		return 0, false
	}
	return max(s.Keys.Shards, 1), s.Health == "live"
}

// life has a daemon change the number of shards, and ends it at the failpoint, or at random where there is none.
func (r *redealing) life(rng *rand.Rand, point string, shards int) {
	r.t.Helper()
	var env []string
	if point != "" {
		env = []string{"GRAPHD_FAILPOINT=" + point}
	}
	p, err := launch(r.t, env, r.dir, r.args...)
	if errors.Is(err, errKilled) {
		r.killed++ // a change that was under way before was made good
		r.declare(shards)
		return
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.up(p.base)
	defer r.up("")
	defer r.tookFiles(p)
	ended := func() bool {
		select {
		case <-p.ended:
			p.ended = nil
			r.killed++
			return true
		default:
			return false
		}
	}
	done := false
	over := func(cond func() bool) func() bool {
		return func() bool { done = done || ended(); return done || cond() }
	}
	p.until("the graph runs", time.Minute, over(func() bool { _, live := runsAs(p); return live }))
	if !done {
		p.until("a checkpoint", time.Minute, over(func() bool {
			var s summary
			return p.do("GET", "/v1/graphs/effects", "", &s) == nil && s.Durability.CheckpointEpoch > 0
		}))
	}
	r.declare(shards)
	if done {
		return
	}
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil && !ended() {
		r.t.Fatal(err)
	}
	if point == "" {
		<-time.After(time.Duration(rng.IntN(300)) * time.Millisecond) // the random moment
	} else {
		p.waitFor(stuck, over(func() bool { n, live := runsAs(p); return live && n == shards }))
	}
	if !done && p.ended != nil {
		if n, live := runsAs(p); live && n == shards {
			r.dealt++
		}
		p.kill()
	}
}

func killRedeal(t *testing.T, pushed bool, args ...string) {
	t.Helper()
	hook, wrong := newEffects(), atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest) // cut off by a kill: it counts as not sent
			return
		}
		var v struct{ N, C int64 }
		if json.Unmarshal(body, &v) != nil || !pushed && v.C != v.N/redealtKeys+1 {
			wrong.Add(1)
		}
		hook.take(q.Header.Get("Graphd-Firing-Id"), q.Header.Get("Graphd-Firing-Stable"), body)
	}))
	t.Cleanup(server.Close)
	r := &redealing{t: t, dir: t.TempDir(), args: args, hook: server.URL, up: func(string) {}}
	if err := os.Mkdir(filepath.Join(r.dir, "graphs"), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	began := time.Now()
	var written func() int64
	var acked func() []int64
	var join func()
	if pushed {
		r.more = ", mode: journal"
		p := startPushers(ctx, "/v1/graphs/effects/accumulators/events/events", 2)
		r.up = func(base string) {
			if base == "" {
				p.base.Store(nil)
				return
			}
			p.base.Store(&base)
		}
		join, written = p.wg.Wait, p.next.Load
		acked = func() []int64 { return p.acked }
	} else {
		r.source = "source: { file: { path: ../events.ndjson, follow: true } }"
		// A change is refused while more waits in the outbox than can be delivered in time.
		full := func(written int64) bool { return written-hook.count() > 2000 }
		l := startUntilFull(ctx, t, filepath.Join(r.dir, "events.ndjson"), 12, numberedLine, full)
		join, written = func() { <-l.done }, l.written.Load
	}
	numbers := []int{4, 1, 7, 2, 5, 3}
	r.declare(1)
	rng := rand.New(rand.NewPCG(11, 12))
	points := []string{"redeal_taken:1", "redeal_stored:1", "", "redeal_dealt:1", "redeal_taken:4", "commit_sent:60",
		"", "commit_acknowledged:40", "redeal_taken:2"}
	lives := max(kills(t, 0)/4, len(points))
	for i := range lives {
		r.life(rng, points[i%len(points)], numbers[i%len(numbers)])
	}
	rate := float64(written()) / time.Since(began).Seconds()
	cancel()
	join()
	p, total := start(t, r.dir, args...), written()
	must := upTo(total)
	if pushed {
		must = slices.Values(acked())
	}
	p.until("the graph runs", stuck, func() bool { return p.summary("effects").Health == "live" })
	p.drains("values that have not come", func() int64 {
		s := p.summary("effects")
		left := s.Counters.Queued
		if !pushed {
			left = max(0, total-s.Counters.Consumed)
		}
		left = 2*left + s.Outputs[0].Pending // what is taken in has to come yet
		if s.Health != "live" {
			left++
		}
		return left
	})
	// At the start it may have been refused, for more waited in the outbox than could be delivered in time.
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	last := numbers[(lives-1)%len(numbers)]
	p.until("the last number of shards", time.Minute, func() bool {
		n, live := runsAs(p)
		return live && n == last
	})
	r.tookFiles(p)
	s := p.summary("effects")
	if err := s.balanced(); err != nil || !pushed && s.Counters.Received != total {
		t.Errorf("%d events, %+v: %v", total, s.Counters, err)
	}
	if err := p.stop(); err != nil {
		t.Errorf("the daemon did not stop cleanly: %v\n%s", err, p.log)
	}
	if problems := hook.verdict(must); len(problems) > 0 || wrong.Load() > 0 {
		t.Errorf("%d events: %d counted wrong; %v", total, wrong.Load(), problems)
	}
	if r.killed < lives/3 {
		t.Errorf("the test is void: %d of %d lives ended at a failpoint", r.killed, lives)
	}
	t.Logf("%d lives, %d ended at a failpoint, %d dealt and then killed; %d events at %.0f/s, %d sent again", lives,
		r.killed, r.dealt, total, rate, hook.again)
}
