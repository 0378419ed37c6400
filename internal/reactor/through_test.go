package reactor

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
)

// next is a boundary of one event for a key, and the mark behind it.
func (r *rig) next(name, key string, x any) (boundary.Boundary, accumulator.Mark) {
	r.sent[name]++
	pos, v := boundary.Position{Stream: name, Offset: r.sent[name]}, value(r.t, x)
	b := boundary.Boundary{
		Value: v, First: pos, Last: pos, At: r.now, Events: 1, Size: v.Size(), Raw: v.AppendJSON(nil),
	}
	if key != "" {
		b.Key = boundary.KeyOf(boundary.String(key))
	}
	return b, accumulator.Mark{
		Positions: []boundary.Position{pos}, Counters: accumulator.Counters{Received: r.sent[name]}, LastEventAt: r.now,
	}
}

// state is all that is to be seen of a core: keys, queues, books, letters and everything that a checkpoint has.
func (r *rig) state(cells map[string]checkpoint.Cell) string {
	var b strings.Builder
	for i := range r.c.cfg.Inputs {
		fmt.Fprintf(&b, "%s %+v queued %d\n", r.c.cfg.Inputs[i].Name, r.c.Books(i), r.c.Queued(i))
	}
	for _, l := range r.c.DrainDeadLetters() {
		fmt.Fprintf(&b, "%s %s %s %s %d %s\n", l.ID, l.Code, l.Reason, l.Key, l.Epoch, l.Payload)
	}
	fmt.Fprintf(&b, "%d %s %v %v\n", r.c.Epoch(), r.c.Health(), r.c.life, r.c.keys.overflowed)
	s := r.c.Seal(r.now)
	applyCells(cells, s.Commit())
	r.c.Sealed(s, nil)
	for _, name := range slices.Sorted(maps.Keys(cells)) {
		fmt.Fprintf(&b, "%s %x\n", name, cells[name].Data)
	}
	return b.String()
}

// M7, M8, M9, M13, M21, M42: a boundary that goes through does what one does that is admitted and then fired, in
// random reactors with and without keys, whatever waits there, while guards filter, wait or fail, and epochs fail.
func TestM7ThroughIsAdmitAndFire(t *testing.T) {
	through, stayed := 0, 0
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 7))
		ref := randomRef(rng)
		ref.ttl, ref.limit, ref.all = 0, 0, rng.IntN(8) == 0
		ref.unkeyed = rng.IntN(3) == 0
		most := []int64{1 << 30, 200, 300, 700}[rng.IntN(4)]
		opts := []option{func(c *Config) { c.HaltOnFailure = seed%5 == 0 }}
		if !ref.unkeyed {
			opts = append(opts, global("g"), keyed(ref.keyed), func(c *Config) { c.Keys.MaxWaitingBytes = most })
		}
		short, long := newRig(t, ref.declaration(), opts...), newRig(t, ref.declaration(), opts...)
		cells := [2]map[string]checkpoint.Cell{{}, {}}
		trace := []string{fmt.Sprintf("seed %d: %+v, halts %v, %d bytes", seed, ref, seed%5 == 0, most)}
		for n := 1; n <= 120; n++ {
			name, key := string(rune('a'+rng.IntN(2))), ""
			if rng.IntN(12) == 0 {
				name = "g"
			} else if !ref.unkeyed {
				key = string(rune('p' + rng.IntN(5)))
			}
			trace = append(trace, fmt.Sprintf("%s %s=%d", key, name, n))
			waits := rng.IntN(6) == 0 // admitted, and not fired yet
			for _, r := range []*rig{short, long} {
				b, mark := r.next(name, key, n)
				done, stays := false, false
				if r == short && !waits {
					done, stays = r.c.Through(r.now, r.input(name), &b, &mark)
				}
				if done {
					through++
					if stays {
						stayed++
					}
				} else {
					h := &accumulator.Handoff{Boundaries: []boundary.Boundary{b}, Mark: mark}
					r.c.Admit(r.now, r.input(name), h, 0)
				}
			}
			if waits {
				continue
			}
			if got, want := short.fire(), long.fire(); got != want {
				t.Fatalf("%s\ngot  %s\nwant %s", strings.Join(trace, "\n"), got, want)
			}
			if n%7 == 0 {
				if got, want := short.state(cells[0]), long.state(cells[1]); got != want {
					t.Fatalf("%s\ngot  %s\nwant %s", strings.Join(trace, "\n"), got, want)
				}
			}
		}
	}
	if through < 5_000 || stayed < 50 {
		t.Errorf("%d went through, and %d of them stayed: the test compares too little", through, stayed)
	}
}
