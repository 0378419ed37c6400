package join

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
)

// A join that is full refuses an event as a whole, and keeps what it has.
func TestFull(t *testing.T) {
	t.Parallel()
	each := int64(rowBytes + len(`"a"`) + 50)
	for _, c := range []Declared{{MaxRows: 3, MaxBytes: 1 << 30}, {MaxRows: 100, MaxBytes: 3 * each}} {
		c.Type, c.After = "full", 100
		j := made(t, c)
		for i := range 5 {
			e := event{i, i % 2, "a", int64(1000 + i)}
			b := boundary.Boundary{Value: e.value(), Key: `"a"`, Events: 1, At: time.Unix(0, e.at), Size: 50}
			out, said, bad := j.Join(e.side, &b, nil)
			if full := i >= 3; full != (said == fold.Refused) || full != (bad != nil && bad.Code == "join_full") ||
				full && len(out) > 0 {
				t.Errorf("event %d of %d: %v, %v, %d boundaries; %d rows, %d bytes", i, c.MaxRows, said, bad, len(out),
					j.rows, j.bytes)
			}
		}
	}
}

// Late events become dead letters where that is said, and say when they are of.
func TestLateIsADeadLetter(t *testing.T) {
	t.Parallel()
	c := defaults()
	c.Late, c.After = "dead_letter", 10
	j := made(t, c)
	for i, at := range []int64{1000, 999} {
		e := event{i, Left, "a", at}
		b := boundary.Boundary{Value: e.value(), Key: `"a"`, Events: 1, At: time.Unix(0, e.at)}
		_, said, bad := j.Join(Left, &b, nil)
		if late := i == 1; late != (said == fold.Refused) || late != (bad != nil && bad.Code == "late_event") {
			t.Errorf("event %d: %v, %v", i, said, bad)
		}
	}
	if l, ok := j.Lateness(); ok || l.Events != 1 {
		t.Errorf("lateness %+v, dropped: %v", l, ok)
	}
}

// However long it goes on, no more is kept than what a partner can come for.
func TestRowsGoWithTime(t *testing.T) {
	t.Parallel()
	c := defaults()
	c.Type, c.Before, c.After, c.Lateness = "full", 40, 60, 20
	j, rng := made(t, c), rand.New(rand.NewPCG(4, 4))
	var out []boundary.Boundary
	rows, pages := 0, 0
	for i := range 100_000 {
		e := event{i, rng.IntN(2), fmt.Sprint(rng.IntN(1000)), int64(1000 + i - rng.IntN(20))}
		b := boundary.Boundary{Value: e.value(), Key: boundary.KeyOf(boundary.String(e.key)), Events: 1,
			At: time.Unix(0, e.at).UTC(), Size: 50}
		out, _, _ = j.Join(e.side, &b, out[:0])
		out, _ = j.Quiet(time.Unix(0, int64(1000+i)), out)
		rows, pages = max(rows, j.rows), max(pages, len(j.pages))
	}
	if rows > 150 || pages > 10 || len(j.groups) > 150 || cap(j.queues[Left])+cap(j.queues[Right]) > 1000 {
		t.Errorf("%d rows on %d pages, %d groups, queues of %d and %d", rows, pages, len(j.groups), cap(j.queues[Left]),
			cap(j.queues[Right]))
	}
}

// M5: what was refused as join_full or input_joined and is replayed when its time is over is a dead letter again: it
// does not go without a word, as what comes late does.
func TestM5WhatIsReplayedLateIsADeadLetter(t *testing.T) {
	t.Parallel()
	c := defaults()
	c.After = 10
	j := made(t, c)
	for i, origin := range []string{"", "", "letter#1"} {
		b := boundary.Boundary{Value: (&event{i, Left, "a", 0}).value(), Key: `"a"`, Events: 1, Origin: origin,
			At: time.Unix(0, 1000-int64(i))}
		_, said, bad := j.Join(Left, &b, nil)
		if want := []fold.Verdict{fold.Folded, fold.Dropped, fold.Refused}[i]; said != want ||
			(bad != nil && bad.Code == "late_event") != (i == 2) {
			t.Errorf("event %d: %v, %v", i, said, bad)
		}
	}
	if l, ok := j.Lateness(); !ok || l.Events != 1 {
		t.Errorf("lateness %+v, dropped: %v", l, ok)
	}
}

// M3: what another join hands over is not late, however far this one has come: it finds what partners are there still,
// and goes when the join goes on.
func TestM3WhatAJoinHandsOverIsNotLate(t *testing.T) {
	t.Parallel()
	c := defaults()
	c.Type, c.After = "full", 100
	j := made(t, c)
	j.p.joined[Left] = true
	j.Quiet(time.Unix(0, 1000), nil)
	for i, e := range []event{{0, Right, "a", 999}, {1, Right, "a", 1050}, {2, Left, "a", 990}, {3, Left, "a", 200}} {
		b := boundary.Boundary{Value: e.value(), Key: `"a"`, Events: 1, At: time.Unix(0, e.at)}
		out, said, bad := j.Join(e.side, &b, nil)
		if want := []fold.Verdict{fold.Dropped, fold.Folded, fold.Folded, fold.Folded}[i]; said != want || bad != nil ||
			(len(out) == 1) != (i == 2) {
			t.Errorf("event %d: %v, %v, %d boundaries", i, said, bad, len(out))
		}
	}
	out, _ := j.Quiet(time.Unix(0, 1000), nil)
	if len(out) != 1 || out[0].At.UnixNano() != 200 {
		t.Errorf("handed over %+v", out)
	}
}

// M4: events of a side that wait for long stand close together, also where those of the other go at once, and these
// take no page each.
func TestM4SidesHavePagesOfTheirOwn(t *testing.T) {
	t.Parallel()
	c := defaults()
	c.After = time.Hour // a left event waits for so long, and a right one for none
	j := made(t, c)
	const n = 20 * pageRows
	add := func(i int) {
		b := boundary.Boundary{Value: (&event{i, i % 2, "a", 0}).value(), Key: boundary.KeyOf(boundary.Int(int64(i))),
			Events: 1, At: time.Unix(0, int64(1000+i))}
		if _, said, _ := j.Join(i%2, &b, nil); said != fold.Folded {
			t.Fatalf("event %d: %v", i, said)
		}
		j.Quiet(b.At, nil)
		j.Quiet(b.At.Add(1), nil)
	}
	for i := range n {
		add(i)
		if i%100 == 0 { // a page that a checkpoint has is not written to
			j.State()
		}
		if i%301 == 0 {
			j.Resume(j.State())
		}
	}
	// Each checkpoint may have left a page of the right side empty.
	kept := len(j.State().(*handle).pages)
	if most := n/2/pageRows + 2; j.rows != n/2 || len(j.pages) > 2*most || kept > most {
		t.Errorf("%d rows on %d pages, of which a checkpoint has %d", j.rows, len(j.pages), kept)
	}
	add(n + 1)
	was := j.next
	for i := range 3 * pageRows {
		add(n + 3 + 2*i)
	}
	if j.next != was {
		t.Errorf("%d pages for events of which none waits", j.next-was)
	}
}
