package parts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
)

const (
	// perCall bounds the events of one call, laneEvents those that wait for one.
	perCall, laneEvents = 1024, 4096
	// grace is how much longer than the pushes of a call may take its answer is waited for.
	grace = 2 * time.Second
)

// Lanes are the ways of pushes to the shards at other members. The zero value is not for use: fill in the fields.
type Lanes struct {
	Members Members
	// Patience is how long a push waits whose caller sets no bound.
	Patience time.Duration

	mu      sync.Mutex
	lanes   map[lane]*Lane
	sending sync.WaitGroup
}

// lane names one: what goes to one input at one member keeps its order.
type lane struct {
	member string
	graph  api.Ref
	input  int
}

// Lane is the way of the pushes to one input to one member: they go in their order, one call at a time, and what has
// come while a call is under way is in the next.
type Lane struct {
	of   *Lanes
	name lane

	queue  []*sent
	events int // in the queue
	room   chan struct{}
	busy   bool
}

// sent is a push on its way.
type sent struct {
	push   Push
	member checkpoint.Member
	of     int
	out    pump.PushOutcome
	err    error
	done   chan struct{}
}

// Away is where pushes to an input go for a part of its graph's shards, of which there are so many.
func (l *Lanes) Away(g api.Ref, input, of int, p *Part) pump.Away {
	return pump.Away{Shards: p.Shards,
		Submit: func(ctx context.Context, events []boundary.Event) (pump.Wait, error) {
			s := &sent{push: PushOf(ctx, p.Shards, events, l.Patience), member: *p.Member, of: of,
				done: make(chan struct{})}
			if !l.enter(ctx, lane{p.Member.ID, g, input}, s) {
				return func(context.Context) (pump.PushOutcome, error) { return pump.PushOutcome{Full: true}, nil }, nil
			}
			// The call has a bound of its own: what it has done is to be told in any case.
			return func(context.Context) (pump.PushOutcome, error) { <-s.done; return s.out, s.err }, nil
		}}
}

// enter queues a push, as soon as there is room; false where ctx is done before.
func (l *Lanes) enter(ctx context.Context, name lane, s *sent) bool {
	for {
		l.mu.Lock()
		at := l.lanes[name]
		if at == nil {
			if l.lanes == nil {
				l.lanes = map[lane]*Lane{}
			}
			at = &Lane{of: l, name: name, room: make(chan struct{})}
			l.lanes[name] = at
		}
		if at.events == 0 || at.events+len(s.push.Events) <= laneEvents {
			at.queue, at.events = append(at.queue, s), at.events+len(s.push.Events)
			if !at.busy {
				at.busy = true
				l.sending.Go(at.send)
			}
			l.mu.Unlock()
			return true
		}
		room := at.room
		l.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return false
		}
	}
}

// next takes what goes into the next call; none where nothing waits, and then the lane is gone.
func (a *Lane) next() (batch []*sent) {
	a.of.mu.Lock()
	defer a.of.mu.Unlock()
	n := 0
	for len(a.queue) > 0 && (n == 0 || n+len(a.queue[0].push.Events) <= perCall) {
		s := a.queue[0]
		if len(batch) > 0 && (s.of != batch[0].of || s.member.Peer != batch[0].member.Peer) {
			break // the graph has another number of shards, or the member is another process
		}
		n += len(s.push.Events)
		batch, a.queue = append(batch, s), a.queue[1:]
	}
	a.events -= n
	close(a.room)
	a.room = make(chan struct{})
	if len(batch) == 0 {
		a.busy = false
		delete(a.of.lanes, a.name)
	}
	return batch
}

// send sends what waits, until nothing does.
func (a *Lane) send() {
	for batch := a.next(); len(batch) > 0; batch = a.next() {
		a.call(batch)
		for _, s := range batch {
			close(s.done)
		}
	}
}

// call makes one call of several pushes.
func (a *Lane) call(batch []*sent) {
	args, longest := Pushes{Input: a.name.input}, time.Duration(0)
	asked := map[int]bool{}
	call := &Call{Tenant: a.name.graph.Tenant, Graph: a.name.graph.Name, Of: batch[0].of, Verb: PushVerb}
	for _, s := range batch {
		args.Items = append(args.Items, s.push)
		longest = max(longest, s.push.Left)
		for _, n := range s.push.Shards {
			if !asked[n] {
				asked[n] = true
				call.Shards = append(call.Shards, n)
			}
		}
	}
	// Whoever pushes may have gone: what is on its way arrives, and an Idempotency-Key may ask for the answer.
	ctx, cancel := context.WithTimeout(context.Background(), longest+grace)
	defer cancel()
	var answer *Answer
	var begun bool
	var pushed []Pushed
	text, err := json.Marshal(&args)
	if err == nil {
		call.Args = text
		answer, begun, err = a.of.Members.Ask(ctx, &batch[0].member, call)
	}
	switch {
	case err != nil:
	case answer.Refusal != nil:
		err = answer.Refusal.Error()
	default:
		if err = json.Unmarshal(answer.Value, &pushed); err == nil && len(pushed) != len(batch) {
			err = fmt.Errorf("%d answers to %d pushes", len(pushed), len(batch))
		}
	}
	for i, s := range batch {
		switch {
		case err == nil:
			s.out, s.err = pushed[i].Outcome()
			s.err = ofMember(s.err)
		case answer != nil && answer.Refusal != nil && answer.Refusal.Code == api.CodeOwnerMoved:
			// Of its shards alone: what others have taken of the same push is to be told.
			s.err = &pump.AwayError{Code: answer.Refusal.Code, Detail: answer.Refusal.Detail}
		case answer != nil && answer.Refusal != nil:
			s.err = ofMember(err)
		default:
			r := Unreached(&s.member, begun)
			s.err = &pump.AwayError{Code: r.Code, Detail: r.Detail}
		}
	}
}

// ofMember is a refusal as that of one member's part: of the same push others may have taken theirs.
func ofMember(err error) error {
	if e, ok := errors.AsType[*api.Error](err); ok {
		return &pump.AwayError{Code: e.Code, Detail: e.Detail, Refused: e}
	}
	return err
}

// Close waits until nothing is on its way any more.
func (l *Lanes) Close() { l.sending.Wait() }
