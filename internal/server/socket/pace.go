package socket

import "golang.org/x/time/rate"

// newPace holds back a reader that gets more than so many frames a second; 0 is no limit. A burst of
// one second's worth goes through at once.
func newPace(perSecond int) *rate.Limiter {
	if perSecond == 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(perSecond), perSecond)
}
