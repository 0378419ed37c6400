package lately

import (
	"math"
	"sync"
	"time"
)

// epochSpan is over about how long epochs per second are told: an epoch that long ago counts for a third of one now.
const epochSpan = 10 * time.Second

// EpochRate is how many epochs a run has had per second of late. It needs no clock of its own: it fades with the time
// from the last sample to the look at it. It has one writer, Sample, and any number of readers. The zero value is ready
// for use.
type EpochRate struct {
	mu    sync.Mutex
	at    time.Time // of the last sample
	epoch int64     // the last one then
	rate  float64   // then
}

// Sample takes the number of the last epoch; it comes with each view of the run, and before its first epoch.
func (r *EpochRate) Sample(epoch int64, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.at.IsZero() {
		r.rate = r.faded(now) + float64(epoch-r.epoch)/epochSpan.Seconds()
	}
	r.at, r.epoch = now, epoch
}

// faded is what is left by now. r.mu is held.
func (r *EpochRate) faded(now time.Time) float64 {
	return r.rate * math.Exp(-max(0, now.Sub(r.at)).Seconds()/epochSpan.Seconds())
}

// PerSecond is the rate as of now, to a thousandth.
func (r *EpochRate) PerSecond(now time.Time) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return math.Round(1000*r.faded(now)) / 1000
}
