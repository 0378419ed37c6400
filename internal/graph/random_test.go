package graph

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/testbed/raced"
)

// randomGraphs is how many graphs one run compares with the oracle, each over a
// dozen epochs; under the race detector a tenth. The seeds are always the same ones; SIM_SEED=n runs one of them,
// SIM_GRAPHS=n as many as wanted.
const randomGraphs = 10_000

// TestRandomGraphsMatchOracle compares every epoch of random graphs with the
// oracle: values, statuses, emissions, errors, dead nodes, the guard, and what a
// restart from the cells makes of it, before every epoch. Each epoch is driven inline and by two workers whose
// results come in any order: both come to the same (M23). M7, M14, M15, M16, M19, M21, M22.
func TestRandomGraphsMatchOracle(t *testing.T) {
	first, count := uint64(1), uint64(raced.Some(randomGraphs))
	if testing.Short() {
		count = randomGraphs / 10
	}
	if s := os.Getenv("SIM_GRAPHS"); s != "" {
		count, _ = strconv.ParseUint(s, 10, 64)
	}
	if s := os.Getenv("SIM_SEED"); s != "" {
		first, _ = strconv.ParseUint(s, 10, 64)
		count = 1
	}
	const shards = 4 // a few more than the least machine has cores
	var seen [shards]map[string]int
	t.Run("graphs", func(t *testing.T) {
		for shard := range uint64(shards) {
			seen[shard] = make(map[string]int)
			t.Run(strconv.FormatUint(shard, 10), func(t *testing.T) {
				t.Parallel()
				for seed := first + shard; seed < first+count; seed += shards {
					runWorld(t, seed, seen[shard])
				}
			})
		}
	})
	if count < 1000 || t.Failed() {
		return
	}
	// The comparison is void where something hardly ever happens.
	for _, what := range []string{"looped", "looped on", "loop not ended", "loop ended by its condition",
		"loop committed", "delayed", "delayed alone", "idle", "ran", "cut_off", "skipped",
		"failed", "no route", "asks of the epoch",
		"asks and is cut off", "emitted", "emitted on change",
		"shown", "null emitted", "null kept back", "condition not met", "condition failed",
		"equal event tick", "gone absent", "last good kept", "dead node", "fatal", "interrupted", "discarded",
		"restarted", "guard waits", "guard false", "guard error",
		"ran at a tick", "waited for its tick", "first run after others",
		"in a lane", "no room in a lane", "failed with lanes", "committed shuffled",
		"settled out of order", "failed out of order"} {
		total := 0
		for _, s := range seen {
			total += s[what]
		}
		if total < int(count)/50 {
			t.Errorf("only %d of %q in %d graphs", total, what, count)
		}
		t.Logf("%s: %d", what, total)
	}
}

func runWorld(t *testing.T, seed uint64, seen map[string]int) {
	t.Helper()
	if err := newWorld(t, seed).run(seen); err != nil {
		again := newWorld(t, seed)
		again.verbose = true
		_ = again.run(map[string]int{})
		t.Fatalf("SIM_SEED=%d: %v\n%s", seed, err, again)
	}
}

// run lives through a dozen epochs.
func (w *world) run(seen map[string]int) error {
	for range 12 {
		before, stamp := w.cache.clone(), w.stamp
		w.arrive()
		w.ticks = w.drawTicks()
		w.cause, w.emitAll = causes[w.IntN(len(causes))], w.IntN(5) == 0
		if w.guard != nil {
			if err := w.checkGuard(seen); err != nil {
				return err
			}
		}
		if w.IntN(10) == 0 {
			continue // a guard that is false consumes the cut: the cache stays as it is
		}
		commit, err := w.epoch(seen)
		if err != nil {
			return fmt.Errorf("epoch %d: %w", w.number, err)
		}
		if !commit {
			w.cache = before
			if w.IntN(2) == 0 {
				w.stamp = stamp
			}
		}
		if w.IntN(10) == 0 {
			if err := w.restart(); err != nil {
				return err
			}
			seen["restarted"]++
		}
		if w.IntN(10) == 0 {
			w.r, w.shuffled = &Result{}, &Result{}
		}
	}
	return nil
}

