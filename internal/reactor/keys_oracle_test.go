package reactor

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
)

// The reference for keyed reactors: what M8, M9, M13, M16, M21 and M42 say, over plain maps
// and lists, looking at every key at every step. It shares no code with the core.

// refConfig is a random reactor over the inputs a, b (per key) and g (global).
type refConfig struct {
	all        bool
	sequential [2]bool
	passiveB   bool
	guard      string // "", "filter" or "wait"
	limit, ttl time.Duration
	max        int
	maxWaiting int
	drop       bool
	// The timers, and whether a and b are in one sync_group; see keys_oracle_timers_test.go.
	debounce, every, maxWait time.Duration
	group                    bool
	// unkeyed has one key, which nobody sees, and ticks at its cadence.
	unkeyed bool
}

func (c *refConfig) triggers(i int) bool { return i == 0 || !c.passiveB }

func (c *refConfig) declaration() string {
	strategy := map[bool]string{true: "sequential", false: "latest"}
	b := "strategy: " + strategy[c.sequential[1]]
	if c.passiveB {
		b = "passive: true"
	}
	when := map[bool]string{true: "all", false: "any"}[c.all]
	guard := map[string]string{"": "", "filter": ", guard: '(a ?? 0) % 7 != 5'", "wait": ", guard: b % 7 != 5"}[c.guard]
	group, global := "", "global: true"
	if c.group {
		group = ", sync_group: m"
	}
	if c.unkeyed {
		global = "passive: true"
	}
	return graphOf("  a: { strategy: "+strategy[c.sequential[0]]+group+" }\n  b: { "+b+group+" }\n  g: { "+global+
		" }\n",
		"{ when: "+when+guard+c.timers()+" }", `nodes:
  n: { expr: '[key, a ?? nil, b ?? nil, g ?? nil, 1 / ((a ?? 0) % 11 == 3 ? 0 : 1)]' }
  l: { expr: g * 2 }
outputs:
  n: { from: n, sink: { drop: {} } }
  l: { from: l, sink: { drop: {} } }
`)
}

type refEvent struct {
	seq, value int
	// first and at are the seq and the time of the oldest event that this one has overwritten.
	first int
	at    time.Time
}

type refKey struct {
	cur     [2]int // 0: none
	waiting [2][]refEvent
	seen    time.Time
	arrival int
	started time.Time
	last    string // of the node n; "" before its first value
	lastL   int
	waits   bool
	overdue bool
	lastAt  time.Time // of the last arrival that triggers
	ran     bool      // an epoch was kept
}

type refBooks struct{ filtered, conflated, dead, consumed int }

type reference struct {
	refConfig
	keys    map[string]*refKey
	g, gNew int // current and not yet taken; 0: none
	seq     int
	epoch   int
	now     time.Time
	books   [3]refBooks
	evicted int
	out     []string
	ticked  time.Time // the last instant of the cadence, without keys
}

func (r *reference) evict(name string) {
	k := r.keys[name]
	for i := range k.waiting {
		if r.drop {
			r.books[i].filtered += len(k.waiting[i])
		} else {
			r.books[i].dead += len(k.waiting[i])
		}
	}
	delete(r.keys, name)
	r.evicted++
}

// expire evicts what has nothing to run; the rest when it has run.
func (r *reference) expire() {
	for _, name := range r.names() {
		k := r.keys[name]
		if r.ttl > 0 && !k.seen.Add(r.ttl).After(r.now) {
			if _, _, ok := r.due(k); ok {
				k.overdue = true
			} else {
				r.evict(name)
			}
		}
	}
}

// names are the keys by last arrival.
func (r *reference) names() []string {
	var list []string
	for name := range r.keys {
		list = append(list, name)
	}
	slices.SortFunc(list, func(a, b string) int { return r.keys[a].arrival - r.keys[b].arrival })
	return list
}

