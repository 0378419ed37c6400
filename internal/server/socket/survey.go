package socket

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/graphd/graphd/internal/api"
)

// topicSummary is told of by looking at graphs, and not by their runs.
const topicSummary = "summary"

// survey is a subscription that has the summary of its graph too, after each look; or where it is to all graphs of a
// tenant the rows of those that have changed. What a look has found is told between two frames of the subscription,
// which wait for no look. A client that is slow leaves looks out.
type survey struct {
	api.Subscription
	out  *lookout
	of   *looking
	ref  api.Ref // all of the tenant's graphs when Name is ""
	sees func(graph string) bool
	left sync.Once

	was, is  *look // what has been told, and what is being told of: nil when all of was has been
	from, to int   // which rows of both are next
	graphs   int   // that were told of, or are as they were
}

// newSurvey adds to sub what is found by looking. ctx is of whom it is for, and does not end it.
func newSurvey(ctx context.Context, sub api.Subscription, out *lookout, ref api.Ref,
	sees func(string) bool) *survey {
	return &survey{Subscription: sub, out: out, of: out.join(ctx, ref), ref: ref, sees: sees}
}

// Close ends the subscription.
func (s *survey) Close() {
	s.left.Do(func() { s.out.leave(s.of) })
	s.Subscription.Close()
}

// Next is the next frame, or the first of what a look has found.
func (s *survey) Next(ctx context.Context) (*api.Frame, error) {
	for {
		if f := s.found(); f != nil {
			return f, nil
		}
		if f := s.Subscription.TryNext(); f != nil {
			return f, nil
		}
		until, wake := context.WithCancel(ctx)
		if !s.of.await(s, s.was, wake) {
			wake()
			continue
		}
		f, err := s.Subscription.Next(until)
		looked := until.Err() != nil && ctx.Err() == nil
		s.of.forget(s)
		wake()
		if err == nil || !looked || errors.Is(err, io.EOF) {
			return f, err
		}
	}
}

// TryNext is the next frame if one is ready.
func (s *survey) TryNext() *api.Frame {
	if s.is != nil { // a look that has begun to be told of is told to its end
		if f := s.found(); f != nil {
			return f
		}
	}
	return s.Subscription.TryNext()
}

// found is the next frame of what the last look has found, nil where all of it was told.
func (s *survey) found() *api.Frame {
	if s.is == nil {
		latest := s.of.last()
		if latest == s.was {
			return nil
		}
		s.is, s.from, s.to, s.graphs = latest, 0, 0, 0
	}
	if s.ref.Name != "" {
		s.was, s.is = s.is, nil
		at := s.was.at
		told := s.was.graph.Narrowed(s.sees)
		return &api.Frame{Type: topicSummary, Graph: s.ref.Name, Summary: &told, LookedAt: &at}
	}
	var before []row
	if s.was != nil {
		before = s.was.rows
	}
	for s.from < len(before) || s.to < len(s.is.rows) {
		if f := s.row(before); f != nil {
			return f
		}
	}
	s.was, s.is = s.is, nil
	return &api.Frame{Type: topicSummary, List: &api.ListTold{Graphs: s.graphs, Missing: s.missing()}}
}

// row goes on by a graph, and tells of it where it is new, has gone, or stands otherwise than at the look before.
func (s *survey) row(before []row) *api.Frame {
	order := 0 // of the next before and the next there is
	switch {
	case s.from == len(before):
		order = 1
	case s.to == len(s.is.rows):
		order = -1
	default:
		order = cmp.Compare(before[s.from].Graph, s.is.rows[s.to].Graph)
	}
	if order < 0 {
		gone := before[s.from].Graph
		s.from++
		if !s.sees(gone) {
			return nil
		}
		return &api.Frame{Type: topicSummary, Graph: gone, Removed: true}
	}
	r := &s.is.rows[s.to]
	s.to++
	same := false
	if order == 0 {
		same = before[s.from].hash == r.hash
		s.from++
	}
	if !s.sees(r.Graph) {
		return nil
	}
	if s.graphs++; same {
		return nil
	}
	return &api.Frame{Type: topicSummary, Graph: r.Graph, Row: &r.GraphRow}
}

// missing are the daemons that have not said how graphs stand which one may know of.
func (s *survey) missing() []api.Missing {
	if len(s.was.missing) == 0 {
		return nil
	}
	list := api.GraphList{Missing: slices.Clone(s.was.missing)}
	for i := range list.Missing { // what was found is others' too
		list.Missing[i].Graphs = slices.Clone(list.Missing[i].Graphs)
	}
	list.Narrow(s.sees)
	return list.Missing
}
