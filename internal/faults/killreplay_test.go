package faults

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const replayGraph = `graph: effects
accumulators:
  events: { source: { file: { path: ../events.ndjson, follow: true } }, emit: event.n, strategy: sequential }
nodes:
  n: { expr: '{ "at": now(), "n": events }' }
outputs:
  hook: { from: n, sink: { http: { url: %q } }, on_error: dead_letter%s }
durability: { interval: 50ms%s }
`

// TestKillReplay kills the daemon at random moments and at failpoints while it replays the dead letters of a sink
// (M5, M30): every value arrives, under the id that it was refused under, and no letter is left.
func TestKillReplay(t *testing.T) {
	t.Parallel()
	dsn, _ := database(t)
	for name, c := range map[string]struct {
		doc  [2]string
		args []string
	}{
		"outbox":   {doc: [2]string{", delivery: outbox", ""}},
		"journal":  {doc: [2]string{"", ", mode: journal"}},
		"postgres": {doc: [2]string{", delivery: outbox", ""}, args: []string{"--store", dsn, "--lease", "2s"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killReplay(t, c.doc, c.args)
		})
	}
}

// replays replays all dead letters that there are, again and again until done is closed, and counts them.
func (p *process) replays(done <-chan struct{}, letters *atomic.Int64) {
	for {
		var res struct {
			Letters, Waiting int
			Next             string
		}
		err := p.do("POST", "/v1/graphs/effects/dead-letters/replay", `{"all":true,"limit":50}`, &res)
		pause := time.Millisecond
		if err == nil {
			letters.Add(int64(res.Letters))
		} else { // the graph may have lost its lease for a moment, or the daemon is down
			pause = 10 * time.Millisecond
		}
		select {
		case <-done:
			return
		case <-time.After(pause):
		}
	}
}

func killReplay(t *testing.T, doc [2]string, args []string) {
	hook, sane, refusals := newEffects(), atomic.Bool{}, atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		switch {
		case err != nil:
			w.WriteHeader(http.StatusBadRequest) // cut off by a kill: it counts as not sent
		case !sane.Load() && strings.Contains(string(body), "7}") && refusals.Add(1)%3 != 0:
			w.WriteHeader(http.StatusUnprocessableEntity)
		default:
			hook.take(r.Header.Get("Graphd-Firing-Id"), r.Header.Get("Graphd-Firing-Stable"), body)
		}
	}))
	t.Cleanup(server.Close)
	dir := declare(t, "effects", fmt.Sprintf(replayGraph, server.URL, doc[0], doc[1]))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	began := time.Now()
	load := startLoadAt(ctx, t, filepath.Join(dir, "events.ndjson"), 12)
	rng, replayed := rand.New(rand.NewPCG(5, 6)), atomic.Int64{}
	var lives tally
	for i := range someKills(t, outboxPoints) {
		ended, joined := make(chan struct{}), make(chan struct{})
		close(joined)
		lives.add(killed(t, dir, i, outboxPoints, rng, func(p *process) {
			joined = make(chan struct{})
			go func() {
				defer close(joined)
				p.replays(ended, &replayed)
			}()
			if before := replayed.Load(); i%2 == 0 { // a life that ends at random, and not at a failpoint
				p.until("letters are replayed", 3*time.Minute, func() bool { return replayed.Load() > before })
			}
		}, args...))
		close(ended)
		<-joined
	}
	rate := float64(load.written.Load()) / time.Since(began).Seconds()
	cancel()
	<-load.done
	sane.Store(true)
	p, total := start(t, dir, args...), load.written.Load()
	p.until("the graph runs", stuck, func() bool { return p.summary("effects").Health == "live" })
	p.drains("values that have not come", func() int64 {
		s := p.summary("effects")
		return 2*max(0, total-s.Counters.Consumed) + s.Outputs[0].Pending // what is taken in has to come yet
	})
	p.until("no letter is left", time.Minute, func() bool {
		var res struct{ Letters int }
		return p.do("POST", "/v1/graphs/effects/dead-letters/replay", `{"all":true,"limit":1000}`, &res) == nil &&
			res.Letters == 0
	})
	p.until("all replays have come", time.Minute, func() bool { return p.summary("effects").Outputs[0].Pending == 0 })
	if err := p.stop(); err != nil {
		t.Errorf("the daemon did not stop cleanly: %v\n%s", err, p.log)
	}
	if problems := hook.verdict(upTo(total)); len(problems) > 0 {
		t.Error(problems)
	}
	lives.hold(t)
	t.Logf("%.0f events/s: %d values, %d replays while it was killed, %d deliveries came again under their ids", rate,
		total, replayed.Load(), hook.again)
}
