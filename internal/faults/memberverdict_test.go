package faults

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/api"
)

// books holds that the counters of a graph balance, over all its shards and in each, and that each event was consumed
// once (M42).
func (f *fleet) books(name string, total int64) {
	f.t.Helper()
	var whole summary
	if err := f.ask("GET", "/v1/graphs/"+name, "", &whole); err != nil {
		f.t.Fatal(err)
	}
	if err := whole.balanced(); err != nil || whole.Counters.Received != total || whole.Counters.Consumed != total {
		f.t.Errorf("%s: %d events, %+v, %v", name, total, whole.Counters, err)
	}
	var g api.GraphSummary
	if err := f.ask("GET", "/v1/graphs/"+name, "", &g); err != nil {
		f.t.Fatal(err)
	}
	if len(g.Shards) == 0 {
		return // one shard runs them all
	}
	sum := counters{}
	for i := range g.Shards {
		var s summary
		if err := f.ask("GET", fmt.Sprintf("/v1/graphs/%s?shard=%d", name, i), "", &s); err != nil {
			f.t.Error(err)
			continue
		}
		if err := s.balanced(); err != nil {
			f.t.Errorf("shard %d: %v", i, err)
		}
		sum.Received += s.Counters.Received
		sum.Consumed += s.Counters.Consumed
		if s.Health != "live" {
			f.t.Errorf("shard %d is %s: %+v", i, s.Health, s.HealthReason)
		}
	}
	if sum.Received != total || sum.Consumed != total {
		f.t.Errorf("%d events, and the shards have received %d and consumed %d", total, sum.Received, sum.Consumed)
	}
}

// rowsByCommit holds that a graph's rows are written by the commits of its state: else they are counted for another
// promise.
func (f *fleet) rowsByCommit(names ...string) {
	f.t.Helper()
	for _, name := range names {
		var s summary
		f.until(name+" is live", stuck, func() bool {
			return f.ask("GET", "/v1/graphs/"+name, "", &s) == nil && len(s.Outputs) > 0 && s.Health == "live"
		})
		for _, o := range s.Outputs {
			if o.Name == "rows" && o.Path != "co-transaction" {
				f.t.Fatalf("%s: the rows go by the path %s", name, o.Path)
			}
		}
	}
}

// unharmed holds that no graph has failed, was quarantined, or has dead letters: no fault was its own.
func (f *fleet) unharmed(names ...string) {
	f.t.Helper()
	for _, name := range names {
		var s summary
		if err := f.ask("GET", "/v1/graphs/"+name, "", &s); err != nil || s.Health != "live" {
			f.t.Errorf("%s: %v, %s %+v", name, err, s.Health, s.HealthReason)
		}
		// What is rejected is told to who has pushed it, as while a graph moves.
		if s.Counters.DeadLettered > 0 || s.Counters.Rejected > 0 && name != "pushed" || s.Counters.Filtered > 0 {
			f.t.Errorf("%s: %+v", name, s.Counters)
		}
		var events struct {
			Items []struct {
				Kind, Reason, Component string
				Shard                   int
			}
		}
		if err := f.ask("GET", "/v1/graphs/"+name+"/recovery-events", "", &events); err != nil {
			f.t.Error(err)
		}
		kinds := map[string]int{}
		for _, ev := range events.Items {
			kinds[ev.Kind]++
			switch ev.Kind {
			case "quarantined", "gave_up", "state_dropped", "source_data_lost", "gap_skipped":
				f.t.Errorf("%s, shard %d: %+v", name, ev.Shard, ev)
			}
		}
		f.t.Logf("%s: recovery events %v", name, kinds)
	}
}

// spread holds that each member has as many shards of a graph as the others, within a fifth of what would be even.
func (f *fleet) spread(name string) {
	f.t.Helper()
	list, err := f.members()
	if err != nil {
		f.t.Fatal(err)
	}
	var counts []int
	for i := range list {
		n := 0
		for _, g := range list[i].Graphs {
			if g.Graph == name {
				n++
			}
		}
		counts = append(counts, n)
	}
	f.t.Logf("%s: the members have %v shards", name, counts)
	for _, n := range counts {
		if even := float64(shards) / float64(len(counts)); float64(n) < 0.8*even || float64(n) > 1.2*even {
			f.t.Errorf("%s: the members have %v shards", name, counts)
			break
		}
	}
}

