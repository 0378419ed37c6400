// Package reasons finds what package why puts into words: the record of an epoch and what is known of what it gave, and
// what the shards of a graph know of why nothing comes.
package reasons

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/graphrun"
	"github.com/graphd/graphd/internal/graphrun/lives"
	"github.com/graphd/graphd/internal/why"
)

// Daemon is what is asked for beside the graph. *engine.Engine implements it.
type Daemon interface {
	// Shard is the summary of one shard of a graph, wherever it runs.
	Shard(ctx context.Context, g api.Ref, shard int) (api.GraphSummary, error)
	// KnownLetters are dead letters, and why those that are on their way may be missing.
	KnownLetters(ctx context.Context, g api.Ref, q api.LetterQuery) (page api.LetterPage, missed, err error)
	Revisions(ctx context.Context, g api.Ref) (api.Page[api.Revision], error)
	// Waits says whether what an epoch has given to an output waits for its sink.
	Waits(ctx context.Context, g api.Ref, q *Waiting) (why.Waited, error)
}

// Waiting asks after what an epoch of a shard has given to an output, by its place in the declaration.
type Waiting struct {
	Shard       int   `json:"shard"`
	Output      int   `json:"output"`
	Incarnation int64 `json:"incarnation"`
	Epoch       int64 `json:"epoch"`
}

const (
	// mostLooked bounds the records that are looked through for a firing id, a page at a time.
	mostLooked, looked = 10_000, 500
	// mostBefore bounds those of before an epoch that are looked at for the age of what it read.
	mostBefore = 200
	// mostPages bounds the pages of dead letters that are looked through, each of some thousands.
	mostPages = 5
)

// Picture is what a graph is made of; one whose declaration does not compile has none.
func Picture(m *graphrun.Graph) (*why.Picture, error) {
	plan, err := m.Plan()
	if err != nil {
		return nil, err
	}
	return why.Of(m.Ref().Name, m.Unit().Spec, plan)
}

// Why tells why an epoch ran, and what has become of what it gave.
func Why(ctx context.Context, d Daemon, m *graphrun.Graph, q *api.WhyQuery) (w api.Why, err error) {
	p, err := Picture(m)
	if err != nil {
		return w, err
	}
	a := &asking{d: d, m: m, shards: map[int]*stands{}}
	shard, epoch, err := a.which(ctx, q)
	if err != nil {
		return w, err
	}
	f, err := m.Firing(ctx, shard, epoch)
	if err != nil {
		return w, err
	}
	stands := a.shard(ctx, shard)
	x := &why.Facts{Firing: &f, Stable: a.stable(ctx, shard), Summary: &stands.GraphSummary, Untold: stands.untold}
	if x.Before, x.Across, err = before(ctx, m, &f, p.Shares()); err != nil {
		return w, err
	}
	if x.Letters, x.Missed, err = a.letters(ctx, &f); err != nil {
		return w, err
	}
	if x.Revision, x.Other, err = a.revision(ctx, &f, x.Summary); err != nil {
		return w, err
	}
	x.Waits = func(output int) why.Waited {
		said, err := d.Waits(ctx, m.Ref(), &Waiting{Shard: shard, Output: output, Incarnation: f.Incarnation,
			Epoch: f.Epoch})
		if err != nil { // it is not known, which is said
			return why.Waited{}
		}
		return said
	}
	return p.Tell(x), nil
}

// asking is one question.
type asking struct {
	d      Daemon
	m      *graphrun.Graph
	shards map[int]*stands
}

// stands is how a shard stands, and why that is not known; "" where it is.
type stands struct {
	api.GraphSummary
	untold string
}

// shard is how a shard stands; nothing is known of one that went, or whose member does not answer.
func (a *asking) shard(ctx context.Context, n int) *stands {
	if s := a.shards[n]; s != nil {
		return s
	}
	s := new(stands)
	var err error
	if s.GraphSummary, err = a.d.Shard(ctx, a.m.Ref(), n); err != nil {
		s.GraphSummary, s.untold = api.GraphSummary{}, detail(err)
	}
	a.shards[n] = s
	return s
}

// stable says of the outputs of a shard whether their firing ids have no incarnation.
func (a *asking) stable(ctx context.Context, shard int) func(output int) bool {
	journal, outputs := a.m.Unit().Spec.Durability.Mode == "journal", a.shard(ctx, shard).Outputs
	return func(i int) bool { return journal || i < len(outputs) && outputs[i].Path != "direct" }
}

