package socket

import (
	"context"
	"time"
)

// pace holds back a reader that gets more than so many frames a second. A burst of
// one second's worth goes through at once.
type pace struct {
	perSecond float64 // 0: no limit
	tokens    float64
	last      time.Time
}

func newPace(perSecond int) *pace {
	return &pace{perSecond: float64(perSecond), tokens: float64(perSecond), last: time.Now()}
}

// wait returns when the next frame may be read, or with ctx's cause.
func (p *pace) wait(ctx context.Context) error {
	if p.perSecond == 0 {
		return nil
	}
	now := time.Now()
	p.tokens = min(p.perSecond, p.tokens+now.Sub(p.last).Seconds()*p.perSecond)
	p.last = now
	if p.tokens--; p.tokens >= 0 {
		return nil
	}
	timer := time.NewTimer(time.Duration(-p.tokens / p.perSecond * float64(time.Second)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
