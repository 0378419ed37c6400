package reactor

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
)

// The reference's timers and sync_groups (M8, M9): when what waits may start, counted from when
// each event came, and what of a group an epoch may see.

func (c *refConfig) timers() string {
	text := ""
	for _, t := range []struct {
		name string
		d    time.Duration
	}{{"rate_limit", c.limit}, {"debounce", c.debounce}, {"every", c.every}, {"max_wait", c.maxWait}} {
		if t.d > 0 {
			text += fmt.Sprintf(", %s: %v", t.name, t.d)
		}
	}
	return text
}

// oldest is the event that triggers and has waited longest.
func (r *reference) oldest(k *refKey) (oldest refEvent, ok bool) {
	for i, w := range k.waiting {
		if r.triggers(i) && len(w) > 0 && (!ok || w[0].at.Before(oldest.at)) {
			oldest, ok = w[0], true
		}
	}
	return oldest, ok
}

// due is when a key may start, and the rank that it has then.
func (r *reference) due(k *refKey) (rank int, due time.Time, ok bool) {
	rank, ok = r.rank(k)
	oldest, waits := r.oldest(k)
	if ok && r.debounce > 0 {
		due = k.lastAt.Add(r.debounce)
		if most := oldest.at.Add(r.maxWait); r.maxWait > 0 && most.Before(due) {
			due = most
		}
	}
	if !ok && waits && r.maxWait > 0 && !k.waits {
		for i := range k.waiting {
			if w := r.seen(k, i); r.triggers(i) && len(w) > 0 && (!ok || w[0].first < rank) {
				rank, ok = w[0].first, true
			}
		}
		due = oldest.at.Add(r.maxWait)
	}
	if !ok {
		return 0, due, false
	}
	if r.limit > 0 && !k.started.IsZero() && due.Before(k.started.Add(r.limit)) {
		due = k.started.Add(r.limit)
	}
	if r.every > 0 {
		served := k.started
		if r.unkeyed {
			served = r.ticked
		}
		for _, t := range []time.Time{oldest.at, served.Add(1)} {
			if due.Before(t) {
				due = t
			}
		}
		due = r.grid(due)
	}
	return rank, due, true
}

// grid is the first instant of the cadence from t on.
func (r *reference) grid(t time.Time) time.Time {
	if rest := time.Duration(t.UnixNano()) % r.every; rest > 0 && !t.IsZero() {
		return t.Add(r.every - rest)
	}
	return t
}

// tick is when the next tick comes.
func (r *reference) tick() time.Time {
	at := r.ticked.Add(1)
	if started := r.keys[""].started; r.limit > 0 && !started.IsZero() && at.Before(started.Add(r.limit)) {
		at = started.Add(r.limit)
	}
	return r.grid(at)
}

// between says whether a sequential event of the group came after the last of input i and waits.
func (r *reference) between(k *refKey, i int) bool {
	other, w := k.waiting[1-i], k.waiting[i]
	return r.sequential[1-i] && len(other) > 0 && other[len(other)-1].seq > w[len(w)-1].seq
}

// seen is what of input i an epoch may take: the head of a sequential one; of a group what came
// before the other's first sequential event, or, where `when all` cannot do without, before the
// first that came after it.
func (r *reference) seen(k *refKey, i int) []refEvent {
	w, other := k.waiting[i], k.waiting[1-i]
	switch {
	case r.sequential[i]:
		return w[:min(1, len(w))]
	case !r.group || !r.sequential[1-i] || len(other) == 0 || len(w) == 0:
		return w
	}
	upTo := func(limit int) []refEvent {
		n := 0
		for n < len(w) && (limit == 0 || w[n].seq < limit) {
			n++
		}
		return w[:n]
	}
	if s := upTo(other[0].seq); len(s) > 0 {
		return s
	}
	zip := r.sequential[0] || r.sequential[1] && !r.passiveB
	if !r.all || !r.triggers(i) || zip && k.cur[i] != 0 {
		return nil
	}
	for _, e := range other {
		if e.seq > w[0].seq {
			return upTo(e.seq)
		}
	}
	return upTo(0)
}

