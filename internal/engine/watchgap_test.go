package engine

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/graphd/graphd/internal/api"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

// M32: a watcher gets each frame, or is told of it in a gap, however little history a graph keeps and however many
// epochs there are between two looks at it.
func TestM32WhatIsNotKeptIsAGap(t *testing.T) {
	for _, mode := range []string{"checkpoint", "journal"} {
		for _, keep := range []int{0, 1, 2, 1000} {
			t.Run(fmt.Sprint(mode, keep), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBed(t, lasting{memstore.New()}, &scripted{})
					defer b.close()
					ref := api.Ref{Tenant: "default", Name: "g"}
					b.apply(fmt.Sprintf("graph: g\naccumulators: { a: { strategy: sequential } }\nnodes: { n: { expr: a } }\n"+
						"outputs: { o: { from: n, sink: { drop: {} } } }\nhistory: { keep: %d }\ndurability: { mode: %s }\n",
						keep, mode), "g")
					b.push("g", "a", "1", "2", "3")
					sub, err := b.e.Watch(t.Context(), ref, []string{"outputs", "firings"}, "")
					if err != nil {
						t.Fatal(err)
					}
					defer sub.Close()
					var last, seen int64 = 6, 0 // two frames an epoch were there before
					for range 3 {
						b.push("g", "a", "1", "2", "3", "4", "5")
						for f := sub.TryNext(); f != nil; f = sub.TryNext() {
							from := f.Seq
							if f.Type == "gap" {
								from = f.From
							} else {
								seen++
							}
							if from != last+1 {
								t.Errorf("%s, keep %d: %s %d..%d after %d", mode, keep, f.Type, from, f.Seq, last)
							}
							last = f.Seq
						}
					}
					back, err := b.e.Watch(t.Context(), ref, []string{"outputs", "firings"}, "1:6")
					if err != nil {
						t.Fatal(err)
					}
					defer back.Close()
					again := int64(6)
					for f := back.TryNext(); f != nil; f = back.TryNext() {
						if f.Seq != again+1 && f.From != again+1 {
							t.Errorf("who comes back: %s %d..%d after %d", f.Type, f.From, f.Seq, again)
						}
						again = f.Seq
					}
					if again != 36 {
						t.Errorf("who comes back is told of frames to %d of 36", again)
					}
					if last != 36 {
						t.Errorf("%s, keep %d: the last frame told of is %d of 36, %d of them were sent", mode, keep, last, seen)
					}
				})
			})
		}
	}
}
