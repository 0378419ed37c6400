package parts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
)

// slow is a member that takes a second for each call.
type slow struct {
	calls  [][]string // the events of each
	at     int        // calls that are under way
	refuse *Refusal
	gone   bool
}

func (s *slow) Ask(ctx context.Context, _ *checkpoint.Member, call *Call) (*Answer, bool, error) {
	s.at++
	defer func() { s.at-- }()
	if s.at > 1 {
		return nil, true, errors.New("two calls at one time")
	}
	time.Sleep(time.Second)
	switch {
	case s.gone:
		return nil, true, errors.New("gone")
	case s.refuse != nil:
		return &Answer{Refusal: s.refuse}, true, nil
	}
	var args Pushes
	if err := json.Unmarshal(call.Args, &args); err != nil {
		return nil, true, err
	}
	var heard []string
	pushed := make([]Pushed, len(args.Items))
	for i := range args.Items {
		for _, e := range args.Items[i].Events {
			heard = append(heard, string(e))
		}
		n := len(args.Items[i].Events)
		pushed[i] = Pushed{Taken: n, Accepted: n}
	}
	s.calls = append(s.calls, heard)
	value, err := json.Marshal(pushed)
	return &Answer{Value: value}, true, err
}

func (*slow) Follow(context.Context, *checkpoint.Member, *Call) (*Answer, Frames, error) {
	return nil, nil, errors.ErrUnsupported
}

// lane is the way to the shards of one member.
func (s *slow) lane() (*Lanes, pump.Away) {
	l := &Lanes{Members: s, Patience: time.Minute}
	p := &Part{Member: &checkpoint.Member{ID: "b", Name: "b/1", Peer: "b"}, Shards: []int{1, 3}}
	return l, l.Away(api.Ref{Tenant: "t", Name: "g"}, 0, 4, p)
}

func push(n int) []boundary.Event { return []boundary.Event{{Raw: fmt.Append(nil, n)}} }

// M53: pushes to one member go in the order of the calls, one request at a time, with all in it that has come
// meanwhile; what is no JSON arrives as it is.
func TestM53PushesKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{}
		lanes, to := s.lane()
		var waits []pump.Wait
		var want []string
		for n := range 100 {
			ev := push(n)
			if n == 50 {
				ev[0].Raw = []byte("{\xff")
			}
			want = append(want, string(ev[0].Raw))
			wait, err := to.Submit(t.Context(), ev)
			if err != nil {
				t.Fatal(err)
			}
			waits = append(waits, wait)
			if n == 0 {
				synctest.Wait() // it is on its way alone
			}
		}
		began := time.Now()
		for n, wait := range waits {
			if out, err := wait(t.Context()); err != nil || out.Taken != 1 {
				t.Errorf("push %d: %+v, %v", n, out, err)
			}
		}
		if took := time.Since(began); len(s.calls) != 2 || took != 2*time.Second {
			t.Errorf("%d calls in %v", len(s.calls), took)
		}
		if got := slices.Concat(s.calls...); !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
		lanes.Close()
	})
}

// M53: where there is no room in the caller's time nothing is taken; a refusal of the member is the answer; and where
// it does not answer, that it is not known what it has taken.
func TestM53PushesThatAreNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{}
		lanes, to := s.lane()
		first, err := to.Submit(t.Context(), slices.Repeat(push(1), laneEvents))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		full, err := to.Submit(t.Context(), slices.Repeat(push(2), laneEvents))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		late, err := to.Submit(ctx, push(3))
		if err != nil {
			t.Fatal(err)
		}
		if out, err := late(ctx); err != nil || !out.Full || out.Taken != 0 {
			t.Errorf("without room: %+v, %v", out, err)
		}
		for _, wait := range []pump.Wait{first, full} {
			if out, err := wait(t.Context()); err != nil || out.Taken != laneEvents {
				t.Errorf("%+v, %v", out, err)
			}
		}
		s.refuse = &Refusal{Status: 503, Code: "memory_full", Detail: "no memory"}
		wait, err := to.Submit(t.Context(), push(4))
		if err != nil {
			t.Fatal(err)
		}
		refused := new(api.Error)
		if _, err := wait(t.Context()); !errors.As(err, &refused) || refused.Code != "memory_full" {
			t.Errorf("a refusal: %v", err)
		}
		away := new(pump.AwayError)
		s.refuse = &Refusal{Status: 503, Code: api.CodeOwnerMoved, Detail: "it has been changed"}
		if wait, err = to.Submit(t.Context(), push(4)); err != nil {
			t.Fatal(err)
		}
		if _, err := wait(t.Context()); !errors.As(err, &away) || away.Code != api.CodeOwnerMoved {
			t.Errorf("a graph that has been changed, of which others may have taken some: %v", err)
		}
		s.gone = true
		if wait, err = to.Submit(t.Context(), push(5)); err != nil {
			t.Fatal(err)
		}
		if _, err := wait(t.Context()); !errors.As(err, &away) || away.Code != api.CodeOwnerUnreachable {
			t.Errorf("no answer: %v", err)
		}
		lanes.Close()
		if len(lanes.lanes) != 0 {
			t.Errorf("%d lanes are left", len(lanes.lanes))
		}
	})
}

// M48, M53: what several members have answered is one refusal with a row for each shard, and none where all have done
// it.
func TestM53AnswersBecomeOne(t *testing.T) {
	all := []Part{{Shards: []int{0, 2}}, {Shards: []int{1, 3}, Answer: Answer{Refusal: &Refusal{Status: 409,
		Code: "not_paused", Detail: "shard 3 is not paused",
		Rows: []api.ShardResult{{Shard: 1, Done: true}, {Shard: 3, Code: "not_paused", Detail: "not paused"}}}}}}
	refused := new(api.Error)
	if err := Refused(all, 4, nil); !errors.As(err, &refused) || refused.Status != 409 || refused.Code != "not_paused" {
		t.Fatalf("%v", err)
	}
	got, _ := refused.Extra["shards"].([]api.ShardResult)
	for n, done := range []bool{true, true, true, false} {
		if len(got) != 4 || got[n].Shard != n || got[n].Done != done {
			t.Errorf("%+v", got)
		}
	}
	if err := Refused(all, 4, func(code string) bool { return code == "not_paused" }); err != nil {
		t.Errorf("what is skipped counts as done: %v", err)
	}
	if err := Refused(all[:1], 4, nil); err != nil {
		t.Error(err)
	}
}
