package socket

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/wire"
)

// topicSummary is told of by looking at graphs, and not by their runs.
const topicSummary = "summary"

const (
	// lookEvery is the time between two looks. It is at least lookShare times what a look takes, so that a watcher of
	// very many graphs costs a thirtieth of a core and no more.
	lookEvery = time.Second
	lookShare = 30
)

// Surveyor knows how graphs stand.
type Surveyor interface {
	Graphs(ctx context.Context, tenant string) (api.GraphList, error)
	Graph(ctx context.Context, g api.Ref) (api.GraphSummary, error)
}

// survey is a subscription that has the summary of its graph too, after each look; or where it is to all graphs of a
// tenant the rows of those that have changed. It looks between two frames, on the goroutine that asks for them.
type survey struct {
	api.Subscription
	ctl  Surveyor
	ref  api.Ref // all of the tenant's graphs when Name is ""
	sees func(graph string) bool

	due    time.Time
	frames []*api.Frame
	rows   map[string]told
}

// told is what was last told of a graph.
type told struct {
	text     string
	at       time.Time
	received int64
	busy     float64
	look     int64
}

// Next is the next frame, or the first of what a look has found.
func (s *survey) Next(ctx context.Context) (*api.Frame, error) {
	for {
		if f := s.found(); f != nil {
			return f, nil
		}
		if time.Now().Before(s.due) {
			until, cancel := context.WithDeadline(ctx, s.due)
			f, err := s.Subscription.Next(until)
			cancel()
			if err == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
				return f, err
			}
		}
		began := time.Now()
		s.look(ctx, began)
		s.due = began.Add(max(lookEvery, lookShare*time.Since(began)))
	}
}

// TryNext is the next frame if one is ready.
func (s *survey) TryNext() *api.Frame {
	if f := s.found(); f != nil {
		return f
	}
	return s.Subscription.TryNext()
}

func (s *survey) found() (f *api.Frame) {
	if len(s.frames) > 0 {
		f, s.frames = s.frames[0], s.frames[1:]
	}
	return f
}

// look finds how the graphs stand. What cannot be found out is not told this time: that a graph has gone is for the
// subscription to say, and what else is wrong the next look may find mended.
func (s *survey) look(ctx context.Context, now time.Time) {
	if s.ref.Name != "" {
		if sum, err := s.ctl.Graph(ctx, s.ref); err == nil {
			at := time.Now().UTC()
			s.frames = append(s.frames, &api.Frame{Type: topicSummary, Graph: s.ref.Name, Summary: &sum, LookedAt: &at})
		}
		return
	}
	list, err := s.ctl.Graphs(ctx, s.ref.Tenant)
	if err != nil {
		return
	}
	list.Narrow(s.sees)
	if s.rows == nil {
		s.rows = make(map[string]told, len(list.Items))
	}
	look := now.UnixNano()
	for i := range list.Items {
		s.row(&list.Items[i], now, look)
	}
	for name, was := range s.rows {
		if was.look != look {
			delete(s.rows, name)
			s.frames = append(s.frames, &api.Frame{Type: topicSummary, Graph: name, Removed: true})
		}
	}
	s.frames = append(s.frames, &api.Frame{Type: topicSummary,
		List: &api.ListTold{Graphs: len(list.Items), Missing: list.Missing}})
}

// row tells of a graph that is new, or stands otherwise than at the look before.
func (s *survey) row(sum *api.GraphSummary, now time.Time, look int64) {
	row := api.RowOf(sum)
	was, known := s.rows[sum.Graph]
	is := told{at: now, received: sum.Counters.Received, busy: sum.Cost.BusySeconds, look: look}
	if passed := now.Sub(was.at).Seconds(); known && passed > 0 {
		row.EventsPerSecond = rounded(float64(is.received-was.received)/passed, 100)
		row.Cores = rounded((is.busy-was.busy)/passed, 10000)
	}
	raw, err := wire.Encode(row)
	is.text = string(raw)
	s.rows[sum.Graph] = is
	if err == nil && is.text != was.text {
		s.frames = append(s.frames, &api.Frame{Type: topicSummary, Graph: sum.Graph, Row: &row})
	}
}

// rounded is a rate as finely as people tell two apart. Counters begin anew where a graph goes to another daemon.
func rounded(x, parts float64) *float64 {
	x = math.Round(max(0, x)*parts) / parts
	return &x
}