// which is the epoch that a question means.
func (a *asking) which(ctx context.Context, q *api.WhyQuery) (shard int, epoch int64, err error) {
	if q.Shard != nil {
		shard = *q.Shard
	}
	if q.Epoch != nil {
		return shard, *q.Epoch, nil
	}
	list := api.Query{Key: q.Key, Shard: q.Shard, Limit: 1}
	if q.FiringID != "" {
		list.Limit = looked
	}
	for n := 0; n < mostLooked; {
		page, err := a.m.Firings(ctx, list)
		if err != nil {
			return 0, 0, err
		}
		for i := range page.Items {
			if f := &page.Items[i]; q.FiringID == "" || a.gave(ctx, f, q.FiringID) {
				return f.Shard, f.Epoch, nil
			}
		}
		if n += len(page.Items); page.Next == "" || q.FiringID == "" {
			break
		}
		list.Before = page.Next
	}
	return 0, 0, notFound(a.m.Ref().Name, q)
}

func notFound(graph string, q *api.WhyQuery) error {
	detail := "the graph has not fired, or its history keeps nothing; 'graphd why-not " + graph + "' says what " +
		"stands in the way"
	switch {
	case q.FiringID != "":
		detail = fmt.Sprintf("no epoch in the history of %s has given a value under the id %s: it is another "+
			"graph's, or has left the history (history.keep)", graph, q.FiringID)
	case q.Key != "":
		detail = "no epoch of this key is in the history; 'graphd why-not " + graph + " --key KEY' says what " +
			"stands in the way"
	}
	return &api.Error{Status: http.StatusNotFound, Code: "firing_not_found", Detail: detail}
}

// gave says that an epoch has given a value under a firing id.
func (a *asking) gave(ctx context.Context, f *api.Firing, id string) bool {
	instance, err := uuid.Parse(a.shard(ctx, f.Shard).Instance)
	if err != nil {
		return false
	}
	stable := a.stable(ctx, f.Shard)
	for i := range a.m.Unit().Spec.Outputs {
		name := a.m.Unit().Spec.Outputs[i].Name
		if _, there := f.Outputs[name]; there && why.FiringID(instance, f, name, stable(i)) == id {
			return true
		}
	}
	return false
}

// before are the records of the same key from before an epoch, where its shard is one that there is, and where inputs
// are shared by the keys those of all keys.
func before(ctx context.Context, m *graphrun.Graph, f *api.FiringDetail, shares bool) (own, all []api.FiringDetail,
	err error) {
	shards, key, err := m.Lives(ctx, string(f.Key))
	if err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(shards, func(s *lives.Shard) bool { return s.Number() == f.Shard })
	if i < 0 {
		return nil, nil, nil
	}
	at := checkpoint.FiringCursor(checkpoint.FiringPlace{Shard: f.Shard, Incarnation: f.Incarnation, Epoch: f.Epoch})
	if own, err = shards[i].History().Details(ctx, at, key, mostBefore); err == nil && shares && key != "" {
		all, err = shards[i].History().Details(ctx, at, "", mostBefore)
	}
	return own, all, err
}

// detail is what an error says to a caller.
func detail(err error) string {
	if refusal, ok := errors.AsType[*api.Error](err); ok {
		return refusal.Detail
	}
	return err.Error()
}

// letters are the dead letters of what an epoch gave, and why there may be more that are not known; "" where there are
// none.
func (a *asking) letters(ctx context.Context, f *api.FiringDetail) (all []api.DeadLetter, more string, err error) {
	if len(f.Outputs) == 0 {
		return nil, "", nil
	}
	q := api.LetterQuery{Limit: mostBefore,
		LetterChoice: api.LetterChoice{Stage: "sink", Where: fmt.Sprintf("epoch == %d", f.Epoch)}}
	if string(f.Key) != "null" {
		q.Key = string(f.Key)
	}
	for range mostPages {
		page, missed, err := a.d.KnownLetters(ctx, a.m.Ref(), q)
		if err != nil {
			return nil, "", err
		}
		if missed != nil {
			// Where a member does not answer the others have: of what its shards gave nothing is known anyway.
			if refusal, ok := errors.AsType[*api.Error](missed); !ok || refusal.Code != api.CodeOwnerUnreachable {
				more = detail(missed)
			}
		}
		all = append(all, page.Items...)
		if q.Before = page.Next; q.Before == "" {
			return all, more, nil
		}
	}
	return all, "the graph has too many dead letters to look through", nil
}

// revision is what a graph was declared as when an epoch ran: the present one for an epoch of this run, else by the
// time; nil where the graph's clock is not that of revisions. other says that it is not the present one, or may not be.
func (a *asking) revision(ctx context.Context, f *api.FiringDetail, now *api.GraphSummary) (r *api.Revision, other bool,
	err error) {
	page, err := a.d.Revisions(ctx, a.m.Ref())
	if err != nil {
		return nil, false, err
	}
	other = true
	for i := range page.Items {
		r := &page.Items[i]
		r.Declaration = ""
		byTime := !a.m.Unit().Spec.EventClock() && !r.At.After(f.At.Add(time.Millisecond))
		if r.Current && f.Incarnation == now.Incarnation || byTime {
			return r, !r.Current, nil
		}
		other = other && (!r.Current || r.Revision > 1) // there was none before the first
	}
	return nil, other, nil
}
