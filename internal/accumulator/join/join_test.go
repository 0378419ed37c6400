package join

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/spec"
)

// event is one of either side, as the docs speak of it.
type event struct {
	id, side int
	key      string
	at       int64
}

func (e *event) value() boundary.Value {
	return boundary.Object(eventShape, []boundary.Value{boundary.String(e.key), boundary.Int(int64(e.id))})
}

var eventShape = boundary.NewShape("k", "id")

// made is a join of inputs that have the fields k and id, on k.
func made(t testing.TB, c Declared) *Join {
	t.Helper()
	on := []spec.Expr{{Text: "k"}}
	c.Sides.Names, c.Sides.On = [2]string{"l", "r"}, [2][]spec.Expr{on, on}
	side := fold.Side{Type: expression.Any(), Key: []expression.Type{expression.Of(boundary.KindString)},
		Times: []bool{false}}
	p, ds := c.Compile(&fold.Site{Sides: [2]fold.Side{side, side}})
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	return p.New().(*Join)
}

// rig drives a join beside an oracle of nested loops, written from docs/joins.md.
type rig struct {
	t    *testing.T
	c    Declared
	j    *Join
	rng  *rand.Rand
	now  int64
	mark int64 // the time of the join
	most [2]int64

	taken    []event
	got      []string
	received int64
	events   int64 // that boundaries account for
	filtered int64
	dropped  int64
	store    map[string][]byte // the parts of the last checkpoint
	sames    map[string]any
}

// name is how the test writes down what is handed over of two ids; -1 is nobody.
func name(l, r int) string { return fmt.Sprintf("%d-%d", l, r) }

func (r *rig) take(out []boundary.Boundary) {
	for i := range out {
		v := out[i].Value
		ids := [2]int{-1, -1}
		for side, field := range []string{"left", "right"} {
			if n, ok := v.Field(field).Field("id").AsInt(); ok {
				ids[side] = int(n)
			}
		}
		matched, _ := v.Field("matched").AsBool()
		if matched != (ids[0] >= 0 && ids[1] >= 0) {
			r.t.Errorf("matched %v of %v", matched, v)
		}
		key, _ := v.Field("key").AsString()
		named, _ := v.Field("k").AsString()
		var at int64
		for side, id := range ids {
			if id < 0 {
				continue
			}
			e := r.taken[slices.IndexFunc(r.taken, func(e event) bool { return e.id == id })]
			if at = max(at, e.at); e.key != key || e.key != named || e.side != side {
				r.t.Errorf("%v has %+v", v, e)
			}
		}
		if start, there := v.Field("start").AsTime(); there != (r.c.Tumbling > 0) ||
			there && start.UnixNano() != window(at, r.c) {
			r.t.Errorf("%v is of the window of %v", v, start)
		}
		if when, _ := v.Field("at").AsTime(); when.UnixNano() != at || !out[i].At.Equal(when) {
			r.t.Errorf("%v is of %d, not of %v", v, at, out[i].At)
		}
		r.events += out[i].Events
		r.got = append(r.got, name(ids[0], ids[1]))
	}
	r.filtered += r.j.failures.Forgotten()
}

// add gives the join an event, and the oracle.
func (r *rig) add(e event) {
	r.now = max(r.now, e.at)
	late := e.at < r.mark || e.at < r.most[e.side]-int64(r.c.Lateness)
	b := boundary.Boundary{Value: e.value(), Key: boundary.KeyOf(boundary.String(e.key)), Events: 1,
		At: time.Unix(0, e.at).UTC(), Size: 50}
	if !late {
		r.taken = append(r.taken, e)
		r.most[e.side] = max(r.most[e.side], e.at)
	}
	out, said, _ := r.j.Join(e.side, &b, nil)
	r.received++
	if (said == fold.Dropped) != late || said == fold.Refused {
		r.t.Fatalf("%+v is late: %v, and was %v", e, late, said)
	}
	if late {
		r.dropped++
	}
	r.take(out)
}

// rest brings the join to engine time.
func (r *rig) rest() {
	r.mark = max(r.mark, r.now-int64(r.c.Lateness))
	due, ok := r.j.QuietDue()
	before := len(r.got) + int(r.filtered) + r.j.rows
	if !ok || due.UnixNano() > r.now {
		if out, went := r.j.Quiet(time.Unix(0, r.now), nil); went {
			r.t.Fatalf("nothing was due before %v, and at %d there was %v", due, r.now, out)
		}
		return
	}
	out, went := r.j.Quiet(time.Unix(0, r.now), nil)
	if r.take(out); !went {
		r.t.Fatalf("%v was due at %d, of %d", due, r.now, before)
	}
}

