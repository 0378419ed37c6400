package tables

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
)

// M52: of those who look at a table while one asks the server all have its answer; who comes later asks anew. Where the
// one that asks has no answer, each asks for itself; another table is another look.
func TestM52LooksAtOneTableAreShared(t *testing.T) {
	unfit, away := &Error{"t", "it is not there"}, errors.New("the line is gone")
	for _, c := range []struct {
		err   error
		asked int // of ten that come together
	}{{nil, 1}, {unfit, 1}, {away, 10}} {
		synctest.Test(t, func(t *testing.T) {
			l := &Looks{}
			var mu sync.Mutex
			asked := 0
			look := func(ctx context.Context, table *checkpoint.Table) ([]string, error) {
				return l.Columns(ctx, table, func(context.Context) ([]string, error) {
					mu.Lock()
					asked++
					mu.Unlock()
					time.Sleep(time.Second)
					return []string{"a"}, c.err
				})
			}
			table := &checkpoint.Table{Name: "t", Columns: []string{"a"}}
			var all sync.WaitGroup
			for range 10 {
				all.Go(func() {
					got, err := look(t.Context(), table)
					if !errors.Is(err, c.err) || !slices.Equal(got, []string{"a"}) {
						t.Errorf("%v, %v", got, err)
					}
				})
			}
			all.Wait()
			if asked != c.asked {
				t.Errorf("%v: the server was asked %d times, want %d", c.err, asked, c.asked)
			}
			asked = 0
			others := []*checkpoint.Table{table, {Name: "t"}, {Name: "t", Columns: []string{}}, {Name: "u"}}
			for _, other := range others {
				all.Go(func() { _, _ = look(t.Context(), other) })
			}
			all.Wait()
			if asked != 4 {
				t.Errorf("%v: of four tables the server was asked %d times", c.err, asked)
			}
		})
	}
}

// Who waits for the answer to another's look waits for no longer than its own call has.
func TestALookThatIsSharedEndsWithItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, goOn := &Looks{}, make(chan struct{})
		ask := func(context.Context) ([]string, error) { <-goOn; return nil, nil }
		table := &checkpoint.Table{Name: "t"}
		var first sync.WaitGroup
		first.Go(func() { _, _ = l.Columns(t.Context(), table, ask) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.Columns(ctx, table, ask); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		close(goOn)
		first.Wait()
	})
}