func (r *reference) arrive(i int, name string, value int) {
	r.expire()
	r.seq++
	if i == 2 {
		if r.gNew != 0 {
			r.books[2].conflated++
		} else if r.g == 0 {
			for _, k := range r.keys {
				k.waits = false
			}
		}
		r.gNew = value
		return
	}
	k := r.keys[name]
	if k == nil {
		for len(r.keys) >= r.max {
			i := slices.IndexFunc(r.names(), func(n string) bool { return !r.keys[n].overdue })
			if i < 0 {
				break
			}
			r.evict(r.names()[i])
		}
		k = &refKey{}
		r.keys[name] = k
	}
	k.seen, k.arrival, k.overdue = r.now, r.seq, false
	e := refEvent{r.seq, value, r.seq, r.now}
	if n := len(k.waiting[i]); n > 0 && !r.sequential[i] && !(r.group && r.between(k, i)) {
		r.books[i].conflated++
		e.first, e.at = k.waiting[i][n-1].first, k.waiting[i][n-1].at
		k.waiting[i] = k.waiting[i][:n-1]
	}
	k.waiting[i] = append(k.waiting[i], e)
	if k.waits = false; r.triggers(i) {
		k.lastAt = r.now
	}
	r.bound(k)
}

// rank is the admission sequence of what completed the key's criteria.
func (r *reference) rank(k *refKey) (int, bool) {
	if k.waits {
		return 0, false
	}
	zip := r.sequential[0] || r.sequential[1] && !r.passiveB
	rank, ok := 0, false
	for i := range k.waiting {
		if !r.triggers(i) {
			continue
		}
		w := r.seen(k, i)
		switch {
		case r.all && len(w) > 0:
			if zip && !r.sequential[i] && k.cur[i] != 0 {
				ok = true
				continue
			}
			rank, ok = max(rank, w[0].first), true
		case r.all && zip && !r.sequential[i] && k.cur[i] != 0:
			ok = true
		case r.all:
			return 0, false
		case len(w) > 0 && (!ok || w[0].first < rank):
			rank, ok = w[0].first, true
		}
	}
	return rank, ok
}

// step runs what is due: the first of all keys by rank, until none is.
func (r *reference) step() {
	r.expire()
	for {
		name, best, found := "", 0, false
		for n, k := range r.keys {
			rank, due, ok := r.due(k)
			if ok && !due.After(r.now) && (!found || rank < best) {
				name, best, found = n, rank, true
			}
		}
		tick := r.unkeyed && r.every > 0 && !r.tick().After(r.now)
		if tick {
			r.ticked = r.now
		}
		switch {
		case found:
			r.fire(name, false)
		case tick:
			r.fire("", true)
			continue
		default:
			return
		}
		r.bound(r.keys[name])
		if k := r.keys[name]; k.overdue {
			if _, _, ok := r.due(k); !ok {
				r.evict(name)
			}
		}
	}
}

// cut is the value that each input of the key has in the epoch to come, and what is taken.
func (r *reference) cut(k *refKey, tick bool) (values, take [2]int) {
	first := -1
	for i, w := range k.waiting {
		if r.sequential[i] && len(w) > 0 && (first < 0 || w[0].seq < k.waiting[first][0].seq) {
			first = i
		}
	}
	for i := range k.waiting {
		values[i] = k.cur[i]
		w := r.seen(k, i)
		if len(w) > 0 && (r.all || !r.sequential[i] || i == first) && !(tick && r.triggers(i)) {
			values[i], take[i] = w[len(w)-1].value, len(w)
		}
	}
	return values, take
}

