// Package spread answers for graphs whose shards run at several members (M53). Start at [Desk].
package spread

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/engine/reasons"
	"github.com/graphd/graphd/internal/graphrun"
	"github.com/graphd/graphd/internal/graphrun/parts"
	"github.com/graphd/graphd/internal/graphrun/told"
	"github.com/graphd/graphd/internal/reactor"
)

// Desk asks other members for the shards that run there, and answers them for those that run here. The zero value
// asks nobody: each graph is what runs of it here. After Open it is safe for concurrent use.
type Desk struct {
	members parts.Members
	who     Roll
	life    context.Context // until when what is started here runs
	lanes   parts.Lanes
	// Local is what this daemon knows beside its graphs.
	Local reasons.Local
}

// Roll knows the members of a store.
type Roll interface {
	// Likely is the member that has a shard or is about to, and takes requests from others, if that is another one.
	Likely(id checkpoint.ID) (checkpoint.Member, bool)
	// Others are the other members that live and take requests.
	Others() []checkpoint.Member
	// Hold is [members.Members.Hold].
	Hold(ctx context.Context, id checkpoint.ID, claim string) (held context.Context, release func(), err error)
}

// Open has members asked. What is started here runs until life ends; a push whose caller sets no bound waits for as
// long as patience says.
func (d *Desk) Open(life context.Context, members parts.Members, who Roll, patience time.Duration) {
	if members != nil {
		members = &present{members, who}
	}
	d.life, d.members, d.who = life, members, who
	d.lanes.Members, d.lanes.Patience = members, patience
}

// owner is the other member that has a shard or is about to, if there is one that can be asked.
func (d *Desk) owner(id checkpoint.ID) (checkpoint.Member, bool) { return d.who.Likely(id) }

// Close waits for what is on its way to others.
func (d *Desk) Close() { d.lanes.Close() }

// Apart says that some of a graph's shards run at other members, which can be asked.
func (d *Desk) Apart(m *graphrun.Graph) bool {
	if d.members == nil {
		return false
	}
	ids := m.ShardIDs()
	return len(ids) > 1 && slices.ContainsFunc(ids, func(id checkpoint.ID) bool {
		_, other := d.owner(id)
		return other
	})
}

// Spreads says that a graph's shards can run at other members, now or later.
func (d *Desk) Spreads(m *graphrun.Graph) bool { return d.members != nil && m.Shards() > 1 }

// Away are the members that have shards of a graph which do not run here, as pushes to an input reach them.
func (d *Desk) Away(g api.Ref, shards []checkpoint.ID, input int) (all []pump.Away) {
	if d.members == nil {
		return nil
	}
	split := parts.Split(shards, d.owner)
	for i := range split {
		if p := &split[i]; p.Member != nil {
			all = append(all, d.lanes.Away(g, input, len(shards), p))
		}
	}
	return all
}

// callTimeout bounds a call whose caller set no deadline, and whose member is there all the time.
const callTimeout = 30 * time.Second

// ask has everybody who has one of the shards carry a verb out, at one time; shards is nil for all.
func (d *Desk) ask(ctx context.Context, m *graphrun.Graph, shards []int, verb string, args any) ([]parts.Part, error) {
	text, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	ids := m.ShardIDs()
	of := len(ids)
	if shards != nil {
		ids = slices.DeleteFunc(ids, func(id checkpoint.ID) bool { return !slices.Contains(shards, id.Shard) })
	}
	all := parts.Split(ids, d.owner)
	var wait sync.WaitGroup
	for i := range all {
		p := &all[i]
		call := &parts.Call{Tenant: m.Ref().Tenant, Graph: m.Ref().Name, Of: of, Shards: p.Shards, Verb: verb,
			Args: text}
		wait.Go(func() {
			if p.Member == nil {
				p.Answer = *d.Answer(ctx, m, call)
				return
			}
			a, begun, err := d.members.Ask(ctx, p.Member, call)
			switch {
			case err != nil:
				p.Answer = parts.Answer{Refusal: parts.Unreached(p.Member, begun)}
			case len(a.Shards) > 0 && len(a.Shards) != len(p.Shards):
				p.Answer = parts.Answer{Refusal: moved()}
			default:
				p.Answer = *a
			}
		})
	}
	wait.Wait()
	return all, nil
}

