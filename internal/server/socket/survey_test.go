package socket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
)

// surveyed are graphs that stand as the test says.
type surveyed struct {
	mu      sync.Mutex
	items   []api.GraphSummary
	missing []api.Missing
	takes   time.Duration // how long a look takes
	err     error
	looks   int
	at      int // how many looks there are at this moment
	most    int // how many of them there were at one time
}

// are has the graphs stand otherwise.
func (s *surveyed) are(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// had is how many looks there were, and how many at one time.
func (s *surveyed) had() (looks, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.looks, s.most
}

func (s *surveyed) look(ctx context.Context) {
	s.mu.Lock()
	s.looks++
	s.at++
	s.most = max(s.most, s.at)
	takes := s.takes
	s.mu.Unlock()
	if takes > 0 {
		select {
		case <-time.After(takes):
		case <-ctx.Done():
		}
	}
	s.mu.Lock()
	s.at--
	s.mu.Unlock()
}

func (s *surveyed) Graphs(ctx context.Context, _ string) (api.GraphList, error) {
	s.look(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	return api.GraphList{Items: slices.Clone(s.items), Missing: slices.Clone(s.missing)}, s.err
}

func (s *surveyed) Graph(ctx context.Context, _ api.Ref) (api.GraphSummary, error) {
	s.look(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.items[0], s.err
}

// watched has somebody watch how the graphs stand, until the test ends.
func watched(t *testing.T, of *surveyed, frames api.Subscription, name string) (s *survey, end func()) {
	t.Helper()
	out := newLookout(of, slog.New(slog.DiscardHandler))
	s = newSurvey(t.Context(), frames, out, api.Ref{Tenant: "t", Name: name}, sees)
	return s, func() {
		s.Close()
		out.close()
	}
}

func sees(graph string) bool { return graph != "hidden" }

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
		s, end := watched(t, of, frames, "")
		defer end()
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
		of.are(func() {
			of.items[0] = graphOf("a", 250, 1.5)
			of.items[1] = graphOf("hidden", 2, 0)
		})
		want(2, "a 250 240/s 0.5, all 2, 0 missing")
		of.are(func() { of.missing = []api.Missing{{Graphs: []string{"b", "hidden"}}, {Graphs: []string{"hidden"}}} })
		want(3, "a 250 0/s 0, b 5, all 2, 1 missing")
		of.are(func() { of.items, of.missing = of.items[:2], nil })
		want(2, "no b, all 1, 0 missing")
		of.are(func() { of.err = errors.New("away") })
		frames <- &api.Frame{Type: "health"}
		want(1, "health")
		looks, _ := of.had()
		go func() { <-time.After(5 * time.Second); close(frames) }()
		_, err := s.Next(t.Context())
		if now, _ := of.had(); !errors.Is(err, io.EOF) || now < looks+4 {
			t.Errorf("got %v after %d looks that found nothing", err, now-looks)
		}
	})
}

// TestSurveyRates: where counters have begun anew, or are not the graph's, there is no rate, and none of what lies
// between them and those that are.
func TestSurveyRates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		of := &surveyed{items: []api.GraphSummary{graphOf("a", 1000, 10)}}
		s, end := watched(t, of, make(stream), "")
		defer end()
		of.items[0].Incarnation = 1
		want := func(want string) {
			t.Helper()
			if got := take(t, s, 2); got != want+", all 1, 0 missing" && got != want+", all 1, 1 missing" {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		want("a 1000")
		of.are(func() { of.items[0].Counters.Received = 1100 })
		want("a 1100 100/s 0")
		of.are(func() { of.items[0].Counters.Received, of.items[0].Incarnation = 5000, 2 })
		want("a 5000")
		of.are(func() { of.items[0].Counters.Received = 3 }) // as another daemon has counted, which is behind
		want("a 3")
		of.are(func() { of.items[0].Counters.Received, of.missing = 0, []api.Missing{{Graphs: []string{"a"}}} })
		want("a 0")
		of.are(func() { of.items[0].Counters.Received, of.missing = 9000, nil })
		want("a 9000")
		of.are(func() { of.items[0].Counters.Received, of.items[0].Health = 0, "standby" })
		want("a 0")
		of.are(func() { of.items[0].Counters.Received, of.items[0].Health = 9100, "live" })
		want("a 9100")
		of.are(func() { of.items[0].Counters.Received, of.takes = 9200, 500*time.Millisecond })
		want("a 9200 66.67/s 0") // the counters are of the end of a look
	})
}

