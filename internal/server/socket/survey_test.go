package socket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
)

// surveyed are graphs that stand as the test says.
type surveyed struct {
	items   []api.GraphSummary
	missing []api.Missing
	takes   time.Duration // how long a look takes
	err     error
	looks   int
}

func (s *surveyed) Graphs(context.Context, string) (api.GraphList, error) {
	s.looks++
	if s.takes > 0 {
		<-time.After(s.takes)
	}
	return api.GraphList{Items: append([]api.GraphSummary{}, s.items...), Missing: s.missing}, s.err
}

func (s *surveyed) Graph(context.Context, api.Ref) (api.GraphSummary, error) {
	s.looks++
	return s.items[0], s.err
}

// stream is a subscription whose frames the test sends.
type stream chan *api.Frame

func (s stream) Next(ctx context.Context) (*api.Frame, error) {
	select {
	case f, ok := <-s:
		if !ok {
			return nil, io.EOF
		}
		return f, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s stream) TryNext() *api.Frame {
	select {
	case f := <-s:
		return f
	default:
		return nil
	}
}

func (s stream) Close() {}

// shown is a frame in short.
func shown(f *api.Frame) string {
	switch {
	case f.Row != nil:
		text := fmt.Sprintf("%s %d", f.Graph, f.Row.Counters.Received)
		if f.Row.EventsPerSecond != nil {
			text += fmt.Sprintf(" %v/s %v", *f.Row.EventsPerSecond, *f.Row.Cores)
		}
		return text
	case f.Removed:
		return "no " + f.Graph
	case f.List != nil:
		return fmt.Sprintf("all %d, %d missing", f.List.Graphs, len(f.List.Missing))
	case f.Summary != nil:
		return fmt.Sprintf("%s in full %d at %s", f.Graph, f.Summary.Counters.Received, f.LookedAt.Format("05"))
	}
	return f.Type
}

// take reads n frames.
func take(t *testing.T, s *survey, n int) string {
	t.Helper()
	var all []string
	for range n {
		f, err := s.Next(t.Context())
		if err != nil {
			t.Fatalf("after %q: %v", all, err)
		}
		all = append(all, shown(f))
	}
	return strings.Join(all, ", ")
}

func graphOf(name string, received int64, busy float64) api.GraphSummary {
	return api.GraphSummary{Graph: name, Counters: api.Counters{Received: received}, Cost: api.Cost{BusySeconds: busy}}
}

// TestSurvey: all graphs are told of once, then those that have changed with what they have done since, those that
// have gone, and after each look how many there are; of others than one may see nothing is told.
func TestSurvey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		of := &surveyed{items: []api.GraphSummary{graphOf("a", 10, 1), graphOf("hidden", 1, 0), graphOf("b", 5, 0)}}
		frames := make(stream, 1)
		s := &survey{Subscription: frames, ctl: of, sees: func(g string) bool { return g != "hidden" }}
		want := func(n int, want string) {
			t.Helper()
			if got := take(t, s, n); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		}
		began := time.Now()
		want(3, "a 10, b 5, all 2, 0 missing")
		want(3, "a 10 0/s 0, b 5 0/s 0, all 2, 0 missing")
		if passed := time.Since(began); passed != lookEvery {
			t.Errorf("the second look comes after %v", passed)
		}
		frames <- &api.Frame{Type: "health"}
		want(2, "health, all 2, 0 missing")
		of.items[0] = graphOf("a", 250, 1.5)
		of.missing = []api.Missing{{Graphs: []string{"b", "hidden"}}, {Graphs: []string{"hidden"}}}
		want(2, "a 250 240/s 0.5, all 2, 1 missing")
		of.items, of.missing = of.items[:2], nil
		want(3, "a 250 0/s 0, no b, all 1, 0 missing")
		of.items[0] = graphOf("a", 3, 0) // its books are another daemon's now
		want(2, "a 3 0/s 0, all 1, 0 missing")
		of.err = errors.New("away")
		frames <- &api.Frame{Type: "health"}
		looks := of.looks
		want(1, "health")
		go func() { <-time.After(5 * time.Second); close(frames) }()
		if _, err := s.Next(t.Context()); !errors.Is(err, io.EOF) || of.looks < looks+4 {
			t.Errorf("got %v after %d looks that found nothing", err, of.looks-looks)
		}
	})
}

// TestSurveyOfOne: of one graph its summary comes after each look, however busy its stream is.
func TestSurveyOfOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		of := &surveyed{items: []api.GraphSummary{graphOf("a", 1, 0)}}
		frames := make(stream)
		s := &survey{Subscription: frames, ctl: of, ref: api.Ref{Name: "a"}}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() {
			for every := time.NewTicker(10 * time.Millisecond); ; {
				select {
				case <-every.C:
				case <-ctx.Done():
					return
				}
				select {
				case frames <- &api.Frame{Type: "firing"}:
				case <-ctx.Done():
					return
				}
			}
		}()
		summaries := 0
		for began := time.Now(); time.Since(began) < 10*time.Second; {
			if take(t, s, 1) == "a in full 1 at "+time.Now().UTC().Format("05") {
				summaries++
			}
		}
		if summaries < 9 || summaries > 11 {
			t.Errorf("%d summaries in ten seconds", summaries)
		}
	})
}

// TestSurveyRests: a look that takes long is followed by a longer rest.
func TestSurveyRests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		of := &surveyed{takes: 200 * time.Millisecond}
		s := &survey{Subscription: make(stream), ctl: of, sees: func(string) bool { return true }}
		take(t, s, 1)
		began := time.Now()
		take(t, s, 1)
		if passed := time.Since(began); passed < 5900*time.Millisecond {
			t.Errorf("the next look has come after %v", passed)
		}
	})
}
