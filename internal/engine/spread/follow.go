package spread

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/graphrun"
	"github.com/graphd/graphd/internal/graphrun/parts"
	"github.com/graphd/graphd/internal/watch"
)

const (
	// lookAgain is how often a subscription looks where its shards are, joinTime how long its beginning waits for
	// other members.
	lookAgain = 250 * time.Millisecond
	joinTime  = 2 * time.Second
)

// Watch subscribes a queue to all shards of a graph, wherever they run, and follows them as they move. since is where
// the watcher was, nil for one that is new. find is the graph as it is by then, nil when it is gone.
func (d *Desk) Watch(ctx context.Context, m *graphrun.Graph, q *watch.Queue, w api.Wanted, since api.Places,
	find func() *graphrun.Graph) (api.Subscription, error) {
	q.Follow(since)
	f := &follower{d: d, q: q, wanted: w, find: find, ways: map[string]*way{}}
	f.ctx, f.stop = context.WithCancel(d.life)
	for _, p := range parts.Split(m.ShardIDs(), d.owner) {
		if p.Member != nil {
			m.Overhear(q, p.Shards)
			continue
		}
		here := parts.Only(ctx, p.Shards)
		if since == nil {
			m.Watch(here, q)
		} else if err := m.WatchSince(here, q, since); err != nil {
			f.stop()
			return nil, err
		}
	}
	begun := make(chan struct{})
	f.all.Go(func() {
		f.look(since == nil)
		close(begun)
		lookOn(f.ctx, f.q, f.stop, f.look)
	})
	awaitBegun(ctx, begun)
	return &subscription{q, f}, nil
}

// subscription is a queue with who feeds it from other members.
type subscription struct {
	*watch.Queue
	by *follower
}

// Close implements [api.Subscription].
func (s *subscription) Close() {
	s.by.stop()
	s.Queue.Close()
	s.by.all.Wait()
}

// follower feeds the queue of one subscription from the members that have shards of its graph.
type follower struct {
	d      *Desk
	q      *watch.Queue
	wanted api.Wanted
	find   func() *graphrun.Graph
	ctx    context.Context
	stop   func()
	all    sync.WaitGroup
	ways   map[string]*way // by member; look's alone
}

// way is a subscription to one member.
type way struct {
	shards []int
	stop   func()
	done   chan struct{} // closed when it has ended
}

// lookOn looks again and again, until ctx or the subscription of the queue ends; then it calls stop.
func lookOn(ctx context.Context, q *watch.Queue, stop func(), look func(fresh bool)) {
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	for {
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
		if q.IsEnded() {
			stop()
			return
		}
		look(false)
	}
}

// awaitBegun waits until a subscription has begun at other members, for as long as it may.
func awaitBegun(ctx context.Context, begun <-chan struct{}) {
	wait := time.NewTimer(joinTime)
	defer wait.Stop()
	select {
	case <-begun:
	case <-wait.C:
	case <-ctx.Done():
	}
}

// look has a way to each member that has shards, for just those. fresh: nothing was heard of them before, and what
// there was is not missed.
func (f *follower) look(fresh bool) {
	m := f.find()
	if m == nil {
		return
	}
	want := map[string]*parts.Part{}
	all := parts.Split(m.ShardIDs(), f.d.owner)
	for i := range all {
		if all[i].Member != nil {
			want[all[i].Member.ID] = &all[i]
		}
	}
	for member, w := range f.ways {
		p := want[member]
		if p != nil && slices.Equal(p.Shards, w.shards) && !w.ended() {
			continue
		}
		w.stop()
		<-w.done // what it has read is in the queue
		delete(f.ways, member)
	}
	var opening sync.WaitGroup
	defer opening.Wait()
	for member, p := range want {
		if f.ways[member] != nil {
			continue
		}
		w := &way{shards: p.Shards, done: make(chan struct{})}
		ctx, stop := context.WithCancel(f.ctx)
		w.stop = stop
		f.ways[member] = w
		opened := make(chan struct{})
		f.all.Go(func() {
			defer stop()
			defer close(w.done)
			f.feed(ctx, m, p, fresh, opened)
		})
		opening.Go(func() { <-opened })
	}
}

func (w *way) ended() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// feed subscribes to the shards of one part and hands what comes to the queue, until that ends. opened is closed when
// it is known where the subscription begins, or that there is none.
func (f *follower) feed(ctx context.Context, m *graphrun.Graph, p *parts.Part, fresh bool, opened chan struct{}) {
	frames := f.open(ctx, m, p, fresh)
	close(opened)
	if frames == nil {
		return
	}
	defer frames.Close()
	for {
		frame, err := frames.Next(ctx)
		if err != nil {
			return // it is looked for again
		}
		f.q.Put(frame)
	}
}

// open subscribes to the shards of one part; nil where that is refused.
func (f *follower) open(ctx context.Context, m *graphrun.Graph, p *parts.Part, fresh bool) parts.Frames {
	ctx, cancel := context.WithCancel(ctx)
	late := time.AfterFunc(joinTime, cancel)
	watching := parts.Watching{Topics: f.wanted.Topics, Sample: f.wanted.Sample}
	if !fresh {
		watching.Since, watching.Again = f.q.Last(p.Shards).String(), true
	}
	args, err := json.Marshal(&watching)
	if err != nil {
		cancel()
		return nil
	}
	call := &parts.Call{Tenant: m.Ref().Tenant, Graph: m.Ref().Name, Of: m.Shards(), Shards: p.Shards,
		Verb: parts.WatchVerb, Args: args}
	answer, frames, err := f.d.members.Follow(ctx, p.Member, call)
	var text string
	if err != nil || frames == nil || !late.Stop() || json.Unmarshal(answer.Value, &text) != nil {
		if frames != nil {
			frames.Close()
		}
		cancel()
		return nil
	}
	if at, ok := api.ParsePlaces(text); ok {
		f.q.Begin(at)
	}
	return &until{frames, cancel}
}

// until is frames with what is to be called at their end.
type until struct {
	parts.Frames
	end func()
}

func (u *until) Close() {
	u.Frames.Close()
	u.end()
}

// AnswerWatch subscribes another member to shards that run here.
func (d *Desk) AnswerWatch(ctx context.Context, m *graphrun.Graph, call *parts.Call) (*parts.Answer, parts.Frames) {
	var watching parts.Watching
	if !call.Fits(m.Shards()) || json.Unmarshal(call.Args, &watching) != nil {
		return &parts.Answer{Refusal: moved()}, nil
	}
	q, err := watch.NewQueue(watching.Topics, watching.Sample, false)
	if err != nil {
		return &parts.Answer{Refusal: parts.RefusalOf(err)}, nil
	}
	q.ForMember()
	at := api.Places{}
	if watching.Since != "" {
		if at, err = watch.ParsePlaces(watching.Since); err != nil {
			return &parts.Answer{Refusal: parts.RefusalOf(err)}, nil
		}
	}
	ctx = parts.Only(ctx, call.Shards)
	if watching.Again {
		err = m.WatchSince(ctx, q, at)
	} else {
		m.Watch(ctx, q)
	}
	if err != nil {
		return &parts.Answer{Refusal: parts.RefusalOf(err)}, nil
	}
	text, err := json.Marshal(q.Places())
	if err != nil {
		q.Close()
		return &parts.Answer{Refusal: parts.RefusalOf(err)}, nil
	}
	return &parts.Answer{Value: text}, &own{q}
}

// own are the frames of a subscription here.
type own struct{ *watch.Queue }

func (o *own) Next(ctx context.Context) (*api.Frame, error) { return o.Queue.Next(ctx) }
