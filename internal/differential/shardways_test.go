package differential

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// shardWorkers is how many declarations are compared at a time: much of it is waiting.
const shardWorkers = 4

// shardWay is one way to run a declaration live, by shards.
type shardWay struct {
	name string
	// numbers are the numbers of shards it is run with; of one in many it is the seed that says which.
	numbers []int
	one     bool
	// fits says which declarations can go that way; nil: all.
	fits func(w *wide) bool
	says func(w *wide, t *testing.T, doc tree, seed uint64, want *spoken) (*spoken, error)
	// whole: it is one life, so that what is counted since a start is comparable too.
	whole bool
}

// kept says that a graph has its state in the store.
func kept(w *wide) bool {
	d, _ := w.doc["durability"].(tree)
	return d["mode"] != "none"
}

// pushable says that each event can be pushed when it happens: what is behind comes when the rest is through.
func pushable(w *wide) bool { return w.apart }

// shardWays are those of one daemon.
func shardWays(bin daemons, k *topics, tally *tally) []shardWay {
	several := []int{2, 7, 64}
	return []shardWay{
		{name: "files", numbers: shardNumbers(), whole: true,
			says: func(w *wide, t *testing.T, doc tree, seed uint64, want *spoken) (*spoken, error) {
				return w.caughtUp(t, doc, seed, want, false)
			}},
		{name: "pushed", numbers: shardNumbers(), whole: true, fits: pushable, says: (*wide).pushed},
		{name: "killed", numbers: shardNumbers(),
			says: func(w *wide, t *testing.T, doc tree, seed uint64, want *spoken) (*spoken, error) {
				return w.caughtUp(t, doc, seed, want, true)
			}},
		{name: "one shard ends", numbers: several,
			says: func(w *wide, t *testing.T, doc tree, seed uint64, want *spoken) (*spoken, error) {
				s, ends, err := w.alone(t, doc, seed, want)
				tally.ends.Add(int64(ends))
				return s, err
			}},
		{name: "another number, pushed", numbers: several, one: true,
			fits: func(w *wide) bool { return kept(w) && w.apart },
			says: func(w *wide, t *testing.T, doc tree, seed uint64, want *spoken) (*spoken, error) {
				return w.redealt(t, doc, seed, want, changes(seed), tally)
			}},
		{name: "another number, files", numbers: several, one: true,
			says: func(w *wide, t *testing.T, doc tree, seed uint64, want *spoken) (*spoken, error) {
				return w.redealtFiles(t, doc, seed, want, changes(seed), tally)
			}},
		{name: "partitions", numbers: []int{2, 7}, one: true,
			fits: func(w *wide) bool { return w.byPartitions(w.seed) != nil },
			says: func(w *wide, t *testing.T, doc tree, seed uint64, _ *spoken) (*spoken, error) {
				return k.parts(w, t, doc, seed)
			}},
		{name: "process", numbers: shardNumbers(), one: true,
			fits: func(*wide) bool { return bin != "" },
			says: func(w *wide, t *testing.T, doc tree, seed uint64, want *spoken) (*spoken, error) {
				return bin.killed(w, t, printed(doc), seed, want)
			}},
	}
}

// moveWays are those of two members.
func moveWays(p *pairs, tally *tally) []shardWay {
	several := []int{2, 7, 64}
	return []shardWay{
		{name: "moved, files", numbers: several, one: true,
			says: func(w *wide, t *testing.T, doc tree, seed uint64, want *spoken) (*spoken, error) {
				return p.moved(w, t, doc, seed, want, tally)
			}},
		{name: "moved, pushed", numbers: several, one: true, fits: pushable,
			says: func(w *wide, t *testing.T, doc tree, seed uint64, want *spoken) (*spoken, error) {
				return p.movedPushes(w, t, doc, seed, want, tally)
			}},
	}
}

// tally is how much has happened.
type tally struct {
	ran, values, ends, moves, midway, changed, torn atomic.Int64
	mu                                              sync.Mutex
	ways                                            map[string]int
	took                                            map[string]time.Duration
}

func newTally() *tally { return &tally{ways: map[string]int{}, took: map[string]time.Duration{}} }

