package live

import (
	"encoding/hex"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/testbed/raced"
)

// simSeeds is how many seeds a full run has (a tenth under the race detector: a seed is one
// goroutine); a short one has simShort.
const (
	simSeeds = 10_000
	simShort = 400
)

// simConfigs are the kinds of graph a seed may run: with checkpoints or a journal, with a
// guard or with pushes.
func simConfigs(t testing.TB) []reactor.Config {
	var all []reactor.Config
	for _, journal := range []bool{false, true} {
		for _, guard := range []string{"", ", guard: '(a ?? 0) % 11 != 10'"} {
			all = append(all, testConfig(t, fmt.Sprintf(simGraph, guard), func(c *reactor.Config) {
				c.KeepFirings, c.Journal = 20, journal
				c.Routes = make([]reactor.Route, simOutputs)
				for _, i := range []int{boxA, boxC} {
					c.Routes[i] = reactor.Route{Path: reactor.PathOutbox}
				}
				for i, name := range map[int]string{tableA: "table_a", tableC: "table_c"} {
					c.Routes[i] = reactor.Route{Path: reactor.PathCoTransaction, Row: rowOf,
						Table: checkpoint.Table{Output: c.Outputs[i], Name: name, Columns: []string{"epoch", "value"}}}
				}
			}))
		}
	}
	return all
}

// simulate runs one seed (printed step by step with SIM_SEED and -v), and answers its trace and what was wrong.
func simulate(t testing.TB, cfgs []reactor.Config, seed uint64, planted bug) (trace, problem string) {
	w := newWorld(t, cfgs[seed%uint64(len(cfgs))], seed, planted)
	w.talk = os.Getenv("SIM_SEED") != "" && testing.Verbose()
	for w.steps < simSteps && w.problem == "" {
		w.step()
	}
	w.heal()
	return hex.EncodeToString(w.trace.Sum(nil)), w.problem
}

// simulateMany runs seeds on all processors, and answers the least one that fails.
func simulateMany(t testing.TB, cfgs []reactor.Config, seeds uint64, planted bug) (seed uint64, problem string) {
	var next atomic.Uint64
	var mu sync.Mutex
	var wg sync.WaitGroup
	found := seeds
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for s := next.Add(1) - 1; s < seeds; s = next.Add(1) - 1 {
				mu.Lock()
				done := s > found
				mu.Unlock()
				if done {
					return
				}
				if _, p := simulate(t, cfgs, s, planted); p != "" {
					mu.Lock()
					if s < found {
						found, problem = s, p
					}
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return found, problem
}

// TestSimulation runs seeds of the simulator: safety after every step, liveness in the end
// (M7, M21, M22, M28, M29, M30, M35, M42, M45).
func TestSimulation(t *testing.T) {
	cfgs := simConfigs(t)
	if s := os.Getenv("SIM_SEED"); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		trace, problem := simulate(t, cfgs, seed, noBug)
		t.Logf("seed %d: trace %s, problem %q", seed, trace, problem)
		if problem != "" {
			t.Fail()
		}
		return
	}
	seeds := uint64(raced.Some(simSeeds))
	if testing.Short() {
		seeds = simShort
	}
	if seed, problem := simulateMany(t, cfgs, seeds, noBug); problem != "" {
		t.Fatalf("SIM_SEED=%d: %s", seed, problem)
	}
}

// TestSimulationRepeats: the same seed is the same run.
func TestSimulationRepeats(t *testing.T) {
	cfgs := simConfigs(t)
	for seed := range uint64(100) {
		a, _ := simulate(t, cfgs, seed, noBug)
		b, _ := simulate(t, cfgs, seed, noBug)
		if a != b {
			t.Fatalf("seed %d ran differently the second time", seed)
		}
	}
}

// TestSimulationFindsPlantedBugs: a harness that cannot fail proves nothing.
func TestSimulationFindsPlantedBugs(t *testing.T) {
	cfgs := simConfigs(t)
	for _, planted := range allBugs() {
		seed, problem := simulateMany(t, cfgs, 2000, planted)
		if problem == "" {
			t.Errorf("the planted bug was not found: %s", planted)
			continue
		}
		t.Logf("%s: found by seed %d: %s", planted, seed, problem)
	}
}
