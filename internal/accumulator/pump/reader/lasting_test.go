package reader_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
)

// lasting is a tape that keeps what it has opened from one run to the next.
type lasting struct {
	tape
	lasts bool
}

func (l *lasting) Last() { l.lasts = true }

func (l *lasting) Close() { l.rig.word("closed") }

func (l *lasting) Run(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
	l.rig.word(fmt.Sprint("run ", l.lasts))
	l.lasts = false // it is said before each run
	return l.tape.Run(ctx, from, out)
}

// M49, M52: a source that lasts is run again for who comes, and closed when the last has left; one that has ended by
// itself is closed at once.
func TestM52ASourceThatLastsIsRunAgain(t *testing.T) {
	for _, ends := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			made := 0
			r := newRig(t, 100, func(r *rig) accumulator.Source {
				made++ // one for each shard, which it would read by itself, and one for all
				return &lasting{tape: tape{rig: r}}
			})
			r.ends = ends
			a := r.enter(at(0, 50), at(1, 50))
			settle()
			want := "[run true closed]"
			if !ends {
				b := r.enter(at(0, 10)) // before what was read
				settle()
				a.given = append(r.until(50, 50), a.given...)
				r.each("the first", a, 100)
				if err := b.leave(); err != nil {
					t.Fatal(err)
				}
				if want = "[run true run true closed]"; made != 3 {
					t.Errorf("%d sources were made", made)
				}
			}
			if err := a.leave(); err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(r.said()); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}