// moved refuses what was asked of a graph that is another by now.
func moved() *parts.Refusal {
	return &parts.Refusal{Status: http.StatusServiceUnavailable, Code: api.CodeOwnerMoved,
		Detail: "the graph has just been changed or has moved; try again"}
}

// whole is the summary of a graph of what the parts have told. A shard that nobody tells of is as it is known here.
func whole(m *graphrun.Graph, all []parts.Part) api.GraphSummary {
	shards := make([]api.GraphSummary, m.Shards())
	for i := range all {
		for k, n := range all[i].Shards {
			if told := all[i].Answer.Shards; len(told) > 0 {
				shards[n] = told[k]
				continue
			}
			shards[n] = m.Shard(n)
			if r := all[i].Answer.Refusal; r != nil {
				shards[n].HealthReason = api.ReasonOf(r.Code, r.Detail)
			}
		}
	}
	sum := m.Whole(shards)
	numbers := make([][]int, len(all))
	for i := range all {
		numbers[i] = all[i].Shards
	}
	told.Across(m.Unit().Spec, &sum, shards, numbers)
	return sum
}

// summaryTime bounds how long a summary waits for another member.
const summaryTime = 2 * time.Second

// Summary shows a graph as it is, wherever its shards run.
func (d *Desk) Summary(ctx context.Context, m *graphrun.Graph) (api.GraphSummary, error) {
	ctx, cancel := context.WithTimeout(ctx, summaryTime)
	defer cancel()
	all, err := d.ask(ctx, m, nil, "summary", nil)
	if err != nil {
		return api.GraphSummary{}, err
	}
	return whole(m, all), nil
}

const (
	// upTime bounds how long an answer waits for the shards of a graph that was applied to be taken, lookUp how often
	// it is looked.
	upTime = 5 * time.Second
	lookUp = 100 * time.Millisecond
)

// Settled shows a graph that was just applied, as soon as its members have taken its shards.
func (d *Desk) Settled(ctx context.Context, m *graphrun.Graph) (s api.GraphSummary) {
	ctx, cancel := context.WithTimeout(ctx, upTime)
	defer cancel()
	look := time.NewTicker(lookUp)
	defer look.Stop()
	for {
		all, err := d.Summary(ctx, m)
		if err != nil {
			return m.Summary(ctx)
		}
		if s = all; s.Health != string(reactor.HealthStandby) && s.Health != string(reactor.HealthStarting) {
			return s
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return s
		}
	}
}

// Shard is the summary of one shard, wherever it runs.
func (d *Desk) Shard(ctx context.Context, m *graphrun.Graph, shard int) (api.GraphSummary, error) {
	ctx, cancel := context.WithTimeout(ctx, summaryTime)
	defer cancel()
	all, err := d.ask(ctx, m, []int{shard}, "summary", nil)
	if err != nil {
		return api.GraphSummary{}, err
	}
	a := &all[0].Answer
	if len(a.Shards) == 0 {
		return api.GraphSummary{}, a.Refusal.Error()
	}
	return a.Shards[0], nil
}

// Steer has all shards carry a command out that answers with the graph's summary.
func (d *Desk) Steer(ctx context.Context, m *graphrun.Graph, verb string, args any) (api.GraphSummary, error) {
	all, err := d.ask(ctx, m, nil, verb, args)
	if err == nil {
		err = parts.Refused(all, m.Shards(), nil)
	}
	if err != nil {
		return api.GraphSummary{}, err
	}
	return whole(m, all), nil
}

// one has the owner of one shard do something, and reads its answer.
func one[T any](ctx context.Context, d *Desk, m *graphrun.Graph, shard int, verb string, args any) (
	value T, err error) {
	all, err := d.ask(ctx, m, []int{shard}, verb, args)
	if err != nil {
		return value, err
	}
	a := &all[0].Answer
	if err := a.Refusal.Error(); err != nil {
		return value, err
	}
	return value, json.Unmarshal(a.Value, &value)
}
