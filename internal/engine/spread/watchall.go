package spread

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/graphrun/parts"
	"github.com/graphd/graphd/internal/lease"
	"github.com/graphd/graphd/internal/watch"
)

// attachTime bounds how long a member takes to attach a watcher of all graphs: less than who has asked waits.
const attachTime = joinTime / 2

// WatchAll is a subscription to all graphs of a tenant, wherever they run: here is that to what runs here, and each
// other member is subscribed to for what runs there, for as long as it is there. Where something may have been missed
// of one, since it was not reached or has only been found, there is a gap that names no graph.
func (d *Desk) WatchAll(ctx context.Context, tenant string, q *watch.Queue, topics []string,
	here func() api.Subscription) api.Subscription {
	if d.members == nil {
		return here()
	}
	q.Skip(func(f *api.Frame) bool {
		if !idle(f) {
			return false
		}
		_, other := d.owner(checkpoint.ID{Tenant: tenant, Graph: f.Graph, Shard: f.Shard})
		return other
	})
	a := &audience{d: d, tenant: tenant, q: q, ways: map[string]*line{}}
	a.args, _ = json.Marshal(&parts.Watching{Topics: topics}) // words, which can be encoded
	a.ctx, a.stop = context.WithCancel(d.life)
	begun := make(chan struct{})
	a.all.Go(func() {
		defer a.join()
		a.look(true)
		close(begun)
		lookOn(a.ctx, a.q, a.stop, a.look)
	})
	sub := here()
	awaitBegun(ctx, begun)
	return &everything{sub, a}
}

// idle says that a frame is a member's word that it stands by for what another one runs or is about to: that one tells
// of it, and may have before.
func idle(f *api.Frame) bool {
	return f.Type == "health" && f.Reason != nil && f.Reason.Code == lease.CodeElsewhere
}

// everything is a subscription to what runs here, with who feeds it from other members.
type everything struct {
	api.Subscription
	by *audience
}

// Close implements [api.Subscription].
func (s *everything) Close() {
	s.by.stop()
	s.Subscription.Close()
	s.by.all.Wait()
}

// audience feeds the queue of one watcher of all graphs from the other members.
type audience struct {
	d      *Desk
	tenant string
	q      *watch.Queue
	args   json.RawMessage
	ctx    context.Context
	stop   func()
	all    sync.WaitGroup
	ways   map[string]*line // by member; look's alone
}

// line is a subscription to one member.
type line struct {
	address string
	stop    func()
	all     sync.WaitGroup
}

// look has a line to each member that is there. fresh: the watcher has just begun, and has missed nothing.
func (a *audience) look(fresh bool) {
	there := map[string]*checkpoint.Member{}
	others := a.d.who.Others()
	for i := range others {
		there[others[i].ID] = &others[i]
	}
	for id, l := range a.ways {
		if m := there[id]; m == nil || m.Peer != l.address {
			l.stop()
			l.all.Wait()
			delete(a.ways, id)
			a.q.Put(gap()) // what it said last may not have come
		}
	}
	var opening sync.WaitGroup
	defer opening.Wait()
	for id, m := range there {
		if a.ways[id] != nil {
			continue
		}
		ctx, stop := context.WithCancel(a.ctx)
		l := &line{address: m.Peer, stop: stop}
		a.ways[id] = l
		opened := make(chan struct{})
		l.all.Go(func() {
			defer stop()
			a.keep(ctx, m, fresh, opened)
		})
		opening.Go(func() { <-opened })
	}
}

// join waits for the lines, which end with the subscription.
func (a *audience) join() {
	for _, l := range a.ways {
		l.all.Wait()
	}
}

// keep hands what a member says to the queue, and subscribes again when that ends, until ctx does. opened is closed
// after the first try.
func (a *audience) keep(ctx context.Context, m *checkpoint.Member, fresh bool, opened chan struct{}) {
	again := time.NewTimer(0)
	defer again.Stop()
	told := false // that something of it may be missed
	for ctx.Err() == nil {
		select {
		case <-again.C:
		case <-ctx.Done():
		}
		frames := a.open(ctx, m)
		if frames == nil && !told || frames != nil && !fresh {
			a.q.Put(gap())
		}
		fresh = false
		if opened != nil {
			close(opened)
			opened = nil
		}
		told = frames == nil
		if frames != nil {
			a.pass(ctx, frames)
			frames.Close()
		}
		again.Reset(lookAgain)
	}
}

// gap says that something of some graphs may have been missed.
func gap() *api.Frame { return &api.Frame{Type: "gap"} }

// open subscribes to a member; nil where it does not answer, or refuses.
func (a *audience) open(ctx context.Context, m *checkpoint.Member) parts.Frames {
	ctx, cancel := context.WithCancel(ctx)
	late := time.AfterFunc(joinTime, cancel)
	_, frames, err := a.d.members.Follow(ctx, m, &parts.Call{Tenant: a.tenant, Verb: parts.WatchVerb, Args: a.args})
	if err != nil || frames == nil || !late.Stop() {
		if frames != nil {
			frames.Close()
		}
		cancel()
		return nil
	}
	return &until{frames, cancel}
}

// pass hands frames of a member to the queue, until there are no more.
func (a *audience) pass(ctx context.Context, frames parts.Frames) {
	for {
		f, err := frames.Next(ctx)
		if err != nil {
			return
		}
		if !idle(f) {
			a.q.Put(f)
		}
	}
}

// AnswerWatchAll subscribes another member to what runs here of a tenant; here attaches a watcher to it.
func (d *Desk) AnswerWatchAll(ctx context.Context, call *parts.Call,
	here func(ctx context.Context, tenant string, q *watch.Queue) api.Subscription) (*parts.Answer, parts.Frames) {
	var watching parts.Watching
	if call.Verb != parts.WatchVerb || json.Unmarshal(call.Args, &watching) != nil {
		return &parts.Answer{Refusal: unknownVerb(call.Verb)}, nil
	}
	q, err := watch.NewQueue(watching.Topics, 0, true)
	if err != nil {
		return &parts.Answer{Refusal: parts.RefusalOf(err)}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, attachTime)
	defer cancel()
	return &parts.Answer{}, here(ctx, call.Tenant, q)
}