// epoch runs one, compares it with the oracle, and commits it unless it failed or
// is to be thrown away.
func (w *world) epoch(seen map[string]int) (committed bool, err error) {
	w.number++
	w.stamp++
	w.oracle.history = append(w.oracle.history, oracleCut{
		w.number, w.cause, w.emitAll, maps.Clone(w.cache.vals), maps.Clone(w.cache.set), w.ticks,
	})
	e := &Epoch{Number: w.number, Cause: w.cause, EmitAll: w.emitAll, Inputs: w.cache.inputs,
		Versions: w.cache.versions, Stamp: w.stamp, Ticks: w.ticks}
	allowed := 1000
	if w.IntN(12) == 0 && w.decl.Loops == nil { // between iterations it is asked too
		allowed = w.IntN(4)
	}
	left := allowed
	e.Interrupt = func() error {
		if left--; left < 0 {
			return errors.New("enough")
		}
		return nil
	}
	w.plan.Run(w.st, e, w.r)
	w.logf("epoch %d: cache %v set %v ticks %b", w.number, w.cache.vals, w.cache.set, w.ticks)
	if err := w.compare(w.r, allowed, seen); err != nil {
		return false, err
	}
	if err := w.runShuffled(*e, seen); err != nil {
		return false, fmt.Errorf("shuffled: %w", err)
	}
	if allowed == 1000 && w.number%4 == 1 { // goroutines cost more than all the rest
		if err := w.runPooled(*e, seen); err != nil {
			return false, fmt.Errorf("in lanes: %w", err)
		}
	}
	left = allowed
	if err := w.runRestored(e); err != nil {
		return false, fmt.Errorf("restored: %w", err)
	}
	e.FullRecompute, left = true, allowed
	full := &Result{}
	w.plan.Run(w.st, e, full)
	if err := w.compare(full, allowed, map[string]int{}); err != nil {
		return false, fmt.Errorf("full recompute: %w", err)
	}
	if w.r.Err != nil || w.IntN(8) == 0 {
		seen["discarded"]++
		w.logf("  discarded: %v", w.r.Err)
		w.plan.Commit(w.st, &Result{Err: &NodeError{}}) // a failed epoch commits nothing
		w.oracle.forget()
		return false, nil
	}
	r := w.r
	if w.IntN(2) == 0 {
		r = w.shuffled
		seen["committed shuffled"]++
	}
	changed := touched(r)
	w.plan.Commit(w.st, r)
	for _, i := range changed {
		w.cells[i] = w.plan.EncodeCell(w.st, i)
	}
	clear(w.cache.set)
	return true, nil
}

// forget takes the current epoch back.
func (o *oracle) forget() {
	k := len(o.history) - 1
	o.history = o.history[:k]
	for _, outcomes := range o.memo {
		delete(outcomes, k)
	}
}

// compare holds a result against the oracle; allowed nodes ran before the interruption.
func (w *world) compare(r *Result, allowed int, seen map[string]int) error {
	k, through := len(w.oracle.history)-1, true
	var dead []string
	for i, n := range w.order {
		if w.plan.nodes[i].Name != n.name {
			return fmt.Errorf("plan order: got %s at %d, want %s", w.plan.nodes[i].Name, i, n.name)
		}
		got, want := r.Node(i), outcome{value: w.oracle.run(n, k-1).value}
		if through {
			want = w.oracle.run(n, k)
		}
		if through && want.status != Idle {
			if allowed--; allowed < 0 {
				seen["interrupted"]++
				if r.Err == nil || r.Err.Code != CodeCancelled || r.Err.Name != n.name {
					return fmt.Errorf("interrupted before %s: got %v", n.name, r.Err)
				}
				want, through = outcome{value: w.oracle.run(n, k-1).value}, false
			}
		}
		if got.Status != want.status || !want.fatal && !same(got.Value, want.value) ||
			(got.Err != nil) != (want.status == Failed) {
			return fmt.Errorf("%s: got %v %v %v, want %v %v", n.name, got.Status, got.Value, got.Err, want.status,
				want.value)
		}
		if want.fatal {
			seen["fatal"]++
			if through = false; r.Err == nil || r.Err != got.Err {
				return fmt.Errorf("%s: epoch error: got %v, want %v", n.name, r.Err, got.Err)
			}
		}
		if got.Status == Failed && n.onError == "dead_letter" {
			dead = append(dead, n.name)
		}
		if through {
			w.count(seen, n, got, want, k)
		}
	}
	for i := 0; through && i < len(w.g.outputs); i++ {
		if !w.oracle.emits(i, k).failed {
			continue
		}
		seen["condition failed"]++
		if through = false; r.Err == nil || r.Err.Node != -1 || r.Err.Name != w.decl.Outputs[i].Name {
			return fmt.Errorf("output %d: its condition fails, and the epoch error is %v", i, r.Err)
		}
	}
	if through && r.Err != nil {
		return fmt.Errorf("epoch error: got %v, want none", r.Err)
	}
	if !through {
		dead = nil
	}
	for _, i := range r.DeadNodes {
		if len(dead) == 0 || dead[0] != w.plan.nodes[i].Name {
			return fmt.Errorf("dead nodes: got %v, want %v", r.DeadNodes, dead)
		}
		dead = dead[1:]
	}
	if len(dead) > 0 {
		return fmt.Errorf("dead nodes: %v is missing", dead)
	}
	return w.compareEmitted(r, through, seen)
}

