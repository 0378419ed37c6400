package reactor

import (
	"slices"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
)

// keyed makes a core keyed; change may set more of it.
func keyed(change func(k *Keys)) option {
	return func(c *Config) {
		c.Keys = &Keys{Identity: "k", Times: []bool{false}, Max: 1000, MaxWaiting: 1000, MaxWaitingBytes: 1 << 30}
		if change != nil {
			change(c.Keys)
		}
	}
}

// global makes an input of a keyed core one that all keys share.
func global(name string) option {
	return func(c *Config) {
		for i := range c.Inputs {
			if c.Inputs[i].Name == name {
				c.Inputs[i].Global, c.Inputs[i].Triggers, c.Inputs[i].Sequential = true, false, false
			}
		}
	}
}

// give hands over one boundary of one event for a key.
func (r *rig) give(name, key string, x any) {
	r.t.Helper()
	r.sent[name]++
	pos := boundary.Position{Stream: name, Offset: r.sent[name]}
	v := value(r.t, x)
	b := boundary.Boundary{
		Value: v, First: pos, Last: pos, At: r.now, Events: 1, Size: v.Size(), Raw: v.AppendJSON(nil),
	}
	if key != "" {
		b.Key = boundary.KeyOf(boundary.String(key))
	}
	r.c.Admit(r.now, r.input(name), &accumulator.Handoff{
		Boundaries: []boundary.Boundary{b},
		Mark: accumulator.Mark{
			Positions: []boundary.Position{pos}, Counters: accumulator.Counters{Received: r.sent[name]},
			LastEventAt: r.now,
		},
	}, 0)
}

// keysOf lists the keys there are, the least recently used first, and checks that what is
// kept about the keys agrees with the keys themselves.
func (r *rig) keysOf() string {
	r.t.Helper()
	checkKeys(r.t, r.c)
	all := slices.SortedFunc(r.c.keys.byKey.All(), byArrival)
	list := ""
	for _, k := range all {
		s, _ := k.key.Value().AsString()
		list += s
	}
	return list
}

// checkKeys compares all that is counted and ordered about keys with a look at every one.
func checkKeys(t testing.TB, c *Core) {
	t.Helper()
	waiting, own := make([]backlog, len(c.cfg.Inputs)), make([]backlog, len(c.cfg.Inputs))
	onAgenda, listed := 0, 0
	for k := range c.keys.byKey.All() {
		key := k.key
		if c.keys.byKey.Get(key) != k {
			t.Fatalf("the key %s is not where it is looked for", key)
		}
		for i := range c.cfg.Inputs {
			if c.isShared(i) {
				continue
			}
			s := c.slotOf(k, i)
			if s.pend != nil {
				waiting[i].add(s.pend)
			}
			for n := range s.queue.len() {
				waiting[i].add(s.queue.at(n).b)
				if n < int(s.queue.own) {
					own[i].add(s.queue.at(n).b)
				}
			}
			if n := s.queue.len(); n > 0 && k.on != isReady && (int(s.queue.own) != n || !k.lined) {
				t.Fatalf("key %s waits: of %d boundaries %d are its own, lined up: %v", key, n, s.queue.own, k.lined)
			}
		}
		if want := c.readiness(k).ok && !k.waits; want != (k.on != offAgenda) {
			t.Fatalf("key %s: criteria hold: %v, on the agenda: %v", key, want, k.on)
		}
		if k.on != offAgenda {
			onAgenda++
		}
		if k.listed {
			listed++
		} else if !k.overdue {
			t.Fatalf("key %s has no age", key)
		}
	}
	for i := range c.cfg.Inputs {
		if s := &c.shared.slots[i]; c.isShared(i) && s.pend != nil {
			waiting[i].add(s.pend)
		}
		if waiting[i] != c.accs[i].waiting {
			t.Fatalf("input %s: %+v wait, %+v are counted", c.cfg.Inputs[i].Name, waiting[i], c.accs[i].waiting)
		}
	}
	for i := range own {
		if own[i] != c.accs[i].own {
			t.Fatalf("input %s: %+v are the keys' own, %+v are counted", c.cfg.Inputs[i].Name, own[i], c.accs[i].own)
		}
	}
	if n := len(c.keys.agenda.ready) + len(c.keys.agenda.delayed); n != onAgenda {
		t.Fatalf("%d keys are on the agenda, %d are marked so", n, onAgenda)
	}
	if n := len(c.keys.ages); n != listed {
		t.Fatalf("%d keys have an age, %d are marked so", n, listed)
	}
	for _, a := range c.keys.ages {
		if c.keys.byKey.Get(a.k.key) != a.k || a.arrival > a.k.arrival || a.seen > a.k.seen {
			t.Fatalf("the age %d of the key %s, which arrived at %d", a.arrival, a.k.key, a.k.arrival)
		}
	}
}

