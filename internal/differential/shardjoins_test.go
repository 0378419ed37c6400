package differential

import (
	"os"
	"runtime"
	"strings"
	"testing"
)

// newDealtJoin draws a declaration with a join whose keys can be dealt. One in eight is run as one.
func newDealtJoin(seed uint64) *wide {
	for again := uint64(0); ; again++ {
		w := newJoined(seed + again<<20)
		accs, _ := w.doc["accumulators"].(tree)
		r, _ := w.doc["reactor"].(tree)
		if !w.keyed || accs["stage"] != nil {
			continue
		}
		for _, name := range []string{"aj", "joined"} {
			in, _ := accs[name].(tree)
			join, _ := in["join"].(tree)
			delete(join, "max_rows") // several shards have room for more than one has
			delete(join, "max_bytes")
			if on, composite := join["on"].([]string); composite {
				r["key"], w.by = on, on
			}
		}
		w.unbound(r)
		r["shards"] = 2
		if u, err := w.compile(w.doc); err == nil && (u.OneCore() != "") == (seed%8 == 5) {
			return w
		}
	}
}

// M48, M51: what a bounded run makes of a join is the same to the byte for every number of shards and of cores.
func TestM51ShardsOfAJoinSayWhatOneSays(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	pairs, alone, late := 0, 0, 0
	for seed := range drawnSeeds(t, shardDeclarations(t)) {
		w := newDealtJoin(seed)
		want, err := w.all(t, 1, 0, -1, w.flushes(seed))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		pairs += strings.Count(want, `"m":true`)
		alone += strings.Count(want, `"m":false`)
		late += strings.Count(want, "late events of") + strings.Count(want, `"late_event"`)
		if why := w.onCores(t, seed, w.doc, want); why != "" {
			t.Errorf("seed %d, %s\n%s\n%s", seed, why, text(w.doc), w.told())
		}
	}
	t.Logf("%d pairs, %d events alone, %d with late ones", pairs, alone, late)
	if os.Getenv("DIFF_SEED") == "" && (pairs == 0 || alone == 0 || late == 0) {
		t.Error("that shows nothing")
	}
}
