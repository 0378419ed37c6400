// Package gen makes the data of ten everyday tasks and computes what is right for them. It knows nothing of
// graphd: the answers are plain loops over the events in the order of their own times, written from what each task
// asks for, so that they stay right whatever graphd does. The same size gives the same data on every machine.
package gen

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// End is the key of the last event of an input. It stands so far behind the others that whatever waits for event
// time to pass is over by then; what comes out about it is nobody's concern.
const End = "~end"

// Base is where the data begins: long past, so that no wall clock lies before it.
const Base = int64(1_709_539_200_000) // 2024-03-04T08:00:00Z, in ms

// A Task is the data of one everyday graph and what is right for it.
type Task struct {
	Name string
	// Items are all events in the order of their times.
	Items []Item
	// Want is what comes out, by output, in no order.
	Want map[string][]any
	// Within is how far a shuffle may put an event behind later ones.
	Within time.Duration
	// InStep says that what is right depends on the order between inputs, which files in disorder do not keep.
	InStep bool
	// Free says that a shuffle may also change the order of events of one key.
	Free bool
	// Some says that what comes out has other fields, too.
	Some bool
	// Part says that these are not all events of the task: some of its outputs may have nothing.
	Part bool
}

// An Item is one event on its way to one input.
type Item struct {
	Input string
	// Key is what the task keeps apart: the card, the sensor, the symbol.
	Key string
	// At is the event's own time, in milliseconds.
	At int64
	// Value is the event, to be encoded as JSON.
	Value any
}

// All are the tasks, each with some size events.
func All(size int) []Task {
	return append(Shown(size), Scoring(size), Balances(size), Branches(size), Auctions(size))
}

// Shown are those of which the graph is an example that needs nothing but files.
func Shown(size int) []Task {
	return []Task{
		Fraud(size), Sensors(size), Cross(size), Orders(size), Sessions(size), Top(size),
	}
}

// First is the task for the events of its first d alone, and the last ones, far behind them.
func (t Task) First(d time.Duration) Task {
	end, all := t.Items[0].At+d.Milliseconds(), len(t.Items)
	t.Items = slices.DeleteFunc(slices.Clone(t.Items), func(it Item) bool { return it.Key != End && it.At >= end })
	if len(t.Items) < all {
		t.Part, t.Want = true, answer(t.Name, t.Items)
	}
	return t
}

func answer(task string, items []Item) map[string][]any {
	switch task {
	case "fraud":
		return map[string][]any{"alerts": fraudAnswer(items)}
	case "sensors":
		return map[string][]any{"spikes": spikes(items), "gaps": gaps(items)}
	case "cross":
		return map[string][]any{"crosses": crosses(items)}
	case "orders":
		return ordersAnswer(items)
	case "sessions":
		return map[string][]any{"sessions": sessionsAnswer(items)}
	case "top":
		return map[string][]any{"top": topAnswer(items)}
	case "balances":
		return balancesAnswer(items)
	case "branches":
		return branchesAnswer(items)
	case "auctions":
		return auctionsAnswer(items)
	}
	panic("gen: no part of " + task + " has an answer of its own")
}

// Shuffled are the items as they arrive when each is late by up to Within.
func (t Task) Shuffled() []Item {
	rng := source(t.Name + " shuffled")
	type arrival struct {
		at   int64
		item Item
	}
	arrivals := make([]arrival, len(t.Items))
	last := map[string]int64{}
	for i, it := range t.Items {
		at := it.At
		if it.Key != End && t.Within > 0 {
			at += rng.Int64N(t.Within.Milliseconds())
		}
		if !t.Free {
			at = max(at, last[it.Key])
			last[it.Key] = at
		}
		arrivals[i] = arrival{at, it}
	}
	slices.SortStableFunc(arrivals, func(a, b arrival) int { return int(a.at - b.at) })
	items := make([]Item, len(arrivals))
	for i, a := range arrivals {
		items[i] = a.item
	}
	return items
}

// Span is from the first event to the last one before the end.
func (t Task) Span() time.Duration {
	var last int64
	for _, it := range t.Items {
		if it.Key != End {
			last = max(last, it.At)
		}
	}
	return time.Duration(last-t.Items[0].At) * time.Millisecond
}

// Inputs are the names of the inputs, in the order of the alphabet.
func (t Task) Inputs() []string {
	var names []string
	for _, it := range t.Items {
		if !slices.Contains(names, it.Input) {
			names = append(names, it.Input)
		}
	}
	slices.Sort(names)
	return names
}

// Write puts items into dir, a file INPUT.ndjson for each input, and says which file is whose.
func Write(dir string, items []Item) (map[string]string, error) {
	byInput := map[string][]Item{}
	for _, it := range items {
		byInput[it.Input] = append(byInput[it.Input], it)
	}
	paths := map[string]string{}
	for input, of := range byInput {
		paths[input] = filepath.Join(dir, input+".ndjson")
		if err := writeFile(paths[input], of); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

func writeFile(path string, items []Item) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	w := bufio.NewWriter(f)
	for _, it := range items {
		if err := json.NewEncoder(w).Encode(it.Value); err != nil {
			return fmt.Errorf("encode event of %s: %w", it.Input, err)
		}
	}
	return w.Flush()
}

// source is randomness that depends on a name alone.
func source(name string) *rand.Rand {
	var seed [32]byte
	copy(seed[:], name)
	return rand.New(rand.NewChaCha8(seed))
}

// sorted puts items into the order of their times; equal times stay as they were made.
func sorted(items []Item) []Item {
	slices.SortStableFunc(items, func(a, b Item) int { return int(a.At - b.At) })
	return items
}

// values are the events of one input, in the order of the items.
func values[T any](items []Item) []T {
	var of []T
	for _, it := range items {
		if v, ok := it.Value.(T); ok {
			of = append(of, v)
		}
	}
	return of
}

// stamp writes milliseconds as RFC 3339 in UTC.
func stamp(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }
