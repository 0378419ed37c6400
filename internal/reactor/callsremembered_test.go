package reactor

import (
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/kind"
)

// rememberGraph asks with more than the key by which answers are remembered, and asks a second time of what the first
// said; few are remembered, and not for long.
const rememberGraph = `graph: calls
accumulators: { a: { strategy: sequential } }
nodes:
  who: { http: { url: "http://there", body: '[key, a]', cache: { key: a % 5, ttl: 3s, max: MAX } }, on_error: skip }
  more: { http: { url: "http://there", body: '[who, a]', cache: { key: a % 7, ttl: 2s, max: MAX } }, on_error: skip }
  all: { expr: '[key, a, who ?? nil, more ?? nil]' }
outputs: { o: { from: all, sink: { drop: {} } } }
`

// say answers by what is asked, and of some says nothing.
func say(r *kind.Request) *kind.Answer {
	if crc32.ChecksumIEEE(r.Body)%5 == 0 {
		return &kind.Answer{Status: 503}
	}
	return &kind.Answer{Status: 200, Body: fmt.Appendf(nil, "%q", fmt.Sprintf("<%.40s>", r.Body))}
}

// remembering drives the graph over several instants, looks at so many keys ahead, and answers in any order; 0 is that
// each is answered at once, as in a run. Some of the epochs are commanded.
func remembering(t *testing.T, seed uint64, ahead int) (released []string) {
	given, rnd := rand.New(rand.NewPCG(seed, 2)), rand.New(rand.NewPCG(seed, uint64(ahead)))
	opts := []option{keyed(nil)}
	if ahead == 0 {
		opts = append(opts, func(c *Config) {
			c.Answer = func(_ int, r *kind.Request) (kind.Answer, bool) { return *say(r), true }
		})
	}
	r := newRig(t, strings.ReplaceAll(rememberGraph, "MAX", fmt.Sprint(1+given.IntN(6))), opts...)
	var open []Ask
	known := map[string]bool{}
	quiet := func() {
		for range 10_000 {
			if out := r.fire(); out != "" {
				released = append(released, out)
			}
			if !r.c.Asking() {
				return
			}
			for _, a := range append(append([]Ask(nil), r.c.Asked()...), r.ahead(ahead)...) {
				if id := fmt.Sprint(a.Key, a.Node, a.Request.ID()); !known[id] {
					known[id], open = true, append(open, a)
				}
			}
			for i := rnd.IntN(1 + len(open)); len(open) > 0 && i >= 0; i-- {
				k := rnd.IntN(len(open))
				a := open[k]
				open = append(open[:k], open[k+1:]...)
				delete(known, fmt.Sprint(a.Key, a.Node, a.Request.ID()))
				r.c.Answer(a.Key, a.Node, a.Request.ID(), say(&a.Request))
			}
		}
		t.Fatal("it never comes to an end")
	}
	for range 8 {
		for range 1 + given.IntN(12) {
			r.give("a", string(rune('a'+given.IntN(6))), given.IntN(40))
		}
		quiet()
		r.advance(time.Duration(given.IntN(2000)) * time.Millisecond)
	}
	return released
}

// M26: of epochs that ask by one key the first asks, in the order of the epochs, and it is their order too by which
// answers are forgotten: whatever is asked ahead and however the answers come, what comes out is that of a run, which
// asks one after the other.
func TestM26WhatIsRememberedGoesByTheOrderOfEpochs(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		run := strings.Join(remembering(t, seed, 0), " ")
		for _, ahead := range []int{1, 4, 64} {
			if live := strings.Join(remembering(t, seed, ahead), " "); live != run {
				t.Fatalf("seed %d, %d ahead:\n%s\nand in a run\n%s", seed, ahead, live, run)
			}
		}
	}
}