func (w *world) compareEmitted(r *Result, through bool, seen map[string]int) error {
	emitted, filtered := r.Emitted, r.Filtered
	for i, o := range w.g.outputs {
		does := emission{}
		if through {
			does = w.oracle.emits(i, len(w.oracle.history)-1)
		}
		if does.keptBack {
			if len(filtered) == 0 || filtered[0] != i {
				return fmt.Errorf("output %d: kept back %v, and not this one", i, r.Filtered)
			}
			filtered = filtered[1:]
			if seen["null kept back"]++; does.conditioned {
				seen["null kept back"]--
				seen["condition not met"]++
			}
		}
		want := does.value
		if want.kind == 0 {
			continue
		}
		if len(emitted) == 0 || emitted[0].Output != i {
			return fmt.Errorf("output %d: got %v, want %v", i, r.Emitted, want)
		}
		got := emitted[0].Value
		emitted = emitted[1:]
		if _, isInput := w.g.event[o.from]; isInput && !boundary.Equal(got, w.input(o.from, want)) ||
			!isInput && !same(got, want) {
			return fmt.Errorf("output %d: got %v, want %v", i, got, want)
		}
		if seen["emitted"]++; o.onChange {
			seen["emitted on change"]++
		}
		if !w.oracle.changed(o.from, len(w.oracle.history)-1) {
			seen["shown"]++
		}
		if w.oracle.isNull(o.from, want) {
			seen["null emitted"]++
		}
	}
	if len(emitted)+len(filtered) > 0 {
		return fmt.Errorf("outputs: got %v too many, kept back %v too many", emitted, filtered)
	}
	return nil
}

func (w *world) count(seen map[string]int, n *oracleNode, got NodeResult, want outcome, k int) {
	last := w.oracle.run(n, k-1).value
	seen[got.Status.String()]++
	note := func(what string, yes bool) {
		if yes {
			seen[what]++
		}
	}
	note("no route", got.NoRoute)
	asks := n.term.asks() || slices.ContainsFunc(n.routes, (*term).asks)
	note("asks of the epoch", asks)
	note("asks and is cut off", asks && got.Status == CutOff)
	note("looped", got.Ended == Settled)
	note("looped on", got.Iterations > 2)
	note("loop not ended", got.Ended == MaxIterations && got.Status == Failed)
	note("loop committed", got.Ended == MaxIterations && got.Status == Ran)
	note("loop ended by its condition", got.Ended == Until)
	note("ran at a tick", n.rate > 0 && got.Status == Ran)
	note("waited for its tick", n.rate > 0 && got.Status == Idle &&
		slices.ContainsFunc(n.restsOn(), func(name string) bool { return w.oracle.changed(name, k) }))
	note("first run after others", n.rate > 0 && k > 0 && got.Status != Idle && !w.oracle.ranBefore(n, k))
	note("delayed", len(n.delay) > 0 && got.Status == Ran)
	note("delayed alone", len(n.delay) > 0 && got.Status == Ran && len(n.restsOn()) == 0)
	note("equal event tick", got.Status == Ran && last == want.value)
	note("gone absent", want.ticked && want.value.kind == 0)
	note("last good kept", got.Status == Failed && want.value.kind != 0)
	note("dead node", got.Status == Failed && n.onError == "dead_letter")
}

// checkGuard compares the guard with the oracle: over the cached inputs and the
// committed values of the nodes.
func (w *world) checkGuard(seen map[string]int) error {
	e := &Epoch{Number: w.number, Cause: w.cause, Inputs: w.cache.inputs, Versions: w.cache.versions}
	ok, waiting, failure := w.plan.GuardHolds(w.st, e, &w.asking)
	look := func(name string) val {
		if n := w.g.nodes[name]; n != nil {
			return w.oracle.run(n, len(w.oracle.history)-1).value
		}
		return w.cache.vals[name]
	}
	fresh := func(name string) bool { return w.cache.set[name] }
	v, fail := w.guard.eval(moment{epoch: w.number, cause: w.cause, look: look, fresh: fresh})
	want := cmp.Or(fail, strconv.FormatBool(v == num(1)))
	got := strconv.FormatBool(ok)
	switch {
	case failure != nil:
		got = errNode
		seen["guard error"]++
	case waiting:
		got = errAbsent
		seen["guard waits"]++
	case !ok:
		seen["guard false"]++
	}
	missing := func(name string) bool { return w.g.nodes[name] == nil && w.cache.vals[name].kind == 0 }
	if want == errAbsent && !slices.ContainsFunc(w.guard.plain(nil), missing) {
		want = "false" // only an input is waited for
	}
	if got != want {
		return fmt.Errorf("guard %s: got %s %v, want %s", w.guard, got, failure, want)
	}
	return nil
}
