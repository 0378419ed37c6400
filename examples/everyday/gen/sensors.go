package gen

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

type sensor struct {
	Sensor string `json:"sensor"`
	At     int64  `json:"at"`
}

type reading struct {
	Sensor string `json:"sensor"`
	Value  int64  `json:"value"`
	At     int64  `json:"at"`
}

// Sensors asks: which readings are over 5 standard deviations from the mean of their sensor's newest 100, and which
// sensors, also of those that have never reported, have given no reading for 30 s?
func Sensors(size int) Task {
	rng := source("sensors")
	count := max(size/130, 5)
	items := []Item{{"readings", End, Base + 24*3_600_000, reading{End, 0, Base + 24*3_600_000}}}
	for s := range count + 3 {
		name := fmt.Sprintf("s%04d", s)
		items = append(items, Item{"sensors", name, Base, sensor{name, Base}})
		if s >= count { // never reports
			continue
		}
		at := Base + 1000 + rng.Int64N(5000)
		for range size / count {
			v := 20_000 + rng.Int64N(1000)
			if rng.IntN(100) == 0 {
				v += (4000 + rng.Int64N(4000)) * (1 - 2*rng.Int64N(2))
			}
			items = append(items, Item{"readings", name, at, reading{name, v, at}})
			switch rng.IntN(100) {
			case 0: // silent
				at += 40_000 + rng.Int64N(60_000)
			case 1, 2: // nearly
				at += 18_000 + rng.Int64N(6000)
			default:
				at += 3000 + rng.Int64N(2000)
			}
		}
	}
	return sensorsTask(sorted(items))
}

// SensorsCut are the same sensors without an event far behind the others: where the data ends says nothing of what
// comes after it, so only the silence of 30 s before that counts.
func SensorsCut(size int) Task {
	return sensorsTask(slices.DeleteFunc(Sensors(size).Items, func(it Item) bool { return it.Key == End }))
}

func sensorsTask(items []Item) Task {
	return Task{
		Name: "sensors", Items: items, Within: 4 * time.Second,
		Want: answer("sensors", items),
	}
}

func spikes(items []Item) []any {
	seen := map[string][]int64{}
	var of []any
	for _, r := range values[reading](items) {
		vs := append(seen[r.Sensor], r.Value)
		seen[r.Sensor] = vs
		vs = vs[max(0, len(vs)-100):]
		if len(vs) < 2 {
			continue
		}
		// Squares of whole numbers: with n values, (n·x - Σ)² over 25·n·(n·Σx² - Σ²) / (n - 1).
		var sum, squares, n float64
		for _, v := range vs {
			x := float64(v)
			sum, squares, n = sum+x, squares+x*x, n+1
		}
		d := n*float64(r.Value) - sum
		left, right := d*d, 25*n*(n*squares-sum*sum)/(n-1)
		if math.Abs(left-right) < 1e-9*right {
			panic("gen: a reading is too near to the threshold to say which side it is on")
		}
		if left > right {
			of = append(of, map[string]any{"sensor": r.Sensor, "value": r.Value, "at": r.At})
		}
	}
	return of
}

func gaps(items []Item) []any {
	var of []any
	heard := map[string]int64{}
	last := map[string]any{}
	for _, it := range items {
		if h, ok := heard[it.Key]; ok && it.At-h >= 30_000 {
			of = append(of, map[string]any{"sensor": it.Key, "last": last[it.Key]})
		}
		heard[it.Key] = it.At
		if r, ok := it.Value.(reading); ok {
			last[it.Key] = r.At
		}
	}
	end := items[len(items)-1].At
	for _, key := range slices.Sorted(maps.Keys(heard)) { // silent until the end
		if end-heard[key] >= 30_000 {
			of = append(of, map[string]any{"sensor": key, "last": last[key]})
		}
	}
	return of
}
