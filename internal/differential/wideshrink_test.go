package differential

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

// shrunk is a smaller declaration with fewer events that differs too, as far as it is found within the time. A
// difference that does not come every time may shrink to one that comes seldom.
func (w *wide) shrunk(t *testing.T, seed uint64, way way, within time.Duration) {
	until := time.Now().Add(within)
	differs := func(doc tree) bool {
		if _, err := w.compile(doc); err != nil || time.Now().After(until) {
			return false
		}
		want, err := w.run(t, doc)
		if err != nil {
			return false
		}
		said, err := way.says(w, t, doc, seed, want)
		return err == nil && said != ""
	}
	for again := true; again && time.Now().Before(until); {
		again = false
		for _, in := range w.inputs {
			for size := len(in.lines); size > 0; size /= 2 {
				for at := 0; at+size <= len(in.lines); {
					all := in.lines
					in.lines = slices.Delete(slices.Clone(all), at, at+size)
					if differs(w.doc) {
						again = true
					} else {
						in.lines, at = all, at+size
					}
				}
			}
		}
		for path := range paths(w.doc) {
			if strings.HasPrefix(path[len(path)-1], "time") {
				continue // the order of the events is by what they are written as
			}
			if smaller := without(w.doc, path); differs(smaller) {
				w.doc, again = smaller, true
			}
		}
	}
}

// paths are the places of all fields, the outer ones first.
func paths(doc tree) func(yield func([]string) bool) {
	return func(yield func([]string) bool) {
		level := [][]string{nil}
		for len(level) > 0 {
			var next [][]string
			for _, path := range level {
				at, ok := follow(doc, path).(tree)
				if !ok {
					continue
				}
				for _, name := range slices.Sorted(keysOf(at)) {
					path := append(slices.Clone(path), name)
					if !yield(path) {
						return
					}
					next = append(next, path)
				}
			}
			level = next
		}
	}
}

func follow(doc tree, path []string) any {
	var at any = doc
	for _, name := range path {
		t, ok := at.(tree)
		if !ok {
			return nil
		}
		at = t[name]
	}
	return at
}

// without is a copy of a declaration without a field.
func without(doc tree, path []string) tree {
	var own tree
	if err := json.Unmarshal(text(doc), &own); err != nil {
		panic(err)
	}
	if at, ok := follow(own, path[:len(path)-1]).(tree); ok {
		delete(at, path[len(path)-1])
	}
	return own
}
