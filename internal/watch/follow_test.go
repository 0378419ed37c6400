package watch

import (
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
