package join

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
)

// parted is one join, and beside it as many as there are shards, which are given the same events by their keys.
type parted struct {
	t     *testing.T
	c     Declared
	now   int64 // how far the graph has come at rest
	one   *Join
	parts []*Join
}

func (p *parted) of(key boundary.Key) int { return key.Shard(len(p.parts)) }

// told are what a join has made, in words, each key's in order.
func told(out []boundary.Boundary) (words []string) {
	for i := range out {
		words = append(words, out[i].Value.String())
	}
	return words
}

// same compares what one has made with what the parts have. Beside each other they are in no order but that of a key,
// and each event is in one of them.
func (p *parted) same(what string, one []boundary.Boundary, parts ...[]boundary.Boundary) {
	p.t.Helper()
	a, b := told(one), told(slices.Concat(parts...))
	slices.Sort(a)
	if slices.Sort(b); !slices.Equal(a, b) {
		p.t.Fatalf("%s, %d parts: %v, want %v", what, len(p.parts), b, a)
	}
}

// add gives an event to one, and to the part that has its key; the others hear of it.
func (p *parted) add(e event) {
	b := boundary.Boundary{Value: e.value(), Key: boundary.KeyOf(boundary.String(e.key)), Events: 1,
		At: time.Unix(0, e.at).UTC(), Size: 50}
	join := func(j *Join) ([]boundary.Boundary, fold.Verdict) {
		if e.at < p.now-int64(p.c.Lateness) { // it is told when that matters
			out, _ := j.Quiet(time.Unix(0, p.now), nil)
			p.same("nothing was due", out)
		}
		own := b
		out, said, _ := j.Join(e.side, &own, nil)
		return out, said
	}
	one, said := join(p.one)
	at := p.of(b.Key)
	for i, j := range p.parts {
		if i != at {
			j.Heard(e.side, e.at)
		}
	}
	part, says := join(p.parts[at])
	if said != says {
		p.t.Fatalf("%+v comes to %v in a part of %d, to %v in one", e, says, len(p.parts), said)
	}
	p.same("joined", one, part)
}

// rest brings all of them as far as something is due.
func (p *parted) rest(now int64) {
	p.now = max(p.now, now)
	due := func(j *Join) (out []boundary.Boundary) {
		if at, ok := j.QuietDue(); ok && at.UnixNano() <= p.now {
			out, _ = j.Quiet(time.Unix(0, p.now), nil)
		}
		return out
	}
	var parts [][]boundary.Boundary
	for _, j := range p.parts {
		parts = append(parts, due(j))
	}
	p.same("due", due(p.one), parts...)
}

// deal deals the keys to another number, by what is written down and read again.
func (p *parted) deal(n int) {
	var states []fold.State
	furthest := int64(noTime)
	for _, j := range p.parts {
		furthest = max(furthest, j.mark)
		s, err := made(p.t, p.c).Decode(j.State().AppendBinary(nil))
		if err != nil {
			p.t.Fatal(err)
		}
		states = append(states, s)
	}
	p.parts = make([]*Join, n)
	rows, open := 0, int64(0)
	for i := range p.parts {
		j := made(p.t, p.c)
		s, err := j.Deal(states, func(key boundary.Value) bool { return p.of(boundary.KeyOf(key)) == i }, i == 0)
		if err != nil {
			p.t.Fatal(err)
		}
		j.Resume(s)
		if p.parts[i] = j; j.mark != furthest {
			p.t.Fatalf("a part has come to %d, where the furthest was at %d", j.mark, furthest)
		}
		rows, open = rows+j.rows, open+j.Open()
	}
	if rows != p.one.rows || open != p.one.Open() {
		p.t.Fatalf("%d rows, %d of them open, are dealt as %d and %d", p.one.rows, p.one.Open(), rows, open)
	}
}

// M49, M50, M54: the parts of a join, dealt by key, hand over what one does and drop as late what one does, whatever
// their number is and becomes on the way.
func TestM54PartsOfAJoinAreOne(t *testing.T) {
	t.Parallel()
	late := 0
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 54))
		c := defaults()
		c.Type = types.Words[rng.IntN(len(types.Words))]
		c.Before, c.After = time.Duration(rng.IntN(30)), time.Duration(rng.IntN(30))
		c.Lateness = time.Duration(rng.IntN(3) * rng.IntN(20))
		if rng.IntN(3) == 0 {
			c.Tumbling = time.Duration(1 + rng.IntN(40))
		}
		p := &parted{t: t, c: c, one: made(t, c), parts: []*Join{made(t, c)}}
		newest := int64(1000)
		for i := range 250 {
			e := event{i, rng.IntN(2), string(rune('a' + rng.IntN(9))), newest + int64(rng.IntN(8)-rng.IntN(12))}
			newest = max(newest, e.at)
			p.add(e)
			if rng.IntN(3) == 0 {
				p.rest(newest)
			}
			if rng.IntN(20) == 0 {
				p.deal(1 + rng.IntN(9))
			}
		}
		var ends [][]boundary.Boundary
		events := p.one.lateness.Events
		for _, j := range p.parts {
			ends = append(ends, j.End(nil))
		}
		p.same("the end", p.one.End(nil), ends...)
		late += int(events)
	}
	if late == 0 {
		t.Error("nothing came too late: that shows nothing")
	}
}

// M54: a shard that would have more than it may is refused.
func TestM54ADealtJoinHasItsBounds(t *testing.T) {
	t.Parallel()
	c := defaults()
	c.After, c.MaxRows = time.Hour, 3
	var states []fold.State
	for side := range 2 {
		j := made(t, c)
		for i := range 2 {
			e := event{2*side + i, side, string(rune('a' + side)), 1000}
			b := boundary.Boundary{Value: e.value(), Key: boundary.KeyOf(boundary.String(e.key)), Events: 1,
				At: time.Unix(0, e.at)}
			j.Join(side, &b, nil)
		}
		states = append(states, j.State())
	}
	all := func(boundary.Value) bool { return true }
	if _, err := made(t, c).Deal(states, all, true); !errors.Is(err, fold.ErrTooMany) {
		t.Errorf("four rows where there may be three: %v", err)
	}
}
