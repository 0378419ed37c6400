package lately_test

import (
	"math"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/graphrun/told/lately"
)

// Epochs per second are those of about the last ten seconds, whenever and however often one looks; what a checkpoint
// has brought is none of them.
func TestEpochsPerSecond(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC)
	var r lately.EpochRate
	epoch := int64(1_000_000)
	r.Sample(epoch, now)
	want := func(when string, per float64) {
		t.Helper()
		if got := r.PerSecond(now); math.Abs(got-per) > per/20 {
			t.Errorf("%s there are %v epochs a second, want about %v", when, got, per)
		}
	}
	want("before the first", 0)
	run := func(views int, every time.Duration, epochs int64) {
		for range views {
			now, epoch = now.Add(every), epoch+epochs
			r.Sample(epoch, now)
		}
	}
	run(100, 100*time.Millisecond, 20)
	want("in the first ten seconds", 200*(1-1/math.E))
	run(500, 100*time.Millisecond, 20)
	want("after a minute", 200)
	now = now.Add(10 * time.Second)
	want("ten seconds after the last", 200/math.E)
	want("whoever has looked", 200/math.E)
	now = now.Add(5 * time.Minute)
	want("after a while", 0)
	run(1, time.Hour, 1)
	want("after one, an hour later", 0.1)
}
