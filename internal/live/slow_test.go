package live

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/reactor"
)

// M27: where epochs are slow the reactor looks at everything else between them: what they have put out does not wait
// for hundreds of others.
func TestM27OutputsDoNotWaitForManySlowEpochs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		step time.Duration // that each look at the clock takes
		most int64         // epochs between two looks at what has come of them
	}{"slow": {fireWithin, 1}, "fast": {0, fireBatch}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var seen []int64
				s := newShell(t, func(cfg *reactor.Config, o *bedding) {
					var now int64
					cfg.Mono = func() int64 { now += int64(c.step); return now }
					o.Watch = func(core *reactor.Core, _ time.Time) (again time.Time) {
						seen = append(seen, core.Epoch())
						return again
					}
				})
				if err := s.port[0].Put(t.Context(), handoff(5, 1, 1, 2, 3, 4, 5)); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if err := s.end(); err != nil {
					t.Fatal(err)
				}
				most := int64(0)
				for i, epoch := range seen[1:] {
					most = max(most, epoch-seen[i])
				}
				if last := seen[len(seen)-1]; last != 5 || most != min(c.most, 5) {
					t.Errorf("it was looked at after the epochs %v", seen)
				}
			})
		})
	}
}
