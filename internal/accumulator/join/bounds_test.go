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
			out, said, bad := j.Join(time.Unix(0, e.at), e.side, &b, int64(i+1), nil)
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
		_, said, bad := j.Join(time.Unix(0, 1000), Left, &b, int64(i+1), nil)
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
		out, _, _ = j.Join(time.Unix(0, int64(1000+i)), e.side, &b, int64(i+1), out[:0])
		out, _ = j.Quiet(time.Unix(0, int64(1000+i)), out)
		rows, pages = max(rows, j.rows), max(pages, len(j.pages))
	}
	if rows > 150 || pages > 10 || len(j.groups) > 150 || cap(j.queues[Left])+cap(j.queues[Right]) > 1000 {
		t.Errorf("%d rows on %d pages, %d groups, queues of %d and %d", rows, pages, len(j.groups), cap(j.queues[Left]),
			cap(j.queues[Right]))
	}
}
