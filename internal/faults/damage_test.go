package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// damages are what befalls the files of a killed daemon's store: each answers what it did.
var damages = []struct {
	name string
	file string
	do   func(data []byte, rng *rand.Rand) []byte
}{
	{"a log cut short", "graphd.db-wal", func(data []byte, rng *rand.Rand) []byte {
		return data[:rng.IntN(len(data))]
	}},
	{"a byte of the log turned", "graphd.db-wal", func(data []byte, rng *rand.Rand) []byte {
		data[rng.IntN(len(data))] ^= 0x40
		return data
	}},
	{"a page of the log zeroed", "graphd.db-wal", func(data []byte, rng *rand.Rand) []byte {
		at := rng.IntN(len(data))
		clear(data[at:min(at+4096, len(data))])
		return data
	}},
	{"the end of the log overwritten", "graphd.db-wal", func(data []byte, rng *rand.Rand) []byte {
		for i := len(data) - min(len(data), 64+rng.IntN(8192)); i < len(data); i++ {
			data[i] = byte(rng.Uint32())
		}
		return data
	}},
	{"a log that is gone", "graphd.db-wal", func([]byte, *rand.Rand) []byte { return nil }},
	{"a database cut short", "graphd.db", func(data []byte, rng *rand.Rand) []byte {
		return data[:rng.IntN(len(data))]
	}},
}

// TestDamagedStoreOfTheProcess: a daemon is killed while clients push into a journaled graph,
// and its store's files are damaged. The next start either has every push that was
// acknowledged, or says that the checkpoint is corrupt; it never goes on as if nothing were
// missing (M29).
func TestDamagedStoreOfTheProcess(t *testing.T) {
	told, whole := 0, 0
	rounds := 2 * len(damages)
	if n := kills(t, 0); n > 0 {
		rounds = max(rounds, n/10)
	}
	for i := range rounds {
		d := damages[i%len(damages)]
		t.Run(fmt.Sprintf("%d %s", i, d.name), func(t *testing.T) {
			dir := declare(t, "effects", journalGraph)
			rng := rand.New(rand.NewPCG(13, uint64(i)))
			acked := pushAndKill(t, dir, int64(2000+rng.IntN(4000)))
			path := filepath.Join(dir, "data", d.file)
			data, err := os.ReadFile(path)
			if err != nil || len(data) == 0 {
				t.Fatalf("the test is void: there is nothing to damage: %v", err)
			}
			if data = d.do(data, rng); data == nil {
				err = os.Remove(path)
			} else {
				err = os.WriteFile(path, data, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			if refused(t, dir) {
				told++
				return
			}
			whole++
			out := newEffects()
			out.read(t, filepath.Join(dir, "lines.ndjson"))
			if problems := out.verdict(slices.Values(acked)); len(problems) > 0 {
				t.Errorf("%d were acknowledged, and nothing is said: %v", len(acked), problems)
			}
		})
	}
	if told == 0 {
		t.Error("the test is void: no damage was seen")
	}
	t.Logf("%d damages: %d times the daemon said what is missing, %d times nothing was", rounds, told, whole)
}

// pushAndKill runs a daemon until so many pushes are acknowledged, and kills it.
func pushAndKill(t *testing.T, dir string, enough int64) (acked []int64) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	clients := startPushers(ctx, "/v1/graphs/effects/accumulators/events/events", 4)
	p := start(t, dir)
	clients.base.Store(&p.base)
	p.until("enough is acknowledged", stuck, func() bool {
		clients.mu.Lock()
		defer clients.mu.Unlock()
		return int64(len(clients.acked)) > enough
	})
	p.kill()
	cancel()
	clients.wg.Wait()
	if len(clients.bad) > 0 {
		t.Fatal(clients.bad)
	}
	return clients.acked
}

// refused starts a daemon on what is left of its files: whether it says, of itself or of the
// graph, that they are damaged. Otherwise it delivers what it has, and ends.
func refused(t *testing.T, dir string) bool {
	t.Helper()
	p, err := launch(t, nil, dir)
	if err != nil {
		if text := err.Error(); !strings.Contains(text, "corrupt") && !strings.Contains(text, "damaged") {
			t.Errorf("the store is refused, and it is not said why: %s", text)
		}
		return true
	}
	var s summary
	p.until("the graph has said how it is", stuck, func() bool {
		s = p.summary("effects")
		return s.Health == "halted" || s.Health == "failed" ||
			s.Health == "live" && s.Counters.Queued == 0 && pending(&s) == 0
	})
	if s.Health == "live" {
		if err := p.stop(); err != nil {
			t.Errorf("the daemon did not stop cleanly: %v\n%s", err, p.log)
		}
		return false
	}
	if s.HealthReason.Code != "checkpoint_corrupt" {
		t.Errorf("the graph is %s: %+v", s.Health, s.HealthReason)
	}
	return true
}