// countPushed holds that each event that was answered as durable is in the table once, what was refused is not, and
// nothing is there twice.
func (f *fleet) countPushed(push *keyedPush, table string) {
	f.t.Helper()
	lost := 0
	var examples []string
	there := map[int64]bool{}
	look := func() bool {
		rows, err := f.db.Query(f.t.Context(), "select n from "+table)
		if err != nil {
			f.t.Fatal(err)
		}
		defer rows.Close()
		clear(there)
		doubled := 0
		for rows.Next() {
			var n int64
			if err := rows.Scan(&n); err != nil {
				f.t.Fatal(err)
			}
			if there[n] {
				doubled++
			}
			there[n] = true
		}
		if doubled > 0 {
			f.t.Errorf("%s: %d are there twice", table, doubled)
		}
		lost, examples = 0, nil
		for n := range push.acked {
			if !there[n] {
				lost++
				if len(examples) < 20 {
					examples = append(examples, fmt.Sprint(n, push.partly[n], "\n"))
				}
			}
		}
		return lost == 0 || doubled > 0
	}
	// What was acknowledged may still wait in the journal of a graph that has just begun again.
	quiet, since := f.one("select count(*) from "+table), time.Now()
	for ; !look(); <-time.After(20 * time.Millisecond) {
		now := f.one("select count(*) from " + table)
		if now == quiet && time.Since(since) > slack*5*time.Second && f.through(table, now) {
			f.t.Errorf("%s: %d of %d that were acknowledged are not there: %s", table, lost, len(push.acked),
				strings.Join(examples, " "))
			break
		}
		if now != quiet {
			quiet, since = now, time.Now()
		}
	}
	taken, says := 0, []string{}
	for n, text := range push.refused {
		if !there[n] {
			continue
		}
		if taken++; !slices.Contains(says, text) && len(says) < 5 {
			says = append(says, text)
		}
	}
	if taken > 0 {
		f.t.Errorf("%s: %d of %d events are there of which the answer says that they were not taken: %s", table, taken,
			len(push.refused), strings.Join(says, "\n"))
	}
	if len(push.wrong) > 0 {
		f.t.Errorf("%s: %d answers do not add up: %s", table, len(push.wrong), push.wrong[0])
	}
	f.t.Logf("%s: %d sent, %d acknowledged, %d refused, %d there; answers: %v", table,
		push.next.Load(), len(push.acked), len(push.refused), len(there), push.codes)
}

// countWhole pauses the graphs that are not dealt, and holds that each number is there once, in an epoch of its own, in
// the table and at the receiver.
func (f *fleet) countWhole(hooks []*effects) {
	f.t.Helper()
	for i, hook := range hooks {
		name := fmt.Sprintf("whole%d", i)
		if err := f.ask("POST", "/v1/graphs/"+name+"/pause", "", nil); err != nil {
			f.t.Error(err)
		}
		where := " from whole where g = '" + name + "'"
		var s summary
		f.until(name+" has sent everything", stuck, func() bool {
			return f.ask("GET", "/v1/graphs/"+name, "", &s) == nil && s.Outputs[0].Pending+s.Outputs[1].Pending == 0
		})
		total := f.one("select coalesce(max(n), -1) + 1" + where)
		rows, numbers := f.one("select count(*)"+where), f.one("select count(distinct n)"+where)
		epochs := f.one("select count(distinct epoch)" + where)
		disordered := f.one("select count(*) from (select n, lag(n) over w as m, epoch, lag(epoch) over w as e" +
			where + " window w as (order by pos)) x where n <> m + 1 or epoch <= e")
		if rows != total || numbers != total || epochs != total || disordered != 0 {
			f.t.Errorf("%s: %d numbers, %d rows, %d of them different, %d epochs, %d out of order", name, total, rows,
				numbers, epochs, disordered)
		}
		if problems := hook.verdict(upTo(total)); len(problems) > 0 {
			f.t.Error(name, problems)
		}
		f.t.Logf("%s: %d rows, %d sent again", name, rows, hook.again)
	}
}
