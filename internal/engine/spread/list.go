package spread

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/graphrun"
	"github.com/graphd/graphd/internal/graphrun/parts"
)

// listVerb asks a member for the summaries of shards of many graphs: the call names no graph, its arguments are a list
// of [listed], and the answer's value has the summaries of each, in the order of its shards; none of a graph that is
// another there.
const listVerb = "list"

// maxListed is how many shards a member is asked for at one time: an answer of some megabytes, where a summary takes
// a few KiB, and far below what an answer may have.
const maxListed = 256

// listed are the shards of one graph that a member is asked for.
type listed struct {
	Graph  string `json:"graph"`
	Of     int    `json:"of"`
	Shards []int  `json:"shards"`
}

// List shows the graphs of a tenant as they are, wherever they run. Every member is asked for all that it runs; who
// does not answer within a summary's time is named, and what it runs is shown as it is known here.
func (d *Desk) List(ctx context.Context, tenant string, graphs []*graphrun.Graph) api.GraphList {
	list := api.GraphList{Items: make([]api.GraphSummary, len(graphs))}
	if d.members == nil {
		for i, m := range graphs {
			list.Items[i] = m.Summary(ctx)
		}
		return list
	}
	ctx, cancel := context.WithTimeout(ctx, summaryTime)
	defer cancel()
	all := make([][]parts.Part, len(graphs))
	var asks []*asking
	at := map[string]*asking{}
	for i, m := range graphs {
		ids := m.ShardIDs()
		all[i] = parts.Split(ids, d.owner)
		for k := range all[i] {
			p := &all[i][k]
			if p.Member == nil {
				continue
			}
			a := at[p.Member.ID]
			if a == nil {
				a = &asking{member: *p.Member}
				at[p.Member.ID], asks = a, append(asks, a)
			}
			a.add(&listed{Graph: m.Ref().Name, Of: len(ids), Shards: p.Shards}, p)
		}
	}
	var wait sync.WaitGroup
	for _, a := range asks {
		wait.Go(func() { d.askList(ctx, tenant, a) })
	}
	wait.Wait()
	for _, a := range asks {
		if a.refusal != nil {
			list.Missing = append(list.Missing, a.missing())
		}
	}
	slices.SortFunc(list.Missing, func(a, b api.Missing) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Member, b.Member))
	})
	for i, m := range graphs {
		list.Items[i] = shown(ctx, m, all[i])
	}
	return list
}

// asking is what one member is asked for.
type asking struct {
	member  checkpoint.Member
	units   []*listed
	parts   []*parts.Part  // where the answers belong
	from    int            // those before were answered
	refusal *parts.Refusal // why the others were not
}

func (a *asking) add(u *listed, p *parts.Part) {
	a.units, a.parts = append(a.units, u), append(a.parts, p)
}

// missing names the member with the graphs that it has not told of.
func (a *asking) missing() api.Missing {
	m := api.Missing{Member: a.member.ID, Name: cmp.Or(a.member.Name, a.member.ID), Address: a.member.Address,
		Code: a.refusal.Code, Detail: a.refusal.Detail}
	for _, u := range a.units[a.from:] {
		m.Graphs = append(m.Graphs, u.Graph)
	}
	return m
}

// askList asks a member, some shards at a time, until it has told of all or does not answer.
func (d *Desk) askList(ctx context.Context, tenant string, a *asking) {
	for a.from < len(a.units) {
		end, shards := a.from, 0
		for end < len(a.units) && (shards == 0 || shards+len(a.units[end].Shards) <= maxListed) {
			shards += len(a.units[end].Shards)
			end++
		}
		told, refusal := d.askSome(ctx, tenant, &a.member, a.units[a.from:end])
		for k := a.from; k < end; k++ {
			p := a.parts[k]
			if refusal == nil && len(told[k-a.from]) == len(p.Shards) {
				p.Answer.Shards = told[k-a.from]
			}
		}
		if refusal != nil {
			a.refusal = refusal
			break
		}
		a.from = end
	}
	if a.refusal == nil {
		return
	}
	for _, p := range a.parts[a.from:] {
		p.Answer.Refusal = a.refusal
	}
}

func (d *Desk) askSome(ctx context.Context, tenant string, member *checkpoint.Member, units []*listed) (
	told [][]api.GraphSummary, refused *parts.Refusal) {
	args, err := json.Marshal(units)
	if err != nil {
		return nil, parts.RefusalOf(err)
	}
	answer, begun, err := d.members.Ask(ctx, member, &parts.Call{Tenant: tenant, Verb: listVerb, Args: args})
	switch {
	case errors.Is(err, parts.ErrOtherRelease):
		return nil, unknownVerb(listVerb)
	case err != nil:
		return nil, untold(member, begun)
	case answer.Refusal != nil && answer.Refusal.Code == api.CodeGraphNotFound: // which has been asked for none
		return nil, unknownVerb(listVerb)
	case answer.Refusal != nil:
		return nil, answer.Refusal
	}
	if err := json.Unmarshal(answer.Value, &told); err != nil || len(told) != len(units) {
		return nil, untold(member, true)
	}
	return told, nil
}

// untold is the refusal of a member that has not said how what it runs stands.
func untold(m *checkpoint.Member, begun bool) *parts.Refusal {
	r := parts.Unreached(m, begun)
	r.Detail = fmt.Sprintf("daemon %s, which runs it or is about to, cannot be reached: see whether it runs, and the "+
		"log of the one that was asked", r.Extra["owner"])
	if begun {
		r.Detail = fmt.Sprintf("daemon %s, which runs it or is about to, has not said in time how it stands",
			r.Extra["owner"])
	}
	return r
}

// shown is a graph of which parts have answered, and others have not.
func shown(ctx context.Context, m *graphrun.Graph, all []parts.Part) api.GraphSummary {
	if len(all) == 1 && all[0].Member == nil {
		return m.Summary(ctx)
	}
	if m.Shards() > 1 {
		return whole(m, all)
	}
	a := &all[0].Answer
	if len(a.Shards) == 1 {
		return a.Shards[0]
	}
	s := m.Summary(ctx)
	if a.Refusal != nil {
		s.HealthReason = api.ReasonOf(a.Refusal.Code, a.Refusal.Detail)
	}
	return s
}

// AnswerList tells another member of shards that run here, of graphs that find finds.
func (d *Desk) AnswerList(_ context.Context, call *parts.Call, find func(api.Ref) (*graphrun.Graph, error)) (
	a *parts.Answer) {
	var units []listed
	if call.Verb != listVerb || json.Unmarshal(call.Args, &units) != nil {
		return &parts.Answer{Refusal: unknownVerb(call.Verb)}
	}
	all := make([][]api.GraphSummary, len(units))
	for i := range units {
		u := &units[i]
		m, err := find(api.Ref{Tenant: call.Tenant, Name: u.Graph})
		fits := parts.Call{Of: u.Of, Shards: u.Shards}
		if err != nil || !fits.Fits(m.Shards()) {
			continue // it has just been changed
		}
		for _, n := range u.Shards {
			all[i] = append(all[i], m.Shard(n))
		}
	}
	text, err := json.Marshal(all)
	return &parts.Answer{Value: text, Refusal: parts.RefusalOf(err)}
}
