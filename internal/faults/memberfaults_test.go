package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/graphd/graphd/internal/testbed"
)

// blow is one fault that was dealt, for what is measured afterwards.
type blow struct {
	kind   string
	at     time.Time
	until  time.Time     // when it was undone, where that is known
	away   bool          // what the daemon ran has to go on elsewhere
	member string        // the daemon's id
	shards []int         // of the dealt graph, that it ran
	alone  bool          // nothing else was done while it lasted
	taken  time.Duration // of a drain: how long until the daemon that was asked had answered
}

// dealer draws faults by a seed, deals them, and undoes each after a while, while it deals the next ones.
type dealer struct {
	f     *fleet
	graph string // whose shards are noted
	lease time.Duration
	rng   *rand.Rand
	open  []*undo
	blows []*blow
}

// undo is what ends a fault, and when.
type undo struct {
	at   time.Time
	s    *seat // which it was done to, if any
	blow *blow
	do   func()
}

// fault is a kind of fault: it is dealt to a seat, and answers what ends it after hold.
type fault struct {
	kind string
	away bool // the daemon loses what it runs, where it lasts longer than the lease
	once bool // at most one at a time
	// elsewhere is what is done to none of the seats that are there.
	elsewhere bool
	do        func(d *dealer, s *seat) (undo func())
	hold      func(d *dealer) time.Duration
}

func between(low, high time.Duration) func(d *dealer) time.Duration {
	return func(d *dealer) time.Duration { return low + time.Duration(d.rng.Int64N(int64(high-low))) }
}

// longer lasts in two of three cases longer than the lease.
func longer(d *dealer) time.Duration {
	if d.rng.IntN(3) == 0 {
		return time.Duration(d.rng.Int64N(int64(d.lease * 3 / 4)))
	}
	return d.lease + time.Second + time.Duration(d.rng.Int64N(int64(d.lease)))
}

func wire(pick func(s *seat) *testbed.Proxy, how func(p *testbed.Proxy)) func(*dealer, *seat) func() {
	return func(_ *dealer, s *seat) func() {
		how(pick(s))
		return pick(s).Pass
	}
}

func storeWire(s *seat) *testbed.Proxy { return s.store }
func peersWire(s *seat) *testbed.Proxy { return s.peers }

// faultKinds are dealt with equal chances.
var faultKinds = []fault{
	{kind: "kill", away: true, hold: between(0, 4*time.Second), do: func(_ *dealer, s *seat) func() {
		_ = s.end(syscall.SIGKILL)
		return s.start
	}},
	{kind: "suspend", away: true, hold: longer, do: func(_ *dealer, s *seat) func() {
		_ = s.p.cmd.Process.Signal(syscall.SIGSTOP)
		return func() { _ = s.p.cmd.Process.Signal(syscall.SIGCONT) }
	}},
	{kind: "drain", away: true, once: true, hold: between(2*time.Second, 6*time.Second), do: (*dealer).drain},
	{kind: "leave", away: true, hold: between(0, 4*time.Second), do: func(d *dealer, s *seat) func() {
		if err := s.end(syscall.SIGTERM); err != nil {
			d.f.t.Errorf("daemon %d did not stop cleanly: %v", s.n, err)
		}
		return s.start
	}},
	{kind: "join", once: true, elsewhere: true, hold: between(4*time.Second, 9*time.Second), do: (*dealer).join},
	{kind: "restart the database", once: true, elsewhere: true, do: (*dealer).restart},
	{kind: "cut from the store", away: true, hold: longer, do: wire(storeWire, (*testbed.Proxy).Refuse)},
	{kind: "half open to the store", away: true, hold: longer, do: wire(storeWire, (*testbed.Proxy).Swallow)},
	{kind: "strand what is open to the store", hold: between(0, time.Second), do: wire(storeWire,
		(*testbed.Proxy).Strand)},
	{kind: "cut from the members", hold: longer, do: wire(peersWire, (*testbed.Proxy).Refuse)},
	{kind: "half open to the members", hold: longer, do: wire(peersWire, (*testbed.Proxy).Swallow)},
	{kind: "strand what is open to the members", hold: between(0, time.Second), do: wire(peersWire,
		(*testbed.Proxy).Strand)},
}

// drain asks another daemon to empty a member, and undoes that with the command. What is felt counts from when the
// daemon is asked: how long a command takes to start is no part of a drain.
func (d *dealer) drain(s *seat) func() {
	b := d.blows[len(d.blows)-1]
	by := d.other(s)
	if by == nil || b.member == "" {
		return func() {}
	}
	taken, asked := make(chan time.Duration, 1), by.p
	b.at = time.Now()
	go func(at time.Time) { // joined by the undoing
		_ = asked.do("POST", "/v1/members/"+b.member+"/drain", "", nil) // it may wait for a database that is away
		taken <- time.Since(at)
	}(b.at)
	return func() {
		b.taken = <-taken
		var err error
		for range 50 {
			if by = d.other(s); by == nil {
				return
			}
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			cmd := exec.CommandContext(ctx, binary(), "drain", "--member", b.member, "--server", by.p.base, "--undo")
			out, failed := cmd.CombinedOutput()
			if cancel(); failed == nil {
				return
			}
			err = fmt.Errorf("drain %s --undo: %w: %s", b.member, failed, out)
			<-time.After(100 * time.Millisecond)
		}
		d.f.t.Errorf("the drain could not be undone: %v", err)
	}
}

