package faults

import (
	byteorder "encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// clock is the wall clock that one daemon sees: the machine's, off by as many seconds as the file
// says. The daemon is built with a package time whose Now adds them, so that everything in it sees
// the step, and no line of it is another; monotonic time and timers are as they are, as after
// settimeofday.
type clock struct {
	t       *testing.T
	path    string
	program string // the daemon that follows it
}

// steppable is a daemon whose clock can be stepped, built once.
var steppable = sync.OnceValues(func() (string, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	std := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	text, err := os.ReadFile(std)
	if err != nil {
		return "", err
	}
	dir := filepath.Dir(built)
	spoilt, err := withStep(string(text))
	if err != nil {
		return "", err
	}
	other := filepath.Join(dir, "time.go.txt")
	if err := os.WriteFile(other, []byte(spoilt), 0o600); err != nil {
		return "", err
	}
	module, err := filepath.Abs("../..")
	if err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		std: other,
		filepath.Join(module, "cmd", "graphd", "step.go"): filepath.Join(module, "internal", "faults", "testdata",
			"clock", "step.go"),
	}})
	if err != nil {
		return "", err
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "graphd-steppable")
	out, err := exec.Command("go", "build", "-trimpath", "-overlay", list, "-o", path,
		"github.com/graphd/graphd/cmd/graphd").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
})

// withStep is package time's main file with a Now that adds the seconds at Stepped.
func withStep(text string) (string, error) {
	for _, change := range []struct{ old, new string }{
		{"\tsec, nsec, mono := runtimeNow()\n", "\tsec, nsec, mono := runtimeNow()\n" +
			"\tif Stepped != nil {\n\t\tsec += atomic.LoadInt64(Stepped)\n\t}\n"},
		{"\t\"math/bits\"\n", "\t\"math/bits\"\n\t\"sync/atomic\"\n"},
	} {
		if strings.Count(text, change.old) != 1 {
			return "", fmt.Errorf("package time of this Go has not got %q once: step its Now in another way",
				change.old)
		}
		text = strings.Replace(text, change.old, change.new, 1)
	}
	return text + "\n// Stepped is by how many seconds the wall clock is off; nil for none.\nvar Stepped *int64\n", nil
}

// newClock makes a clock that is right, for daemons of this test.
func newClock(t *testing.T) *clock {
	t.Helper()
	if testing.Short() {
		t.Skip("it builds the daemon with another package time")
	}
	path, err := steppable()
	if err != nil {
		t.Fatalf("build a daemon with another clock: %v", err)
	}
	c := &clock{t: t, path: filepath.Join(t.TempDir(), "clock"), program: path}
	c.set(0)
	return c
}

