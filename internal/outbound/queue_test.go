package outbound

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A11: since when calls wait for a place that their tenant has is known, over short breaks, and no longer.
func TestSinceWhenCallsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, err := guard(t).Within(nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now().Add(time.Second)
		for i := range 4 { // the first has the place, and each of the others comes after a second and waits for one
			release, err := g.Acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if since, waiting := g.Waiting(); waiting != (i > 0) || waiting && !since.Equal(began) {
				t.Errorf("call %d: waiting %v since %v", i, waiting, since)
			}
			time.AfterFunc(2*time.Second, release)
			time.Sleep(time.Second)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		if _, err := g.Acquire(ctx); err == nil {
			t.Error("two calls are on the way")
		}
		if since, waiting := g.Waiting(); !waiting || !since.Equal(began) {
			t.Errorf("who gave up has not waited: %v since %v", waiting, since)
		}
		time.Sleep(2*time.Second + time.Millisecond)
		if _, waiting := g.Waiting(); waiting {
			t.Error("calls are said to wait, and none does")
		}
	})
}
