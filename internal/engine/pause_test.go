package engine

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/graphd/graphd/internal/api"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

// M11: who watches a graph's health is told when it is paused and when it is resumed, by frames
// with the number of the last firing.
func TestM11WatchersSeeThePause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, memstore.New(), &scripted{})
		defer b.close()
		b.apply(fmt.Sprintf(busyDoc, "g"), "g")
		b.push("g", "a", "1")
		g := api.Ref{Tenant: "default", Name: "g"}
		sub, err := b.e.Watch(t.Context(), g, api.Wanted{Topics: []string{"health"}})
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		for range 2 { // a second pause is none
			if _, err := b.e.Pause(t.Context(), g, "ann"); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.e.Resume(t.Context(), g, "ann"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		var got []string
		for f := sub.TryNext(); f != nil; f = sub.TryNext() {
			got = append(got, fmt.Sprint(f.Type, " ", f.Health, " ", *f.Paused, " ", f.Seq))
		}
		if want := []string{"health live true 2", "health live false 2"}; !slices.Equal(got, want) {
			t.Errorf("frames %v, want %v", got, want)
		}
	})
}