// restart keeps the state as a checkpoint does, and goes on with another join.
func (r *rig) restart() {
	s := r.j.State().(*handle)
	var data []byte
	if r.rng.IntN(2) == 0 {
		data = s.AppendBinary(nil)
	} else {
		kept := map[string][]byte{}
		for part := range s.Parts() {
			if kept[part.Name] = r.store[part.Name]; r.sames[part.Name] != part.Same {
				kept[part.Name] = part.Append(nil)
			}
			r.sames[part.Name] = part.Same
		}
		r.store = kept
		if data = s.AppendHead(nil); len(kept) > 0 {
			data = fold.Join(data, kept)
		}
	}
	if r.rng.IntN(2) == 0 {
		return // it was a checkpoint and no end
	}
	next := made(r.t, r.c)
	state, err := next.Decode(data)
	if err != nil {
		r.t.Fatal(err)
	}
	if next.Resume(state); next.Open() != r.j.Open() || next.rows != r.j.rows || next.bytes != r.j.bytes {
		r.t.Fatalf("%d rows, %d open, %d bytes were %d, %d, %d", next.rows, next.Open(), next.bytes, r.j.rows,
			r.j.Open(), r.j.bytes)
	}
	r.j, r.store, r.sames = next, map[string][]byte{}, map[string]any{}
}

// window is the beginning of the one that a time is in.
func window(at int64, c Declared) int64 {
	return int64(math.Floor(float64(at)/float64(c.Tumbling))) * int64(c.Tumbling)
}

// want is what comes out of the events that were taken: nested loops over all pairs.
func (r *rig) want() (all []string) {
	matched := map[int]bool{}
	for _, l := range r.taken {
		for _, e := range r.taken {
			near := e.at >= l.at-int64(r.c.Before) && e.at <= l.at+int64(r.c.After)
			if r.c.Tumbling > 0 {
				near = window(e.at, r.c) == window(l.at, r.c)
			}
			if l.side == Left && e.side == Right && l.key == e.key && near {
				all = append(all, name(l.id, e.id))
				matched[l.id], matched[e.id] = true, true
			}
		}
	}
	for _, e := range r.taken {
		switch {
		case matched[e.id]:
		case e.side == Left && (r.c.Type == "left" || r.c.Type == "full"):
			all = append(all, name(e.id, -1))
		case e.side == Right && (r.c.Type == "right" || r.c.Type == "full"):
			all = append(all, name(-1, e.id))
		}
	}
	return all
}