func (r *reference) fire(name string, tick bool) {
	k := r.keys[name]
	values, take := r.cut(k, tick)
	heads := take[0] > 0 && r.sequential[0] || take[1] > 0 && r.sequential[1]
	consume := func(count func(b *refBooks), keep bool) {
		for i, n := range take {
			if n > 0 {
				k.waiting[i] = k.waiting[i][n:]
				r.books[i].conflated += n - 1
				count(&r.books[i])
				if keep {
					k.cur[i] = values[i]
				}
			}
		}
	}
	pass := true
	switch r.guard {
	case "filter":
		pass = values[0]%7 != 5
	case "wait":
		if behind := (r.sequential[1] || r.group) && len(k.waiting[1]) > 0; values[1] == 0 && heads && !behind {
			k.waits = true
			return
		}
		pass = values[1] != 0 && values[1]%7 != 5
	}
	if !pass {
		consume(func(b *refBooks) { b.filtered++ }, true)
		return
	}
	r.epoch++
	k.started = r.now
	if values[0]%11 == 3 {
		consume(func(b *refBooks) { b.dead++ }, false)
		return
	}
	gTaken := r.gNew != 0 // by this key; the others see it as changed too, and are due by what they take
	if gTaken {
		r.g, r.gNew = r.gNew, 0
		r.books[2].consumed++
	}
	consume(func(b *refBooks) { b.consumed++ }, true)
	show := func(v int) string {
		if v == 0 {
			return "null"
		}
		return fmt.Sprint(v)
	}
	shown := fmt.Sprintf("%q", name)
	if r.unkeyed {
		shown = "null"
	}
	due := !k.ran || take[0]+take[1] > 0 || gTaken
	k.ran = true
	n := fmt.Sprintf("[%s,%s,%s,%s,1]", shown, show(values[0]), show(values[1]), show(r.g))
	if due && (n != k.last || r.sequential[0] || r.sequential[1]) {
		r.out = append(r.out, fmt.Sprintf("n=%s@%d", n, r.epoch))
	}
	k.last = n
	if r.g != 0 && r.g != k.lastL {
		r.out = append(r.out, fmt.Sprintf("l=%d@%d", 2*r.g, r.epoch))
		k.lastL = r.g
	}
}

func (c *refConfig) keyed(k *Keys) {
	k.TTL, k.Max, k.MaxWaiting, k.Drop = c.ttl, c.max, c.maxWaiting, c.drop
}

func randomRef(rng *rand.Rand) refConfig {
	c := refConfig{
		all: rng.IntN(2) == 0, passiveB: rng.IntN(4) == 0, guard: []string{"", "filter", "wait"}[rng.IntN(3)],
		limit: []time.Duration{0, 0, 3 * time.Millisecond}[rng.IntN(3)], ttl: []time.Duration{
			0, 20 * time.Millisecond,
		}[rng.IntN(2)],
		max: []int{3, 100}[rng.IntN(2)], maxWaiting: []int{1, 2, 4, 100}[rng.IntN(4)], drop: rng.IntN(2) == 0,
	}
	c.sequential = [2]bool{rng.IntN(2) == 0, rng.IntN(2) == 0 && !c.passiveB}
	return c
}

// M8, M9, M13, M16, M21, M28, M42: random keyed reactors do the same as the reference, to
// the output, the counter and the cached value, whatever the order of arrivals, with time
// going by, and with restarts from the checkpoint at any point.
func TestM13KeyedReactorsEqualTheReference(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 13))
		ref := &reference{refConfig: randomRef(rng), keys: map[string]*refKey{}, now: epochZero}
		opt := []option{keyed(ref.keyed), global("g")}
		r := newRig(t, ref.declaration(), opt...)
		cells := map[string]checkpoint.Cell{}
		trace := []string{fmt.Sprintf("seed %d: %+v", seed, ref.refConfig)}
		for n := 1; n <= 150; n++ {
			switch p := rng.IntN(20); {
			case p < 12:
				i, key := rng.IntN(2), string(rune('p'+rng.IntN(6)))
				trace = append(trace, fmt.Sprintf("%s %c=%d", key, 'a'+i, n))
				r.give(string(rune('a'+i)), key, n)
				ref.arrive(i, key, n)
			case p < 13:
				trace = append(trace, fmt.Sprintf("g=%d", n))
				r.give("g", "", n)
				ref.arrive(2, "", n)
			case p < 17:
				trace = append(trace, "fire")
				got := r.fire()
				ref.step()
				want := strings.Join(ref.out, " ")
				ref.out = nil
				if got != want {
					t.Fatalf("%s\ngot  %s\nwant %s", strings.Join(trace, "\n"), got, want)
				}
			case p < 19:
				d := time.Duration(rng.IntN(8)) * time.Millisecond
				trace = append(trace, "advance "+d.String())
				r.advance(d)
				ref.now = r.now
			default:
				trace = append(trace, "restart")
				r.reload(cells)
				r.start()
				for _, k := range ref.keys { // what waited is asked again
					k.waits = false
				}
			}
			if why := ref.differs(r); why != "" {
				t.Fatalf("%s\n%s", strings.Join(trace, "\n"), why)
			}
		}
		checkKeys(t, r.c)
		r.balanced()
	}
}