const bookAndModel = "  a: {}\n  b: {}\n"

const sumByKey = `nodes:
  sum: { expr: '[key, a + (b ?? 0)]' }
outputs:
  out: { from: sum, sink: { drop: {} } }
`

// M13: each key has a cache of its own, made on first sight.
func TestM13KeysHaveCachesOfTheirOwn(t *testing.T) {
	r := newRig(t, graphOf(bookAndModel, "{ when: any }", sumByKey), keyed(nil))
	r.give("a", "x", 1)
	r.give("a", "y", 10)
	r.want(r.fire(), `out=["x",1]@1 out=["y",10]@2`)
	r.give("b", "y", 5)
	r.want(r.fire(), `out=["y",15]@3`)
	r.give("a", "x", 2)
	r.want(r.fire(), `out=["x",2]@4`)
	r.want(r.keysOf(), "yx")
	if rec := r.last(); rec.Key != `"x"` {
		t.Fatalf("the record has the key %s", rec.Key)
	}
}

// M13: dirty flags are per key: a newer value conflates within its key alone.
func TestM13ConflationIsPerKey(t *testing.T) {
	r := newRig(t, graphOf(bookAndModel, "{ when: any }", sumByKey), keyed(nil))
	for n := range 3 {
		r.give("a", "x", n)
		r.give("a", "y", 10+n)
	}
	r.want(r.fire(), `out=["x",2]@1 out=["y",12]@2`)
	if b := r.books("a"); b.Conflated != 4 || b.Consumed != 2 {
		t.Fatalf("books %+v", b)
	}
}

// M13: queues are per key, and epochs run in admission order over all of them.
func TestM13EpochsRunInAdmissionOrder(t *testing.T) {
	r := newRig(t, graphOf(bookAndModel, "{ when: any, strategy: sequential }", sumByKey), keyed(nil))
	for n, key := range []string{"x", "y", "x", "z", "y", "x"} {
		r.give("a", key, n)
	}
	r.want(r.fire(), `out=["x",0]@1 out=["y",1]@2 out=["x",2]@3 out=["z",3]@4 out=["y",4]@5 out=["x",5]@6`)
	r.keysOf()
}

// M9, M13: under all the boundary that completes a key decides its turn.
func TestM13TurnGoesByTheCompletingBoundary(t *testing.T) {
	r := newRig(t, graphOf(bookAndModel, "{ when: all }", sumByKey), keyed(nil))
	r.give("a", "x", 1)
	r.give("a", "y", 2)
	r.give("b", "y", 3)
	r.give("b", "x", 4)
	r.want(r.fire(), `out=["y",5]@1 out=["x",5]@2`)
}

// M9, M13: a key that waits never blocks another, whatever it waits for.
func TestM13WaitingKeyBlocksNoOther(t *testing.T) {
	t.Run("criteria", func(t *testing.T) {
		r := newRig(t, graphOf(bookAndModel, "{ when: all, strategy: sequential }", sumByKey), keyed(nil))
		r.give("a", "x", 1)
		r.give("a", "y", 2)
		r.give("b", "y", 3)
		r.want(r.fire(), `out=["y",5]@1`)
		r.give("b", "x", 3)
		r.want(r.fire(), `out=["x",4]@2`)
	})
	t.Run("guard", func(t *testing.T) {
		r := newRig(t, graphOf("  a: { strategy: sequential }\n  b: {}\n", "{ when: any, guard: b > 0 }", sumByKey),
			keyed(nil))
		r.give("a", "x", 1)
		r.give("a", "y", 2)
		r.want(r.fire(), "")
		r.give("b", "y", 3)
		r.want(r.fire(), `out=["y",5]@1`)
		r.keysOf()
		if b := r.books("a"); b.Queued != 1 {
			t.Fatalf("books %+v", b)
		}
	})
	t.Run("rate limit", func(t *testing.T) {
		r := newRig(t, graphOf(bookAndModel, "{ when: any, rate_limit: 10ms }", sumByKey), keyed(nil))
		r.give("a", "x", 1)
		r.want(r.fire(), `out=["x",1]@1`)
		r.give("a", "x", 2)
		r.give("a", "y", 3)
		r.want(r.fire(), `out=["y",3]@2`)
		if at, ok := r.c.Due(); !ok || !at.Equal(r.now.Add(10*time.Millisecond)) {
			t.Fatalf("the trailing fire is due at %v, %v", at, ok)
		}
		r.advance(10 * time.Millisecond)
		r.want(r.fire(), `out=["x",2]@3`)
	})
}