// set steps the clock, in the daemons that run too: they have the file in their memory.
func (c *clock) set(off time.Duration) {
	c.t.Helper()
	f, err := os.OpenFile(c.path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	seconds := byteorder.NativeEndian.AppendUint64(nil, uint64(off/time.Second))
	if _, err := f.WriteAt(seconds, 0); err != nil {
		c.t.Fatal(err)
	}
}

// start is [startWith] of a daemon that follows the clock.
func (c *clock) start(env []string, dir string, args ...string) *process {
	c.t.Helper()
	p, err := launchOf(c.t, c.program, append(env, "GRAPHD_TEST_CLOCK="+c.path), dir, args...)
	if err != nil {
		c.t.Fatal(err)
	}
	return p
}

// timed are graphs whose work depends on time, an event every 10 ms each: a rate limit, a grid, a
// quiet time that does not come and so a longest wait, windows of arrival time.
var timed = map[string]string{
	"limited": `reactor: { when: any, rate_limit: 100ms }`,
	"grid":    `reactor: { when: any, every: 100ms }`,
	"waits":   `reactor: { when: any, debounce: 50ms, max_wait: 100ms }`,
	"windows": `reactor: { when: any }`,
}

func timedGraph(name, durability string) string {
	window := ""
	if name == "windows" {
		window = ", window: { tumbling: 1s, aggregate: { n: count() } }"
	}
	return fmt.Sprintf("graph: %s_%s\naccumulators:\n  a: { source: { generator: { every: 10ms, expr: i } }%s }\n%s\n"+
		"outputs: { o: { from: a, sink: { drop: {} } } }\ndurability: { mode: %s, interval: 200ms }\n",
		name, durability, window, timed[name], durability)
}

// look is what the timed graphs have come to.
func (p *process) look(names []string) map[string]summary {
	p.t.Helper()
	all := map[string]summary{}
	for _, name := range names {
		all[name] = p.summary(name)
	}
	return all
}

// goesOn holds that the graphs work as they do under a clock that is right: each fires again and
// again, no faster than it may, and nothing is refused, dropped or late.
func (p *process) goesOn(stage string, names []string) {
	p.t.Helper()
	const pace, times, windows, events = 100 * time.Millisecond, 20, 2, 100
	began, before, after := time.Now(), p.look(names), map[string]summary(nil)
	p.waitFor(stuck, func() bool { // a clock that stands still for an hour fires nothing
		after = p.look(names)
		for name, a := range after {
			b, least := before[name], int64(times)
			if strings.HasPrefix(name, "windows") {
				least = windows
			}
			if a.Epoch-b.Epoch < least || a.Counters.Received-b.Counters.Received < events {
				return false
			}
		}
		return true
	})
	took := time.Since(began)
	for _, name := range names {
		b, a := before[name], after[name]
		// A summary may be older than it was asked for, and a late fire be close to the next: some more say nothing.
		least, most := int64(times), int64(took/pace)*3/2+5
		if strings.HasPrefix(name, "windows") {
			least, most = windows, int64(took/time.Second)*3/2+5
		}
		if n := a.Epoch - b.Epoch; n < least || n > most {
			p.t.Errorf("%s: %s has fired %d times in %v, want %d to %d (%s %+v)", stage, name, n, took, least, most,
				a.Health, a.HealthReason)
		}
		if taken := a.Counters.Received - b.Counters.Received; taken < events {
			p.t.Errorf("%s: %s has got %d events in %v", stage, name, taken, took)
		}
		if c := a.Counters; c.Filtered+c.Rejected+c.DeadLettered > 0 {
			p.t.Errorf("%s: the books of %s: %+v", stage, name, c)
		}
		if err := a.balanced(); err != nil {
			p.t.Errorf("%s: %s: %v", stage, name, err)
		}
	}
	if p.t.Failed() {
		p.t.FailNow() // what follows would fail for the same reason
	}
}

// told waits until the health of all tells that the clock has stepped, or no longer does.
func (p *process) told(stage string, names []string, stepped bool) {
	p.t.Helper()
	want := "live "
	if stepped {
		want = "degraded clock_stepped"
	}
	var last string
	if !p.waitFor(stuck, func() bool {
		for name, s := range p.look(names) {
			if got := s.Health + " " + s.HealthReason.Code; got != want {
				last = fmt.Sprintf("%s is %s %s", name, got, s.HealthReason.Detail)
				return false
			}
		}
		return true
	}) {
		p.t.Fatalf("%s: %s, want %s\n%s", stage, last, want, p.log)
	}
}

// M26: the real daemon under a wall clock that is set an hour back, right, a day ahead and right
// again, killed under each: rate limits, grids, longest waits and windows of arrival time go on at
// their pace, nothing is dropped, and the health of each graph tells the step while it lasts.
func TestM26ClockSteps(t *testing.T) {
	t.Parallel() // it waits more than it works
	c := newClock(t)
	dir := t.TempDir()
	run := func() *process { return c.start(nil, dir) }
	p := run()
	var names []string
	for _, durability := range []string{"checkpoint", "journal"} {
		for name := range timed {
			apply(t, p, name+"_"+durability, timedGraph(name, durability))
			names = append(names, name+"_"+durability)
		}
	}
	again := func() {
		t.Helper()
		p.kill()
		p = run()
		p.until("the graphs are there again", stuck, func() bool {
			for _, s := range p.look(names) {
				if s.Health != "live" && s.Health != "degraded" {
					return false
				}
			}
			return true
		})
	}
	for _, step := range []struct {
		name        string
		off         time.Duration
		told, stays bool // it is told, also after 20 seconds
		killed      bool // what is told after a kill
	}{
		{name: "an hour back", off: -time.Hour, told: true, stays: true, killed: true},
		{name: "right after an hour back", off: 0},
		{name: "a day ahead", off: 24 * time.Hour, told: true},
		{name: "right after a day ahead", off: 0, told: true, stays: true},
	} {
		c.set(step.off)
		if step.told {
			p.told(step.name, names, true)
			p.goesOn(step.name, names)
		}
		p.told(step.name+", after a while", names, step.stays)
		p.goesOn(step.name+", after a while", names)
		again()
		p.told(step.name+", after a kill", names, step.killed)
		p.goesOn(step.name+", after a kill", names)
	}
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}

// stepped steps a clock and holds that the owner goes on for more than a lease; or it says that the round is to be made
// again.
func (d *pair) stepped(c *clock, off time.Duration) (again bool) {
	d.t.Helper()
	incarnation, owner := d.incarnation(), d.owner
	said := len(d.p[owner].log.String())
	c.set(off)
	rows, began := d.one("SELECT count(*) FROM numbers"), time.Now()
	d.p[0].until("the owner goes on for more than a lease", stuck, func() bool {
		return d.one("SELECT count(*) FROM numbers") > rows+200 && time.Since(began) > d.lease*3/2
	})
	return d.again(incarnation, owner, said)
}

// M45: leases go by the database's clock and the daemons' monotonic ones: however the wall clock
// of an owner or of one that stands by steps, the graph stays where it is; and an owner that is
// killed is replaced as ever, with nothing lost or doubled.
func TestM45ClockStepsOfOwners(t *testing.T) {
	const lease = 3 * time.Second // a shorter one is lost on a busy machine again and again, whatever its clock says
	clocks := []*clock{newClock(t), newClock(t)}
	d := newPair(t, lease, clocks...)
	for i, c := range clocks {
		before := time.Duration(0)
		for _, off := range []time.Duration{-time.Hour, 24 * time.Hour, 0} {
			for d.stepped(c, off) {
				t.Logf("the clock of daemon %d has stepped to %v", i, off)
				c.set(before)
				d.owned()
			}
			before = off
		}
	}
	for _, off := range []time.Duration{-time.Hour, 24 * time.Hour} {
		old, next := d.owner, 1-d.owner
		clocks[old].set(off)
		rows := d.one("SELECT count(*) FROM numbers")
		d.p[old].kill()
		d.lived += time.Since(d.since)
		began := time.Now()
		d.beside.anew()
		d.p[next].until("the other takes over", stuck, func() bool {
			return d.p[next].summary("numbered").Health != "standby"
		})
		d.beside.kept(t, "the other takes over", time.Since(began), 5*time.Second)
		d.taken(rows)
		d.start(old)
		d.untilHealth(old, "standby")
	}
	d.settle()
}
