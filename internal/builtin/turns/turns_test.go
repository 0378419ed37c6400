package turns_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/builtin/turns"
)

// A11: who compiles without end has a quarter of the processors' time for it, whatever comes of what is compiled; it
// is told so where it would wait for too long, and another tenant goes at once.
func TestOneTenantsShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ts := turns.New(2)
		compile := func(tenant string, d time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			free, err := ts.Take(ctx, tenant)
			if err == nil {
				time.Sleep(d)
				free()
			}
			return err
		}
		worked, began := 0, time.Now()
		for time.Since(began) < 100*time.Second {
			if err := compile("loud", 100*time.Millisecond); err != nil {
				t.Fatal(err)
			}
			worked++
			if worked%100 == 0 {
				at := time.Now()
				if err := compile("calm", time.Millisecond); err != nil || time.Since(at) != time.Millisecond {
					t.Errorf("another waits %v, %v", time.Since(at), err)
				}
			}
		}
		if worked < 500 || worked > 610 { // half of one processor of two, and what is in hand
			t.Errorf("in 100 s it has compiled %d times for a tenth of a second", worked)
		}
		if err := compile("loud", 8*time.Second); err != nil {
			t.Fatal(err)
		}
		at := time.Now()
		if err := compile("loud", 0); !errors.Is(err, turns.ErrSpent) || time.Since(at) != 0 {
			t.Errorf("%v after %v", err, time.Since(at))
		}
		time.Sleep(time.Minute)
		if err := compile("calm", 0); err != nil {
			t.Error(err)
		}
		if used, tenants := ts.Used(); used != 0 || tenants != 0 {
			t.Errorf("%d turns, and %d tenants are remembered", used, tenants)
		}
	})
}
