package watch

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/api"
)

// M53: a queue that follows shards over members knows where it is in each, and where a shard goes on in another
// incarnation behind what the queue was given, what lies between is a gap.
func TestM53QueueFindsWhatAMoveHasLost(t *testing.T) {
	q, err := NewQueue([]string{"outputs", "health"}, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	q.Follow(nil)
	q.Begin(api.Places{2: {Incarnation: 1, Seq: 5}})
	for _, f := range []api.Frame{
		{Type: "output", Shard: 2, Incarnation: 1, Seq: 6},
		{Type: "health", Shard: 2, Incarnation: 2, Seq: 8},
		{Type: "output", Shard: 2, Incarnation: 2, Seq: 9},  // 7 and 8 are missing
		{Type: "output", Shard: 2, Incarnation: 2, Seq: 12}, // 10 and 11 were firings, which are not asked for
		{Type: "output", Shard: 2, Incarnation: 3, Seq: 13},
		{Type: "output", Shard: 4, Incarnation: 7, Seq: 30}, // nothing was known of it
	} {
		q.Put(&f)
	}
	var got []string
	for f := q.TryNext(); f != nil; f = q.TryNext() {
		got = append(got, fmt.Sprintf("%s %d/%d:%d", f.Type, f.Shard, f.Incarnation, f.Seq))
		if f.Type == "gap" {
			got[len(got)-1] += fmt.Sprintf(" from %d", f.From)
		}
	}
	want := "output 2/1:6, health 2/2:8, gap 2/2:8 from 7, output 2/2:9, output 2/2:12, output 2/3:13, output 4/7:30"
	if text := strings.Join(got, ", "); text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	if at := q.Last([]int{2, 4, 5}).String(); at != "2/3:13,4/7:30" {
		t.Errorf("it is at %s", at)
	}
}

// M53: who asks for firings alone has missed nothing where the first epoch of a new incarnation has put something out.
func TestM53OutputsThatNobodyAskedForAreNoGap(t *testing.T) {
	q, err := NewQueue([]string{"firings"}, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	q.Follow(nil)
	firing := &api.Firing{Outputs: map[string]json.RawMessage{"a": nil, "b": nil}}
	for _, f := range []api.Frame{
		{Type: "firing", Incarnation: 1, Seq: 5, Firing: firing},
		{Type: "firing", Incarnation: 2, Seq: 8, Firing: firing},
		{Type: "firing", Incarnation: 3, Seq: 12, Firing: firing}, // 9 is missing
	} {
		q.Put(&f)
	}
	for _, want := range []string{"firing 0 5", "firing 0 8", "gap 9 9", "firing 0 12"} {
		f := q.TryNext()
		if got := fmt.Sprint(f.Type, " ", f.From, " ", f.Seq); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// M53: what a queue that is full could not hold is a gap once, with what a move has lost meanwhile, and none again
// where the shard has moved when there is room.
func TestM53WhatWasMissedIsAGapOnce(t *testing.T) {
	q, err := NewQueue([]string{"outputs"}, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	q.Follow(nil)
	put := func(incarnation, seq int64) {
		q.Put(&api.Frame{Type: "output", Shard: 2, Incarnation: incarnation, Seq: seq})
	}
	for seq := range int64(MaxFrames + 10) {
		put(1, seq+1)
	}
	put(2, MaxFrames+13)
	if at := q.Last([]int{2})[2]; at != (api.Place{Incarnation: 2, Seq: MaxFrames + 13}) {
		t.Errorf("it is at %+v", at)
	}
	for range MaxFrames {
		if f := q.TryNext(); f == nil || f.Type != "output" {
			t.Fatalf("it has %+v", f)
		}
	}
	put(3, MaxFrames+14)
	gap, next := q.TryNext(), q.TryNext()
	if gap.Type != "gap" || gap.Incarnation != 2 || gap.From != MaxFrames+1 || gap.To != MaxFrames+13 ||
		gap.Seq != gap.To || next.Type != "output" || q.TryNext() != nil {
		t.Errorf("it has %+v, %+v", gap, next)
	}
	for n := range int64(MaxFrames) {
		put(3, MaxFrames+15+n)
	}
	put(4, 2*MaxFrames+17) // where it is full, the first that is missed is of a new run
	for range MaxFrames {
		q.TryNext()
	}
	if gap := q.TryNext(); gap.Type != "gap" || gap.Incarnation != 4 || gap.From != 2*MaxFrames+15 {
		t.Errorf("it has %+v", gap)
	}
}

// M53: a sample of shards that follows them over members is told what a move has lost, once, and what it was left out
// of is no gap.
func TestM53SampleFindsWhatAMoveHasLost(t *testing.T) {
	q, err := NewQueue([]string{"firings"}, 4, false)
	if err != nil {
		t.Fatal(err)
	}
	q.Follow(nil)
	q.Begin(api.Places{2: {Incarnation: 1, Seq: 5}})
	h := NewShardHub(api.Ref{Tenant: "acme", Name: "g"}, 2)
	h.Attach(q)
	q.Put(&api.Frame{Type: "firing", Shard: 2, Incarnation: 1, Seq: 6}) // where it ran
	// Here, behind four that nobody was told of.
	h.begin(2, 10)
	q.Put(&api.Frame{Type: "firing", Shard: 2, Incarnation: 2, Seq: 15, LeftOut: 4})
	h.seen, h.frame = 8, 18 // three more, which were left out: the shard is restarted
	h.samples[0].seen = 5
	h.begin(3, 18)
	q.Put(&api.Frame{Type: "firing", Shard: 2, Incarnation: 3, Seq: 20, LeftOut: 1 + taken(&h.samples[0].left)})
	h.seen, h.frame = 2, 20
	h.samples[0].seen = 1
	// One that was left out, and three that were lost; then a crash undoes more than it was told of, and as much where
	// it runs next.
	h.begin(4, 23)
	h.begin(5, 12)
	q.Put(&api.Frame{Type: "firing", Shard: 2, Incarnation: 6, Seq: 9})
	h.begin(7, 11)
	want := "firing 6, gap 10 from 7, firing 15 behind 4, firing 20 behind 4, gap 23 from 21 behind 1, firing 9, " +
		"gap 11 from 10"
	var got []string
	for f := q.TryNext(); f != nil; f = q.TryNext() {
		got = append(got, fmt.Sprint(f.Type, " ", f.Seq))
		if f.Type == "gap" {
			got[len(got)-1] += fmt.Sprintf(" from %d", f.From)
		}
		if f.LeftOut > 0 {
			got[len(got)-1] += fmt.Sprintf(" behind %d", f.LeftOut)
		}
	}
	if text := strings.Join(got, ", "); text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}
