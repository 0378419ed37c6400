package pump

import (
	"errors"
	"testing"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
)

// M48: of an event that was not taken, while others took later ones, the answer says why; and of what all keys share,
// which a member at another place has refused, that none of it is to be taken as pushed.
func TestM48WhyAPartIsLeft(t *testing.T) {
	refused := errors.New("no memory")
	for code, err := range map[string]error{
		QueueFull: nil, "owner_moved": ErrElsewhere, "graph_stopping": ErrClosed, "input_stopped": ErrStopped,
		"graph_restarted": ErrAnew, "memory_full": &AwayError{Code: "memory_full", Refused: refused},
	} {
		events := make([]boundary.Event, 2)
		fates := make([]fold.Fate, 1)
		out, joined := join([]part{
			{shard: 0, events: events[:1], fates: fates, index: []int{0}, err: err, out: PushOutcome{Full: true}},
			{shard: 1, events: events[1:], fates: fates, index: []int{1}, out: PushOutcome{Taken: 1, Accepted: 1}},
		}, 2)
		if !errors.Is(joined, err) || out.Taken != 2 || len(out.Rejected) != 1 || out.Rejected[0].Code != code ||
			out.Rejected[0].Index != 0 {
			t.Errorf("%s: %+v, %v", code, out, joined)
		}
	}
	out, err := shared([]part{
		{shard: 0, out: PushOutcome{Taken: 2, Accepted: 2}},
		{away: &Away{Shards: []int{1}}, err: &AwayError{Code: "memory_full", Refused: refused}},
	})
	if !errors.Is(err, refused) || out.Accepted != 0 || out.RejectedCount != 2 || len(out.Rejected) != 2 ||
		out.Rejected[1].Code != "memory_full" || out.Taken != 2 || !out.Full {
		t.Errorf("%+v, %v", out, err)
	}
	// So it is where a shard of a member had no room in time, which that one tells as rejected.
	full := PushOutcome{Taken: 2, Full: true, RejectedCount: 2, Rejected: []Rejection{{Index: 0, Code: QueueFull},
		{Index: 1, Code: QueueFull}}}
	out, err = shared([]part{
		{shard: 0, out: PushOutcome{Taken: 2, Accepted: 2}}, {away: &Away{Shards: []int{1, 2}}, out: full},
	})
	if err != nil || out.Accepted != 0 || len(out.Rejected) != 2 || !out.Full {
		t.Errorf("%+v, %v", out, err)
	}
}
