package reactor_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/reactor"
)

// keyedHandoff is boundaries of one event each, KEY=VALUE.
func keyedHandoff(received int64, items ...string) *accumulator.Handoff {
	h := &accumulator.Handoff{Mark: accumulator.Mark{Counters: accumulator.Counters{Received: received}}}
	for _, it := range items {
		key, v, _ := strings.Cut(it, "=")
		h.Boundaries = append(h.Boundaries, boundary.Boundary{
			Value: boundary.String(v), Key: boundary.KeyOf(boundary.String(key)), Events: 1, Size: 1,
		})
	}
	return h
}

// M42, M13: however handoffs and drains fall, the books balance and each key ends with its newest value.
func TestM13InboxBooksBalance(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 5))
		c := reactor.NewCore(
			reactor.TestConfig(t,
				"graph: g\naccumulators:\n  a: {}\nreactor: { when: any }\nnodes:\n  n: { expr: '[key, a]' }\n",
				reactor.Keyed(nil)))
		c.Start(reactor.EpochZero)
		c.SetHealth(reactor.EpochZero, 0, accumulator.SocketOnly, "", "")
		inbox := live.NewInbox([]reactor.Lane{
			{Keyed: true, Capacity: 1 + rng.IntN(5), MaxBytes: int64(1 + rng.IntN(8))},
		})
		p := inbox.Port(0)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		received, newest := int64(0), map[string]string{}
		for n := range 60 {
			var items []string
			for range rng.IntN(4) {
				items = append(items, fmt.Sprintf("%c=%d", 'a'+rng.IntN(6), n))
			}
			if err := p.Put(ended, keyedHandoff(received+int64(len(items)), items...)); err == nil {
				received += int64(len(items))
				for _, it := range items {
					key, v, _ := strings.Cut(it, "=")
					newest[key] = v
				}
			} else if inbox.Drain(reactor.EpochZero, c); rng.IntN(2) == 0 {
				for c.Fire(reactor.EpochZero) {
				}
			}
		}
		inbox.Drain(reactor.EpochZero, c)
		reactor.CheckKeys(t, c)
		for key, want := range newest {
			st, err := c.GetState(boundary.KeyOf(boundary.String(key)))
			if got, _ := st.Cache[0].AsString(); err != nil || got != want {
				t.Fatalf("seed %d: key %s has %q (%v), want %q", seed, key, got, err, want)
			}
		}
		b := c.Look().Inputs[0].Books
		if sum := b.Filtered + b.Conflated + b.Rejected + b.DeadLettered + b.Consumed +
			b.Queued; b.Received != received || sum != received {
			t.Fatalf("seed %d: received %d, want %d, accounted for %d", seed, b.Received, received, sum)
		}
	}
}