// join has one daemon more than there are seats otherwise.
func (d *dealer) join(*seat) func() {
	f := d.f
	more := f.seats[len(f.seats)-1]
	more.start()
	more.busy = true // it is left alone, and goes again
	return func() {
		more.busy = false
		if err := more.end(syscall.SIGTERM); err != nil {
			f.t.Errorf("the daemon that had come did not stop cleanly: %v", err)
		}
	}
}

// restart ends the database in one of three ways, and starts it after a while.
func (d *dealer) restart(*seat) func() {
	pg := d.f.pg
	switch d.rng.IntN(3) {
	case 0:
		_ = pg.Stop()
	case 1:
		_ = pg.StopImmediate()
	default:
		pg.Kill()
	}
	if d.rng.IntN(2) == 0 {
		<-time.After(between(0, 2*d.lease)(d))
	}
	if err := pg.Start(context.Background()); err != nil {
		d.f.t.Fatalf("start the database again: %v", err)
	}
	return func() {}
}

// other is a daemon that nothing has been done to.
func (d *dealer) other(s *seat) *seat {
	for _, o := range d.f.up() {
		if o != s {
			return o
		}
	}
	return nil
}

// dealAll deals so many faults and heals everything. Most come upon others; every third is dealt when all is well, and
// has time for itself: it says how long such a fault is felt. So has each where one kind alone is asked for.
func (d *dealer) dealAll(n int) {
	d.f.t.Helper()
	for i := range n {
		if i%3 > 0 && os.Getenv(kindsEnv) == "" {
			d.deal()
			d.pause(700*time.Millisecond + time.Duration(d.rng.Int64N(int64(2800*time.Millisecond))))
			continue
		}
		d.heal()
		d.f.until("everything runs where it belongs", stuck, d.f.settled)
		d.deal()
		d.pause(felt)
	}
	d.heal()
}

// kindsEnv names the kind of faults that is to be dealt alone, or a part of what several are called.
const kindsEnv = "GRAPHD_MEMBER_KINDS"

// draw draws a kind of fault: of those that the environment asks for, where it does.
func (d *dealer) draw() *fault {
	only := os.Getenv(kindsEnv)
	for {
		k := &faultKinds[d.rng.IntN(len(faultKinds))]
		under := slices.ContainsFunc(d.open, func(u *undo) bool { return u.blow.kind == k.kind })
		if strings.Contains(k.kind, only) && !(k.once && under) {
			return k
		}
		if k.once && under && only != "" {
			d.wait()
		}
	}
}

// deal draws and deals one fault.
func (d *dealer) deal() {
	d.f.t.Helper()
	d.settle(time.Now())
	up := d.f.up()
	for len(up) < 3 { // enough are left to take over, and to be asked
		d.wait()
		up = d.f.up()
	}
	k := d.draw()
	s := up[d.rng.IntN(len(up))]
	if n := len(d.blows); n > 0 && time.Since(d.blows[n-1].at) < felt {
		d.blows[n-1].alone = false
	}
	b := &blow{kind: k.kind, alone: len(d.open) == 0}
	if k.away {
		b.member, b.shards = d.runs(s)
	}
	for _, u := range d.open {
		u.blow.alone = false
	}
	b.at = time.Now()
	if k.elsewhere {
		s = nil
	} else {
		s.busy = true
	}
	d.blows = append(d.blows, b)
	end := k.do(d, s)
	hold := time.Duration(0)
	if k.hold != nil {
		hold = k.hold(d)
	}
	b.away = k.away && (hold > d.lease || k.kind == "kill" || k.kind == "drain" || k.kind == "leave")
	b.until = time.Now().Add(hold)
	where := ""
	if s != nil {
		where = fmt.Sprintf(" daemon %d, which had %d shards", s.n, len(b.shards))
	}
	d.f.t.Logf("%s fault %d: %s%s, for %v", b.at.UTC().Format("15:04:05.000"), len(d.blows), k.kind, where,
		hold.Round(time.Millisecond))
	d.open = append(d.open, &undo{at: b.until, s: s, blow: b, do: end})
}

// runs are the shards of the dealt graph that a seat's daemon has, and its id.
func (d *dealer) runs(s *seat) (id string, shards []int) {
	m, err := s.self()
	if err != nil {
		return "", nil
	}
	for _, g := range m.Graphs {
		if g.Graph == d.graph {
			shards = append(shards, g.Shard)
		}
	}
	return m.ID, shards
}

// settle undoes what is due at a time.
func (d *dealer) settle(at time.Time) {
	d.open = slices.DeleteFunc(d.open, func(u *undo) bool {
		if u.at.After(at) {
			return false
		}
		u.do()
		if u.s != nil {
			u.s.busy = false
		}
		return true
	})
}

// wait lets time pass until the next fault is to be undone, and undoes it.
func (d *dealer) wait() {
	next := slices.MinFunc(d.open, func(a, b *undo) int { return a.at.Compare(b.at) })
	<-time.After(time.Until(next.at))
	d.settle(next.at)
}

// felt is for how long a fault is felt that is dealt when all is well.
const felt = 7 * time.Second

// pause lets time pass in which nothing is dealt, and undoes what is due meanwhile.
func (d *dealer) pause(long time.Duration) {
	end := time.Now().Add(long)
	for {
		now := time.Now()
		d.settle(now)
		d.f.alive()
		if now.After(end) {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
}

// heal undoes everything.
func (d *dealer) heal() {
	for len(d.open) > 0 {
		d.wait()
	}
}
