package rates

import (
	"container/list"
	"context"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Config is how much there is for each key. A rate of 0 is no bound.
type Config struct {
	PerSecond float64
	// Burst is how much may be done at once.
	Burst int
	// Keys is how many keys are told apart.
	Keys int
	// Now is the clock, nil for that of the machine.
	Now func() time.Time
}

// Rates are limiters by key. Nil ones bound nothing, and so does the key "".
type Rates struct {
	cfg Config

	mu    sync.Mutex
	byKey map[string]*list.Element
	order list.List // the most recently used first
}

type limiter struct {
	key string
	*rate.Limiter
}

// New makes rates; nil where there is no bound.
func New(cfg Config) *Rates {
	if cfg.PerSecond <= 0 {
		return nil
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Rates{cfg: cfg, byKey: map[string]*list.Element{}}
}

// Take takes n for a key, and says whether that was to be had; where it was not nothing is taken. More than the burst
// is to be had where the burst is: it is the caller's bound that says how much one can be.
func (r *Rates) Take(key string, n int) bool {
	if r == nil || key == "" {
		return true
	}
	return r.of(key).AllowN(r.cfg.Now(), min(n, r.cfg.Burst))
}

// Spent is how long it takes until there is one for a key where nothing is left; 0 where there is. It takes nothing.
func (r *Rates) Spent(key string) (wait time.Duration) {
	if r == nil || key == "" {
		return 0
	}
	r.mu.Lock()
	at := r.byKey[key]
	r.mu.Unlock()
	if at == nil {
		return 0
	}
	missing := 1 - at.Value.(*limiter).TokensAt(r.cfg.Now())
	return time.Duration(max(0, missing) / r.cfg.PerSecond * float64(time.Second))
}

// Wait waits until there are n for a key, or ctx is done; of more than the burst for the burst.
func (r *Rates) Wait(ctx context.Context, key string, n int) error {
	if r == nil || key == "" {
		return nil
	}
	return r.of(key).WaitN(ctx, min(n, r.cfg.Burst))
}

// Keys is how many keys are told apart now.
func (r *Rates) Keys() int {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.byKey)
}

// of is the limiter of a key. The least recently used goes for a new one: by the time it comes again it would most
// likely have been full.
func (r *Rates) of(key string) *limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at := r.byKey[key]; at != nil {
		r.order.MoveToFront(at)
		return at.Value.(*limiter)
	}
	if len(r.byKey) >= r.cfg.Keys {
		last := r.order.Back()
		delete(r.byKey, r.order.Remove(last).(*limiter).key)
	}
	l := &limiter{key, rate.NewLimiter(rate.Limit(r.cfg.PerSecond), r.cfg.Burst)}
	r.byKey[key] = r.order.PushFront(l)
	return l
}

// Source is the key of an address: a machine has 2^64 addresses of IPv6 and is one. It is "" for loopback, which is
// all programs of this machine, and for what is no address.
func Source(host string) string {
	addr, err := netip.ParseAddr(host)
	if err != nil || addr.Unmap().IsLoopback() {
		return ""
	}
	if addr = addr.Unmap().WithZone(""); addr.Is4() {
		return addr.String()
	}
	network, _ := addr.Prefix(64) // an address of IPv6 has so many bits
	return network.String()
}
