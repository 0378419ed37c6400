// Package laps notes how long the steps of something took, for one line of the log at debug: what a shard is silent for
// when it moves.
package laps

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Laps are steps, one after the other. Nil notes nothing. They are safe for concurrent use: a run that has not come to
// its end in time may come to it beside the next one.
type Laps struct {
	mu          sync.Mutex
	began, last time.Time
	steps       []any
}

// New begins with the first step; nil where the log has no line for it.
func New(log *slog.Logger) *Laps {
	if !log.Enabled(context.Background(), slog.LevelDebug) {
		return nil
	}
	now := time.Now()
	return &Laps{began: now, last: now}
}

// Lap ends a step, and begins the next one.
func (l *Laps) Lap(step string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.steps = append(l.steps, slog.Duration(step, now.Sub(l.last)))
	l.last = now
}

// End ends the last step, and answers with what the line says of all of them.
func (l *Laps) End(step string) []any {
	l.Lap(step)
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]any{slog.Duration("took", l.last.Sub(l.began))}, l.steps...)
}
