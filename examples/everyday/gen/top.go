package gen

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

type view struct {
	Product string `json:"product"`
	At      string `json:"at"`
}

// Top asks for the ten products that were looked at most in each minute; of equal ones the first by name.
func Top(size int) Task {
	rng := source("top")
	zipf := rand.NewZipf(rng, 1.1, 8, 149)
	end := Base + 3_600_000
	items := []Item{{"views", End, end, view{End, stamp(end)}}}
	for range size {
		at, product := Base+rng.Int64N(600_000), fmt.Sprintf("item-%03d", zipf.Uint64())
		items = append(items, Item{"views", product, at, view{product, stamp(at)}})
	}
	t := Task{Name: "top", Items: sorted(items), Within: 10 * time.Second, Free: true}
	t.Want = answer(t.Name, t.Items)
	return t
}

func topAnswer(items []Item) []any {
	minutes := map[int64]map[string]int{}
	for _, it := range items {
		minute := it.At / 60_000
		if minutes[minute] == nil {
			minutes[minute] = map[string]int{}
		}
		minutes[minute][it.Key]++
	}
	var of []any
	for _, minute := range slices.Sorted(maps.Keys(minutes)) {
		counts := minutes[minute]
		if counts[End] > 0 {
			continue
		}
		names := slices.Sorted(maps.Keys(counts))
		slices.SortStableFunc(names, func(a, b string) int { return counts[b] - counts[a] })
		var top []any
		for _, name := range names[:min(10, len(names))] {
			top = append(top, map[string]any{"product": name, "n": counts[name]})
		}
		of = append(of, map[string]any{"start": stamp(minute * 60_000), "top": top})
	}
	return of
}
