package gen

import (
	"fmt"
	"time"
)

type quote struct {
	Symbol string `json:"symbol"`
	Bid    int64  `json:"bid"`
	Ask    int64  `json:"ask"`
	At     int64  `json:"at"`
}

// Cross asks, at each quote of one of two venues: does it cross the other venue's newest quote of that symbol, where
// that is not older than 2 s?
func Cross(size int) Task {
	rng := source("cross")
	const symbols = 8
	var items []Item
	for s := range symbols {
		name := fmt.Sprintf("SYM%d", s)
		mid := int64(10_000 + 100*s)
		for v, venue := range []string{"venue_a", "venue_b"} {
			at := Base + rng.Int64N(1000)*2 + int64(v) // never two quotes at one time
			walk := mid
			for range size / symbols / 2 {
				walk += rng.Int64N(7) - 3 + (mid-walk)/8
				half := 2 + rng.Int64N(3)
				items = append(items, Item{venue, name, at, quote{name, walk - half, walk + half, at}})
				if rng.IntN(20) == 0 {
					at += 2200 + rng.Int64N(2000)/2*2
				} else {
					at += 100 + rng.Int64N(1000)/2*2
				}
			}
		}
	}
	t := Task{Name: "cross", Items: sorted(items), Within: time.Second, InStep: true}
	t.Want = answer(t.Name, t.Items)
	return t
}

func crosses(items []Item) []any {
	newest := map[[2]string]quote{}
	var of []any
	for _, it := range items {
		q := it.Value.(quote)
		newest[[2]string{it.Input, it.Key}] = q
		a, hasA := newest[[2]string{"venue_a", it.Key}]
		b, hasB := newest[[2]string{"venue_b", it.Key}]
		if !hasA || !hasB || q.At-min(a.At, b.At) > 2000 {
			continue
		}
		switch {
		case a.Bid > b.Ask:
			of = append(of, map[string]any{"symbol": it.Key, "sell": "a", "edge": a.Bid - b.Ask, "at": q.At})
		case b.Bid > a.Ask:
			of = append(of, map[string]any{"symbol": it.Key, "sell": "b", "edge": b.Bid - a.Ask, "at": q.At})
		}
	}
	return of
}