func randomTimers(rng *rand.Rand) refConfig {
	c := randomRef(rng)
	ms := func(of ...int) time.Duration { return time.Duration(of[rng.IntN(len(of))]) * time.Millisecond }
	c.debounce, c.every, c.maxWait = ms(0, 0, 4), ms(0, 0, 2, 7), ms(0, 3, 10)
	if !c.all && c.debounce == 0 {
		c.maxWait = 0 // nothing waits, and a declaration says so
	}
	if c.group = rng.IntN(3) == 0 && !c.passiveB; c.group {
		c.sequential = [...][2]bool{{true, true}, {true, false}, {false, true}}[rng.IntN(3)]
	}
	c.unkeyed = rng.IntN(2) == 0
	return c
}

// M8, M9, M13, M28: random reactors with timers, groups and guards, with keys and without, do
// the same as the reference at every instant; restarts at any point change nothing.
func TestM8TimersEqualTheReference(t *testing.T) {
	t.Parallel()
	epochs := 0
	for seed := range uint64(1500) {
		rng := rand.New(rand.NewPCG(seed, 8))
		ref := &reference{refConfig: randomTimers(rng), keys: map[string]*refKey{}, now: epochZero, ticked: epochZero}
		var opt []option
		if ref.unkeyed {
			ref.ttl, ref.max, ref.keys[""] = 0, 1, &refKey{}
		} else {
			opt = []option{keyed(ref.keyed), global("g")}
		}
		r := newRig(t, ref.declaration(), opt...)
		cells := map[string]checkpoint.Cell{}
		trace := []string{fmt.Sprintf("seed %d: %+v", seed, ref.refConfig), ref.declaration()}
		for n := 1; n <= 120; n++ {
			switch p := rng.IntN(20); {
			case p < 9:
				i, key := rng.IntN(2), string(rune('p'+rng.IntN(3)))
				trace = append(trace, fmt.Sprintf("%s %c=%d", key, 'a'+i, n))
				if ref.unkeyed {
					key = ""
					r.push(string(rune('a'+i)), n)
				} else {
					r.give(string(rune('a'+i)), key, n)
				}
				ref.arrive(i, key, n)
			case p < 14:
				got := r.fire()
				ref.step()
				want := strings.Join(ref.out, " ")
				ref.out = nil
				trace = append(trace, "fire: "+want)
				if got != want || r.c.Epoch() != int64(ref.epoch) {
					t.Fatalf("%s\ngot  %s, %d epochs\nwant %s, %d",
						strings.Join(trace, "\n"), got, r.c.Epoch(), want, ref.epoch)
				}
			case p < 19:
				d := time.Duration(rng.IntN(5)) * time.Millisecond
				trace = append(trace, "advance "+d.String())
				r.advance(d)
				ref.now = r.now
			default:
				trace = append(trace, "restart")
				r.reload(cells)
				r.start()
				for _, k := range ref.keys {
					k.waits = false
				}
			}
			if why := ref.differs(r); why != "" {
				t.Fatalf("%s\n%s", strings.Join(trace, "\n"), why)
			}
		}
		r.balanced()
		epochs += ref.epoch
	}
	if epochs < 20_000 {
		t.Errorf("only %d epochs: the test compares too little", epochs)
	}
}

// differs compares the books and every key.
func (ref *reference) differs(r *rig) string {
	for i, want := range ref.books {
		b := r.c.Books(i)
		if got := (refBooks{int(b.Filtered), int(b.Conflated), int(b.DeadLettered), int(b.Consumed)}); got != want {
			return fmt.Sprintf("books of %s: got %+v, want %+v", r.c.cfg.Inputs[i].Name, got, want)
		}
	}
	if keys, evicted := r.c.KeyCount(); !ref.unkeyed && keys != len(ref.keys) || int(evicted) != ref.evicted {
		return fmt.Sprintf("got %d keys, %d evicted; want %d and %d", keys, evicted, len(ref.keys), ref.evicted)
	}
	for name, k := range ref.keys {
		key := boundary.KeyOf(boundary.String(name))
		if ref.unkeyed {
			key = ""
		}
		st, err := r.c.GetState(key)
		if err != nil {
			return fmt.Sprintf("key %s: %v", name, err)
		}
		for i := range k.cur {
			want, queues := k.cur[i], ref.sequential[i] || ref.group
			if !queues && len(k.waiting[i]) > 0 {
				want = k.waiting[i][0].value
			} else if queues && st.Queues[i] != len(k.waiting[i]) {
				return fmt.Sprintf("key %s: %d wait, want %d", name, st.Queues[i], len(k.waiting[i]))
			}
			if got, _ := st.Cache[i].AsInt(); int(got) != want {
				return fmt.Sprintf("key %s: input %d is %d, want %d", name, i, got, want)
			}
		}
	}
	return ""
}
