package faults

import (
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"
)

// resting is a graph that waits for pushes.
const resting = "graph: %s\naccumulators: { a: { strategy: sequential } }\nnodes: { n: { expr: a } }\n" +
	"outputs: { o: { from: n, sink: { drop: {} } } }\n"

// TestMembersManyGraphs: three daemons share a thousand graphs at rest (M52). All are placed within ten seconds, of
// applying them, of the start of all daemons and of a daemon's death; at rest they send less than twenty statements a
// second to the database; and each has a third of them, within a fifth.
func TestMembersManyGraphs(t *testing.T) {
	many, within := 1000, 10*time.Second
	if !full() {
		many, within = 60, slack*10*time.Second
	}
	f := newFleet(t, 3, []string{"--rebalance-after", "2s"})
	f.graphs, f.beside = many, beside(t)
	for _, s := range f.seats {
		s.start()
	}
	began := time.Now()
	var wg sync.WaitGroup
	errs := make(chan error, many)
	for c := range f.seats {
		wg.Go(func() {
			for n := c; n < many; n += len(f.seats) {
				name := fmt.Sprintf("g%04d", n)
				if err := f.seats[c].p.do("PUT", "/v1/graphs/"+name, fmt.Sprintf(resting, name), nil); err != nil {
					errs <- err
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
	applied := time.Since(began)
	f.placedWithin("after they were applied, which took "+applied.Round(time.Millisecond).String(), within, true)

	for _, s := range f.seats {
		if err := s.end(syscall.SIGTERM); err != nil {
			t.Errorf("daemon %d did not stop cleanly: %v", s.n, err)
		}
	}
	for _, s := range f.seats {
		wg.Go(s.start)
	}
	wg.Wait()
	f.placedWithin("after all daemons had started", within, true)
	f.atRest()

	_ = f.seats[2].end(syscall.SIGKILL)
	f.placedWithin("after one was killed", within, false)
	f.seats[2].start()
	f.placedWithin("after it had come again, and is given its share by tenths", 3*time.Minute, true)
	for _, s := range f.seats {
		if err := s.end(syscall.SIGTERM); err != nil {
			t.Errorf("daemon %d did not stop cleanly: %v", s.n, err)
		}
	}
}

// placedWithin waits until all graphs are owned, each by one of the daemons that are there and, with first, by the one
// that it ranks first, and are live there. It says how they are spread.
func (f *fleet) placedWithin(what string, within time.Duration, first bool) {
	f.t.Helper()
	var counts []int
	f.beside.anew()
	// It is waited for longer, so that how long it takes is told in any case.
	took := f.until("all are placed "+what, 6*within, func() bool {
		owned := 0
		counts = counts[:0]
		for _, s := range f.up() {
			m, err := s.self()
			if err != nil {
				return false
			}
			live := f.live(s)
			for _, g := range m.Graphs {
				if first && g.Rank != 1 || !live[g.Graph] {
					return false
				}
			}
			owned += len(m.Graphs)
			counts = append(counts, len(m.Graphs))
		}
		return owned == f.graphs
	})
	f.t.Logf("%d graphs are live %v %s: %v", f.graphs, took.Round(time.Millisecond), what, counts)
	f.beside.kept(f.t, fmt.Sprintf("%d graphs are placed %s", f.graphs, what), took, within)
	even := f.graphs / len(counts)
	for _, n := range counts {
		if f.graphs >= 1000 && first && (n < even*8/10 || n > even*12/10) {
			f.t.Errorf("%d graphs are spread as %v", f.graphs, counts)
		}
	}
}

// live are the graphs that a daemon runs and says are live.
func (f *fleet) live(s *seat) map[string]bool {
	f.t.Helper()
	list := map[string]bool{}
	var page struct {
		Items []struct{ Graph, Health string }
	}
	if err := s.p.do("GET", "/v1/graphs", "", &page); err != nil {
		return list
	}
	for _, g := range page.Items {
		list[g.Graph] = g.Health == "live"
	}
	return list
}

// atRest counts the transactions of the database while nothing happens: each statement of the daemons is one.
func (f *fleet) atRest() {
	f.t.Helper()
	const text = "select xact_commit + xact_rollback from pg_stat_database where datname = current_database()"
	if !full() {
		return // it takes its time
	}
	<-time.After(15 * time.Second) // what the start has left to do; and sessions tell their counts late
	before, began := f.one(text), time.Now()
	<-time.After(20 * time.Second)
	rate := float64(f.one(text)-before) / time.Since(began).Seconds()
	f.t.Logf("%d graphs at rest: %.1f statements a second", f.graphs, rate)
	if rate > 20 {
		f.t.Errorf("%.1f statements a second at rest", rate)
	}
}