// M13: a key is evicted ttl after its last arrival; what it had not consumed becomes dead letters.
func TestM13TTLEvictsAfterTheLastArrival(t *testing.T) {
	r := newRig(t, graphOf(bookAndModel, "{ when: all }", sumByKey), keyed(func(k *Keys) { k.TTL = time.Minute }))
	r.give("a", "x", 1)
	r.advance(30 * time.Second)
	r.give("a", "y", 2)
	r.advance(29 * time.Second)
	r.give("a", "x", 3)
	due := func(want time.Duration) {
		t.Helper()
		if at, ok := r.c.Due(); !ok || !at.Equal(epochZero.Add(want)) {
			t.Fatalf("the next key is looked at at %v, %v", at, ok)
		}
	}
	due(time.Minute) // x has arrived again since, which is found out then
	r.now = epochZero.Add(time.Minute)
	r.fire()
	due(90 * time.Second)
	r.now = epochZero.Add(59 * time.Second)
	r.advance(31 * time.Second)
	r.want(r.fire(), "")
	r.want(r.keysOf(), "x")
	if l := r.c.deadLetters; len(l) != 1 || l[0].Code != "key_evicted" || l[0].Key != `"y"` ||
		string(l[0].Payload) != "2" || l[0].Events != 1 {
		t.Fatalf("letters %+v", l)
	}
	if _, evicted := r.c.KeyCount(); evicted != 1 {
		t.Fatalf("%d evictions are counted", evicted)
	}
	r.give("b", "y", 1) // a key seen again begins anew
	r.want(r.fire(), "")
}

// M13: a key whose epoch is due is late, not abandoned: it runs, and is evicted then.
func TestM13TTLLetsWhatIsDueRun(t *testing.T) {
	r := newRig(t, graphOf(bookAndModel, "{ when: any }", sumByKey), keyed(func(k *Keys) { k.TTL = time.Minute }))
	r.give("a", "x", 1)
	r.advance(time.Hour)
	r.want(r.fire(), `out=["x",1]@1`)
	r.want(r.keysOf(), "")
	if len(r.c.deadLetters) != 0 {
		t.Fatalf("letters %+v", r.c.deadLetters)
	}
}

// M13: at max_keys the least recently used key goes; with on_evict drop its events are filtered.
func TestM13MaxKeysEvictsTheLeastRecentlyUsed(t *testing.T) {
	r := newRig(t, graphOf(bookAndModel, "{ when: all }", sumByKey), keyed(func(k *Keys) { k.Max, k.Drop = 2, true }))
	r.give("a", "x", 1)
	r.give("a", "y", 2)
	r.give("a", "x", 3)
	r.give("a", "z", 4)
	r.want(r.keysOf(), "xz")
	if b := r.books("a"); b.Filtered != 1 || b.Conflated != 1 || b.Queued != 2 || len(r.c.deadLetters) != 0 {
		t.Fatalf("books %+v, letters %+v", b, r.c.deadLetters)
	}
	r.balanced()
}

// M13: a global input is passive and has one value for all keys, `default` until the first
// arrives. A new one makes what rests on it due for a key at the key's next epoch.
func TestM13GlobalInputsAreShared(t *testing.T) {
	doc := graphOf("  a: {}\n  limits: { global: true, default: 100 }\n", "{ when: any }", `nodes:
  over: { expr: '[key, a, limits]' }
  limit: { expr: limits * 2 }
outputs:
  out: { from: over, sink: { drop: {} } }
  limit: { from: limit, sink: { drop: {} } }
`)
	r := newRig(t, doc, keyed(nil), global("limits"))
	r.give("a", "x", 1)
	r.give("a", "y", 2)
	r.want(r.fire(), `out=["x",1,100]@1 limit=200@1 out=["y",2,100]@2 limit=200@2`)
	r.give("limits", "", 7)
	r.want(r.fire(), "") // it never triggers
	r.give("a", "y", 3)
	r.want(r.fire(), `out=["y",3,7]@3 limit=14@3`)
	r.give("a", "y", 4)
	r.want(r.fire(), `out=["y",4,7]@4`)
	r.give("a", "x", 5)
	r.want(r.fire(), `out=["x",5,7]@5 limit=14@5`)
	r.give("a", "z", 5)
	r.want(r.fire(), `out=["z",5,7]@6 limit=14@6`)
	if b := r.books("limits"); b.Consumed != 1 {
		t.Fatalf("books %+v", b)
	}
}

