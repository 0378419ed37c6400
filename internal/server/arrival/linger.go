package arrival

import (
	"context"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/rates"
)

// Who goes on without regard to Retry-After is answered later: a client that waits for its answers sends no more
// meanwhile, and what it has sent is not read.
const (
	// promptly is how many refusals of one address or token a second are answered at once, promptlyAtOnce how many
	// after a while without any.
	promptly, promptlyAtOnce = 20, 100
	// lingers is how long the others wait.
	lingers = time.Second
)

// lingering are refusals that wait to be answered, so many of one and of all at most: each costs what a connection
// does that is idle.
type lingering struct {
	wait         time.Duration
	most, mostOf int
	prompt       *rates.Rates

	mu   sync.Mutex
	all  int
	each map[string]int
}

func newLingering(cfg *Config) *lingering {
	return &lingering{wait: cfg.Linger, most: cfg.MaxConnections, mostOf: cfg.MaxConnectionsEach,
		prompt: rates.New(rates.Config{PerSecond: promptly, Burst: promptlyAtOnce, Keys: keys}), each: map[string]int{}}
}

// begin says whether the next refusal of somebody is to wait.
func (l *lingering) begin(key string) bool {
	if l.wait < 0 || l.prompt.Take(key, 1) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all >= l.most || l.each[key] >= l.mostOf {
		return false
	}
	l.all++
	l.each[key]++
	return true
}

func (l *lingering) end(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.each[key]--; l.each[key] == 0 {
		delete(l.each, key)
	}
}

// Linger waits before a refusal of whoever holds key is answered that goes on although it was told when to come again;
// no longer than ctx. Key "" is nobody.
func (g *Guard) Linger(ctx context.Context, key string) {
	l := g.lingering
	if !l.begin(key) {
		return
	}
	defer l.end(key)
	timer := time.NewTimer(l.wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