func (a *tally) way(name string, took time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ways[name]++
	a.took[name] = (a.took[name] + took).Round(time.Millisecond)
}

// changes are the numbers of shards that a graph has one after the other.
func changes(seed uint64) []int {
	all := [][]int{{1, 7, 2, 64, 1}, {2, 64, 7}, {64, 1, 2}, {7, 2, 7}}
	return all[int(seed)%len(all)]
}

// printed is a declaration whose outputs all are lines of stdout: the binary has no sinks of a program.
func printed(doc tree) tree {
	var own tree
	if err := json.Unmarshal(text(doc), &own); err != nil {
		panic(err)
	}
	outs, _ := own["outputs"].(tree)
	for _, o := range outs {
		if out, ok := o.(tree); ok {
			out["sink"] = tree{"stdout": tree{}}
			delete(out, "delivery")
		}
	}
	return own
}

// M48, M49, M50, M54: what live shards answer of each key is what a bounded run answers, whatever their number and
// that of the cores, however events come, wherever they are killed, as a store that dies under them and as a process,
// when one of them begins again alone, or their number is changed on the way; and their books are those of one
// together. SHARD_DECLARATIONS says how many are compared, SHARD_CORES=all that each is run on every number of cores
// and not on one of them, SHARD_CORES=8 that those alone are run whose turn it is on eight, DIFF_SEED names one,
// DIFF_WAY one way, and DIFF_SHRINK has one that differs made smaller for so long.
func TestM48LiveShardsSayWhatOneSays(t *testing.T) {
	bin := daemons("")
	if !testing.Short() {
		bin = daemons(filepath.Join(t.TempDir(), "graphd"))
		build := exec.CommandContext(t.Context(), "go", "build", "-o", string(bin),
			"github.com/graphd/graphd/cmd/graphd")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	all := newTally()
	compareLive(t, shardDeclarations(t), shardWays(bin, newTopics(t), all), all)
	if n := all.ran.Load(); n > 10 && os.Getenv("DIFF_WAY") == "" && (all.ends.Load() < n || all.changed.Load() < n) {
		t.Error("too few shards ended and were dealt anew to show anything")
	}
}

// M52, M53: so it is while shards go from one member to another, drained or cut off from the store; files that both
// read, and pushes at either. Of so many declarations as the other tests compare it is a quarter, of 100 and more all.
func TestM52MovedShardsSayWhatOneSays(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for leases")
	}
	many := shardDeclarations(t)
	if many < 100 {
		many = max(many/4, 1)
	}
	all := newTally()
	compareLive(t, many, moveWays(newPairs(t), all), all)
	if n := all.ran.Load(); n > 4 && os.Getenv("DIFF_WAY") == "" && all.midway.Load() < n {
		t.Error("too few shards moved to show anything")
	}
}

// compareLive compares so many declarations, each in all these ways on the number of cores whose turn it is.
func compareLive(t *testing.T, many int, ways []shardWay, all *tally) {
	t.Helper()
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	jobs, left := map[int][]uint64{}, many
	if text := os.Getenv("DIFF_SEED"); text != "" {
		left = 1
	}
	for seed := firstShardSeed(t); left > 0; seed++ {
		if newLiveDealt(seed) == nil {
			continue
		}
		left--
		for c, cores := range shardCores() {
			if only := os.Getenv("SHARD_CORES"); only == "all" ||
				int(seed/2)%3 == c && (only == "" || only == strconv.Itoa(cores)) {
				jobs[cores] = append(jobs[cores], seed)
			}
		}
	}
	began := time.Now()
	for _, cores := range shardCores() {
		runtime.GOMAXPROCS(cores)
		t.Setenv("GOMAXPROCS", strconv.Itoa(cores)) // of the processes
		next := make(chan uint64)
		var working sync.WaitGroup
		for range shardWorkers {
			working.Go(func() {
				for seed := range next {
					liveShards(t, seed, cores, ways, all)
				}
			})
		}
		for _, seed := range jobs[cores] {
			next <- seed
		}
		close(next)
		working.Wait()
		t.Logf("%d declarations on %d cores, %s", len(jobs[cores]), cores, time.Since(began).Round(time.Second))
	}
	t.Logf("%v", all.took)
	t.Logf("%d declarations, each with %v shards: %d values of a run compared %v; %d shards ended alone, %d moved to "+
		"another member, %d of them amid their epochs, %d changes of their number, %d pushes came apart",
		all.ran.Load(), shardNumbers(), all.values.Load(), all.ways, all.ends.Load(), all.moves.Load(),
		all.midway.Load(), all.changed.Load(), all.torn.Load())
}