// M13, M21: one key's failure takes nothing from the others: a global value stays.
func TestM13FailedEpochKeepsTheGlobalValue(t *testing.T) {
	doc := graphOf("  a: {}\n  g: { global: true }\n", "{ when: any }",
		"nodes:\n  q: { expr: '(g ?? 0) / a' }\noutputs:\n  out: { from: q, sink: { drop: {} } }\n")
	r := newRig(t, doc, keyed(nil), global("g"))
	r.give("g", "", 12)
	r.give("a", "x", 0)
	r.give("a", "y", 4)
	r.want(r.fire(), `out=3@2`)
	if l := r.c.deadLetters; len(l) != 1 || l[0].Accumulator != "a" || l[0].Key != `"x"` {
		t.Fatalf("letters %+v", l)
	}
	if b := r.books("g"); b.Consumed != 1 || b.DeadLettered != 0 {
		t.Fatalf("books %+v", b)
	}
}

// M8, M13: a guard that waits for a global input is asked again when its first value comes.
func TestM13GuardWaitsForAGlobalInput(t *testing.T) {
	doc := graphOf("  a: { strategy: sequential }\n  g: { global: true }\n", "{ when: any, guard: a > g }",
		"nodes:\n  n: { expr: '[key, a, g]' }\noutputs:\n  out: { from: n, sink: { drop: {} } }\n")
	r := newRig(t, doc, keyed(nil), global("g"))
	r.give("a", "y", 5)
	r.give("a", "x", 6)
	r.want(r.fire(), "")
	r.give("g", "", 5)
	r.want(r.fire(), `out=["x",6,5]@1`)
	if b := r.books("a"); b.Filtered != 1 || b.Consumed != 1 {
		t.Fatalf("books %+v", b)
	}
	r.keysOf()
}

// M13: a boundary without a key is a dead letter, not a key of its own.
func TestM13MissingKeyIsADeadLetter(t *testing.T) {
	r := newRig(t, graphOf(bookAndModel, "{ when: any }", sumByKey), keyed(nil))
	r.give("a", "", 1)
	r.want(r.fire(), "")
	if l := r.c.deadLetters; len(l) != 1 || l[0].Code != "key_missing" || r.keysOf() != "" {
		t.Fatalf("letters %+v, keys %q", l, r.keysOf())
	}
}

// M13: what a key keeps for long has memory of its own, and does not hold on to the buffers
// that events were read into.
func TestM13CachedValuesHoldNoBuffers(t *testing.T) {
	const keys, buffer = 256, 64 << 10
	r := newRig(t, graphOf(bookAndModel, "{ when: all }", "nodes:\n  n: { expr: b.name }\n"), keyed(nil),
		func(c *Config) { c.KeepFirings = 0 }) // the history keeps what its newest records saw
	dec := boundary.NewDecoder(boundary.NewShape("name"), boundary.Limits{})
	grown := func(input int) {
		for i := range keys { // one small event of every key in a large buffer of its own
			raw := make([]byte, 0, buffer)
			raw = append(raw, `{"name":"key number `+string(rune('A'+i%26))+`","x":[1,2,3]}`...)
			v, err := dec.Decode(raw)
			if err != nil {
				t.Fatal(err)
			}
			b := boundary.Boundary{Value: v, Raw: raw, Key: boundary.KeyOf(boundary.Int(int64(i))), Events: 1,
				Size: buffer}
			r.c.Admit(r.now, input, &accumulator.Handoff{
				Boundaries: []boundary.Boundary{b}, Mark: accumulator.Mark{
					Counters: accumulator.Counters{Received: int64(i + 1)},
				},
			}, 0)
		}
	}
	before := heapAfterGC()
	grown(0) // half-filled: the boundaries wait
	waiting := int64(heapAfterGC() - before)
	grown(1)
	r.fire()
	fired := int64(heapAfterGC() - before)
	if limit := int64(3 * looseLimit); waiting > limit || fired > limit {
		t.Fatalf("%d bytes are held while %d keys wait, %d afterwards: more than %d", waiting, keys, fired, limit)
	}
	st, err := r.c.GetState("1")
	if got, _ := st.Nodes[0].AsString(); err != nil || got != "key number B" {
		t.Fatalf("got %q, %v", got, err)
	}
}
