package gate

import (
	"log/slog"
	"sync"
	"time"
)

// tellEvery is how often at most the log has a line about those who are turned away, of each kind.
const tellEvery = 10 * time.Second

// teller keeps those who are turned away from filling the log. The zero value has told nothing.
type teller struct {
	mu   sync.Mutex
	told map[string]*turned // by what is told; there are a handful
}

type turned struct {
	at      time.Time
	skipped int
}

// due says whether something is to be told, and how often it was not since the last time.
func (t *teller) due(what string, now time.Time) (skipped int, due bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.told == nil {
		t.told = map[string]*turned{}
	}
	last := t.told[what]
	if last != nil && now.Sub(last.at) < tellEvery {
		last.skipped++
		return 0, false
	}
	t.told[what] = &turned{at: now}
	if last != nil {
		skipped = last.skipped
	}
	return skipped, true
}

// tell tells the operator why somebody was turned away, whom the answer does not tell, and what to do. err holds no
// secret: neither a token nor a part of one.
func (g *Gate) tell(what string, err error, advice string, more ...slog.Attr) {
	skipped, due := g.told.due(what, g.cfg.Now())
	if !due {
		return
	}
	args := []any{slog.String("what", what), slog.Any("err", err)}
	for _, a := range more {
		args = append(args, a)
	}
	if advice != "" {
		args = append(args, slog.String("do", advice))
	}
	if skipped > 0 {
		args = append(args, slog.Int("not_told", skipped))
	}
	g.cfg.Log.Warn("somebody was turned away", args...)
}