// firstShardSeed is the seed that DIFF_SEED names.
func firstShardSeed(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv("DIFF_SEED")
	if text == "" {
		return 0
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return seed
}

// liveShards compares all ways of one declaration.
func liveShards(t *testing.T, seed uint64, cores int, ways []shardWay, all *tally) {
	w := newLiveDealt(seed)
	want, err := w.run(t, w.doc)
	if err != nil {
		t.Errorf("seed %d: %v", seed, err)
		return
	}
	all.ran.Add(1)
	for _, lines := range want.outputs {
		all.values.Add(int64(len(lines)))
	}
	truth, err := w.virtually(t, w.doc, nil)
	if err != nil {
		t.Errorf("seed %d: %v", seed, err)
		return
	}
	want.gone, want.counted = truth.gone, true
	for k := range ways {
		way := &ways[k]
		if way.fits != nil && !way.fits(w) || !asked(way.name) {
			continue
		}
		numbers := way.numbers
		if way.one {
			numbers = numbers[int(seed/3)%len(numbers):][:1]
		}
		for _, n := range numbers {
			began := time.Now()
			got, said, err := w.sharded(t, way, w.doc, seed, want, n)
			all.way(way.name, time.Since(began))
			if err == nil && said == "" {
				said = differsInGone(got, want, way.whole)
			}
			if within, bad := time.ParseDuration(os.Getenv("DIFF_SHRINK")); bad == nil && said != "" {
				w.shrunk(t, seed, way.of(n), within)
			}
			if err != nil || said != "" {
				t.Errorf("seed %d, %d shards on %d cores, %s: %v: %s\n%s\n%s", seed, n, cores, way.name, err, said,
					text(w.doc), w.told())
			}
		}
	}
}

// asked says that a way is to be gone: DIFF_WAY names some, with a semicolon between them.
func asked(name string) bool {
	only := os.Getenv("DIFF_WAY")
	return only == "" || slices.Contains(strings.Split(only, ";"), name)
}

// sharded is what a declaration says one way with so many shards, and how that differs from a run.
func (w *wide) sharded(t *testing.T, way *shardWay, doc tree, seed uint64, want *spoken, n int) (
	got *spoken, differs string, err error) {
	var own tree
	if err := json.Unmarshal(text(doc), &own); err != nil {
		return nil, "", err
	}
	r, _ := own["reactor"].(tree)
	if r == nil {
		return nil, "", fmt.Errorf("it has no reactor")
	}
	r["shards"] = n
	v := *w // several read their own numbers of shards
	v.shards, v.doc, want.shared = n, own, w.shared
	if got, err = way.says(&v, t, own, seed, want); err != nil {
		return nil, "", err
	}
	if got.like != nil {
		got.gone = want.gone // of what each shard has heard of
		return got, differsInKeys(got, got.like), nil
	}
	if differs = w.differsByKey(got, want); differs != "" && len(got.torn) > 0 {
		if differs, err = w.differsApart(t, got); differs == "" {
			got.gone = want.gone // a key that is cut otherwise waits and overflows otherwise
		}
	}
	return got, differs, err
}

// of is the way as the shrinking takes it.
func (s *shardWay) of(n int) way {
	return way{s.name, nil, func(w *wide, t *testing.T, doc tree, seed uint64, want *spoken) (string, error) {
		_, said, err := w.sharded(t, s, doc, seed, want, n)
		return said, err
	}}
}

// differsInGone says how counts of keys differ, and in one life those of late events.
func differsInGone(got, want *spoken, whole bool) string {
	a, b := got.gone, want.gone
	if !whole {
		a.late, b.late = 0, 0
	}
	if a == b {
		return ""
	}
	return fmt.Sprintf("of keys and late events\n got %+v\nwant %+v", a, b)
}
