package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/boundary"
)

func positions(offsets ...int64) func() []boundary.Position {
	var all []boundary.Position
	for _, n := range offsets {
		all = append(all, boundary.Position{Stream: "t/0", Offset: n})
	}
	return func() []boundary.Position { return all }
}

// M29: the newest positions are told once a second, the last ones for certain, none twice, and again where it could not
// be done.
func TestM29ToldOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New()
		ctx, stop := context.WithCancel(t.Context())
		var done sync.WaitGroup
		began := time.Now()
		var told []string
		fails := 0
		done.Go(func() {
			m.Run(ctx, func(_ context.Context, at []boundary.Position) error {
				if fails > 0 {
					fails--
					return errors.New("no broker")
				}
				told = append(told, fmt.Sprintf("%v %d", time.Since(began), at[0].Offset))
				return nil
			})
		})
		for n := range int64(357) { // 2.5 s
			m.Durable(positions(n))
			time.Sleep(7 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		m.Durable(positions(356))
		m.Durable(positions())
		time.Sleep(time.Minute)
		synctest.Wait()
		if want := []string{"0s 0", "1s 142", "2s 285", "3s 356"}; !slices.Equal(told, want) {
			t.Errorf("told %v, want %v", told, want)
		}
		fails = 3
		m.Durable(positions(400))
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(told) != 5 || !strings.HasSuffix(told[4], " 400") {
			t.Errorf("told %v after failures", told)
		}
		stop()
		done.Wait()
	})
}