// TestSurveyOfOne: of one graph its summary comes after each look, however busy its stream is.
func TestSurveyOfOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		of := &surveyed{items: []api.GraphSummary{graphOf("a", 1, 0)}}
		frames := make(stream)
		s, end := watched(t, of, frames, "a")
		defer end()
		stop := frames.busy(t)
		defer stop()
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

// busy sends a frame each 10 ms until it is stopped.
func (s stream) busy(t *testing.T) (stop func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		for every := time.NewTicker(10 * time.Millisecond); ; {
			select {
			case <-every.C:
			case <-ctx.Done():
				return
			}
			select {
			case s <- &api.Frame{Type: "firing"}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return stop
}

// TestSurveyRests: a look that takes long is followed by a longer rest, and never by so long a one that who watches has
// to think that nobody is there: the page takes a stream for dead after 15 seconds.
func TestSurveyRests(t *testing.T) {
	t.Parallel()
	for takes, every := range map[time.Duration]time.Duration{
		time.Millisecond: time.Second, 100 * time.Millisecond: 3100 * time.Millisecond,
		600 * time.Millisecond: 5600 * time.Millisecond, 4 * time.Second: 9 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			of := &surveyed{takes: takes}
			s, end := watched(t, of, make(stream), "")
			defer end()
			take(t, s, 1)
			began := time.Now()
			take(t, s, 1)
			if passed := time.Since(began); passed != every {
				t.Errorf("behind a look of %v the next has been told after %v, want %v", takes, passed, every)
			}
		})
	}
}

// TestSurveyHoldsNothing: frames of the subscription wait for no look.
func TestSurveyHoldsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		of := &surveyed{items: []api.GraphSummary{graphOf("a", 1, 0)}, takes: 3 * time.Second}
		frames := make(stream)
		s, end := watched(t, of, frames, "")
		defer end()
		stop := frames.busy(t)
		defer stop()
		began := time.Now()
		for last := began; time.Since(began) < 20*time.Second; last = time.Now() {
			take(t, s, 1)
			if passed := time.Since(last); passed > 20*time.Millisecond {
				t.Fatalf("a frame has come %v after the one before", passed)
			}
		}
	})
}

// TestSurveyIsShared: however many watch, and however often one comes and goes, there is one look at a time and as many
// as for one who stays.
func TestSurveyIsShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		of := &surveyed{items: []api.GraphSummary{graphOf("a", 1, 0)}, takes: 30 * time.Millisecond}
		out := newLookout(of, slog.New(slog.DiscardHandler))
		t.Cleanup(out.close)
		all := api.Ref{Tenant: "t"}
		began := time.Now()
		var each sync.WaitGroup
		for range 100 {
			s := newSurvey(t.Context(), make(stream), out, all, sees)
			each.Go(func() {
				defer s.Close()
				for time.Since(began) < 10*time.Second {
					if _, err := s.Next(t.Context()); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		each.Wait()
		looks, most := of.had()
		if looks > 12 || most != 1 {
			t.Errorf("%d looks for a hundred who watch ten seconds, %d at one time", looks, most)
		}
		for began := time.Now(); time.Since(began) < 10*time.Second; {
			s := newSurvey(t.Context(), make(stream), out, all, sees)
			<-time.After(5 * time.Millisecond)
			s.Close()
		}
		if now, _ := of.had(); now > looks+12 {
			t.Errorf("%d looks for one who comes and goes ten seconds", now-looks)
		}
		<-time.After(2 * restMost)
		looks, _ = of.had()
		<-time.After(2 * restMost)
		out.mu.Lock()
		defer out.mu.Unlock()
		if now, _ := of.had(); now != looks || len(out.of) != 0 {
			t.Errorf("%d looks with nobody there, %d are looked at", now-looks, len(out.of))
		}
	})
}

// TestSurveySkips: who is slow is told how the graphs stand now, and of nothing in between.
func TestSurveySkips(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		of := &surveyed{items: []api.GraphSummary{graphOf("a", 1, 0), graphOf("b", 1, 0)}}
		s, end := watched(t, of, make(stream), "")
		defer end()
		take(t, s, 3)
		of.are(func() { of.items = []api.GraphSummary{graphOf("c", 1, 0)} })
		<-time.After(3 * lookEvery)
		of.are(func() { of.items = []api.GraphSummary{graphOf("b", 1, 0), graphOf("d", 1, 0)} })
		<-time.After(3 * lookEvery)
		if got := take(t, s, 4); got != "no a, b 1 0/s 0, d 1 0/s 0, all 2, 0 missing" {
			t.Errorf("got %s", got)
		}
	})
}