// TestM3JoinIsNestedLoops: whatever the order, the pace and the restarts, each pair comes out once, and so does what
// the outer types have of events without a partner; each event is accounted for once (M42).
func TestM3JoinIsNestedLoops(t *testing.T) {
	t.Parallel()
	rounds := 2000
	if testing.Short() {
		rounds = 300
	}
	pairs := 0
	for seed := range rounds {
		rng := rand.New(rand.NewPCG(uint64(seed), 1))
		c := defaults()
		c.Type = types.Words[rng.IntN(len(types.Words))]
		c.Before, c.After = time.Duration(rng.IntN(30)), time.Duration(rng.IntN(30))
		c.Lateness = time.Duration(rng.IntN(3) * rng.IntN(40))
		if rng.IntN(3) == 0 {
			c.Tumbling = time.Duration(1 + rng.IntN(60))
		}
		r := &rig{t: t, c: c, j: made(t, c), rng: rng, mark: noTime, most: [2]int64{noTime / 2, noTime / 2},
			store: map[string][]byte{}, sames: map[string]any{}}
		r.run()
		want := r.want()
		pairs += len(want)
		slices.Sort(want)
		slices.Sort(r.got)
		if !slices.Equal(r.got, want) {
			t.Fatalf("seed %d, %+v: got %v, want %v", seed, c, r.got, want)
		}
		if r.received != r.events+r.filtered+r.dropped || r.j.Open() != 0 || r.j.rows != 0 || r.j.bytes != 0 ||
			len(r.j.groups) != 0 {
			t.Fatalf("seed %d: received %d, accounted %d, filtered %d, late %d; %d open, %d rows, %d bytes, %d groups",
				seed, r.received, r.events, r.filtered, r.dropped, r.j.Open(), r.j.rows, r.j.bytes, len(r.j.groups))
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if pairs < rounds {
		t.Errorf("%d pairs in all: that shows nothing", pairs)
	}
}

// run gives the join events out of order, now and then more than is allowed.
func (r *rig) run() {
	n := 1 + r.rng.IntN(300)
	type arrival struct {
		event
		turn int64
	}
	list := make([]arrival, n)
	for i := range list {
		e := event{i, r.rng.IntN(2), string(rune('a' + r.rng.IntN(4))), 1000 + int64(r.rng.IntN(n))}
		turn := e.at + r.rng.Int64N(int64(r.c.Lateness)+1)
		if r.rng.IntN(40) == 0 {
			turn += int64(r.rng.IntN(100))
		}
		list[i] = arrival{e, turn}
	}
	slices.SortStableFunc(list, func(a, b arrival) int { return cmp.Compare(a.turn, b.turn) })
	for i := range list {
		r.add(list[i].event)
		if r.rng.IntN(3) > 0 {
			r.rest()
		}
		if r.rng.IntN(20) == 0 {
			r.restart()
		}
	}
	r.take(r.j.End(nil))
}

// A snapshot is what it was, whatever becomes of the join behind it.
func TestSnapshotsAreImmutable(t *testing.T) {
	t.Parallel()
	c := defaults()
	c.Type, c.Before, c.After = "full", 50, 50
	r := &rig{t: t, c: c, j: made(t, c), rng: rand.New(rand.NewPCG(1, 2)), most: [2]int64{}}
	var kept []fold.State
	var was [][]byte
	for i := range 2000 {
		r.add(event{i, i % 2, string(rune('a' + i%7)), int64(1000 + i)})
		if r.rest(); i%50 == 0 {
			s := r.j.State()
			kept, was = append(kept, s), append(was, s.AppendBinary(nil))
		}
	}
	for i, s := range kept {
		if string(s.AppendBinary(nil)) != string(was[i]) {
			t.Fatalf("snapshot %d has changed", i)
		}
	}
}

// A checkpoint writes the pages that have changed, and not all of them.
func TestPagesThatHaveNotChangedStay(t *testing.T) {
	t.Parallel()
	c := defaults()
	c.After = time.Hour
	r := &rig{t: t, c: c, j: made(t, c), rng: rand.New(rand.NewPCG(1, 2)), most: [2]int64{}}
	for i := range 10 * pageRows {
		r.add(event{i, Left, "k" + fmt.Sprint(i), int64(1000 + i)})
	}
	sames := func() map[string]any {
		all := map[string]any{}
		for part := range r.j.State().(*handle).Parts() {
			all[part.Name] = part.Same
		}
		return all
	}
	before := sames()
	if again := sames(); len(before) != 10 || !maps.Equal(before, again) {
		t.Errorf("%d pages of 10, and nothing has changed", len(again))
	}
	r.add(event{5000, Right, "k5", 3000})
	changed := 0
	for name, same := range sames() {
		if before[name] != same {
			changed++
		}
	}
	if changed != 2 {
		t.Errorf("%d pages have changed, want that of the partner and a new one", changed)
	}
}

// What is damaged is no state, and panics nowhere.
func TestDamagedStates(t *testing.T) {
	t.Parallel()
	c := defaults()
	c.After = time.Hour
	r := &rig{t: t, c: c, j: made(t, c), rng: rand.New(rand.NewPCG(1, 2)), most: [2]int64{}}
	for i := range 300 {
		r.add(event{i, i % 2, string(rune('a' + i%3)), int64(1000 + i)})
	}
	data := r.j.State().AppendBinary(nil)
	for i := range 2000 {
		bad := slices.Clone(data)
		if i%2 == 0 {
			bad = bad[:r.rng.IntN(len(bad))]
		} else {
			bad[r.rng.IntN(len(bad))] ^= byte(1 + r.rng.IntN(255))
		}
		j := made(t, c)
		if s, err := j.Decode(bad); err == nil {
			j.Resume(s)
			j.End(nil)
		}
	}
	if _, err := r.j.Decode([]byte("W\x02")); err == nil {
		t.Error("a window's state is none of a join")
	}
}
