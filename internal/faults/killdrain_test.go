package faults

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/testbed"
)

// patient is how long shards have to get where they belong: what is measured is not how long a busy machine takes for
// that, on which leases are lost too.
const patient = 5 * time.Minute

// drainsEnv says how many drains TestDrainMembers makes.
const drainsEnv = "GRAPHD_DRAINS"

// TestDrainMembers drains four daemons that share a dealt graph under load, one after the other, and measures by the
// rows that the commits have written when each shard that had to move fired elsewhere (M52). It counts the rows, too.
func TestDrainMembers(t *testing.T) {
	drains, eachSecond := 2, 1000 // others have tests beside this one
	if s := os.Getenv(drainsEnv); s != "" {
		var err error
		if drains, err = strconv.Atoi(s); err != nil {
			t.Fatalf("%s: %v", drainsEnv, err)
		}
		eachSecond = 2500
	}
	brokers := testbed.Kafka(t)
	in, out := testbed.Topic(t, brokers, partitions), testbed.Topic(t, brokers, 8)
	f := newFleet(t, 4, []string{"--rebalance-after", "1s", "--connections", "store=store"}, memberTables[0])
	for _, s := range f.seats {
		s.start()
	}
	quoted := `"` + strings.Join(brokers, `", "`) + `"`
	f.apply("dealt", fmt.Sprintf(dealtGraph, quoted, in, quoted, out))
	f.rowsByCommit("dealt")
	feed := feedKeyed(t, brokers, in, eachSecond)
	f.until("the graph fires", stuck, func() bool { return f.one("select count(*) from dealt") > 0 })

	d := &dealer{f: f, graph: "dealt"}
	settled := func() bool { return f.placed("dealt", shards) }
	for n := range drains {
		f.until("everything runs where it belongs", patient, settled)
		<-time.After(time.Second) // what came last fires, too
		d.blows = append(d.blows, f.drainOne(d, f.seats[n%len(f.seats)]))
	}
	f.until("everything runs where it belongs", patient, settled)
	next, total, rate := feed.end(t)
	f.until("everything is through", slack*time.Minute, func() bool { return f.through("dealt", total) })
	t.Logf("%d events at %.0f events/s", total, rate)
	for _, s := range f.seats {
		if err := s.end(syscall.SIGTERM); err != nil {
			t.Errorf("daemon %d did not stop cleanly: %v", s.n, err)
		}
	}
	at := f.countRows("dealt", shards, next)
	var all, last, silent []time.Duration
	for _, b := range d.blows {
		list, quiet := at.elsewhere(b), at.silences(b)
		t.Logf("%s drained in %v: %d shards fired elsewhere after %s, silent until %s",
			b.at.UTC().Format("15:04:05.000"), b.until.Sub(b.at).Round(time.Millisecond), len(list), told(list),
			told(quiet))
		all, silent = append(all, list...), append(silent, quiet...)
		last = append(last, slices.Max(append(list, 0)))
	}
	t.Logf("%d drains, all shards fired elsewhere after %s, silent until %s; the last shard of each after %s", drains,
		told(all), told(silent), told(last))
}

// drainOne drains a daemon until it runs nothing, and undoes that some seconds later. It answers what was done.
func (f *fleet) drainOne(d *dealer, s *seat) *blow {
	f.t.Helper()
	by := f.seats[(s.n+1)%len(f.seats)]
	var b *blow
	asks := func(what, body string) {
		f.t.Helper()
		f.until(what+" is asked for", stuck, func() bool {
			id, has := d.runs(s)
			asked := &blow{kind: "drain", member: id, shards: has, at: time.Now()}
			if id == "" {
				return false
			}
			if err := by.p.do("POST", "/v1/members/"+id+"/drain", body, nil); err != nil {
				f.lacks = err.Error()
				return false
			}
			b, f.lacks = cmp.Or(b, asked), ""
			return true
		})
	}
	asks("the drain", "")
	f.until("the drained one runs nothing", patient, func() bool {
		m, err := s.self()
		return err == nil && len(m.Graphs) == 0
	})
	b.until = time.Now()
	<-time.After(3 * time.Second)
	asks("its undoing", `{"undo":true}`)
	return b
}

// placed says that each shard of a graph is live with the member that it ranks first.
func (f *fleet) placed(name string, shards int) bool {
	list, err := f.members()
	if err != nil || len(list) != len(f.seats) {
		return false
	}
	n := 0
	for i := range list {
		for _, g := range list[i].Graphs {
			if list[i].State != "live" || g.Rank != 1 {
				return false
			}
			n++
		}
	}
	var s summary
	return n == shards && f.ask("GET", "/v1/graphs/"+name, "", &s) == nil && s.Health == "live"
}
