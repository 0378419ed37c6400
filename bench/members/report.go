package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// print prints what the contenders took, and what an event costs.
func (c *config) print(w io.Writer, all []contender, took [][]taken) error {
	load, _ := os.ReadFile("/proc/loadavg") // where there is one
	first, _, _ := strings.Cut(string(load), " ")
	fmt.Fprintf(w, "%s, %d cores, load %s at the end; %d events of %d keys in %d partitions, %d shards, a "+
		"checkpoint of each every second;\nmedians of %d rounds by the processor time of the busiest member; each "+
		"member has one core, taskset: %v\n\n", runtime.Version(), runtime.NumCPU(), first, c.events, symbols, shards,
		shards, c.rounds, c.taskset != "")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "members\twall s\tfirst s\tleast s\tevents/s\tx one\tCPU s of each\tof its own\tbroker\tdatabase\t"+
		"events/CPU s\tx one\t")
	var wall, cpu float64 // of one
	mids := map[string]taken{}
	for i := range all {
		slices.SortFunc(took[i], func(a, b taken) int { return cmp.Compare(slices.Max(a.cpu), slices.Max(b.cpu)) })
		mid := took[i][(len(took[i])-1)/2]
		mids[all[i].name] = mid
		events := float64(int64(c.events) - mid.ahead)
		rate, busy := events/mid.wall.Seconds(), events/slices.Max(mid.cpu).Seconds()
		if len(mid.cpu) == 1 {
			wall, cpu = rate, busy
		}
		fmt.Fprintf(t, "%s\t%.1f\t%.1f\t%.1f\t%.0f\t%.2f\t%s\t%s\t%.1f\t%.1f\t%.0f\t%.2f\t\n", all[i].name,
			mid.wall.Seconds(), mid.first.Seconds(), mid.least().Seconds(), rate, rate/wall, seconds(mid.cpu),
			c.portions(mid.own), mid.broker.Seconds(), mid.base.Seconds(), busy, busy/cpu)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	costs := c.costs(mids)
	fmt.Fprintf(w, "\nProcessor time of an event: %.2f µs of one of the member's own, %.2f µs of one of another's, "+
		"read as far as\nits key; %.2f µs of one of its own where the topic is partitioned. A member at rest takes "+
		"%.1f %% of a core.\n\n", costs.own, costs.foreign, costs.partitioned, 100*costs.rest)
	return costs.print(w)
}

// least is the least wall time that this can take on this machine: a member has one core, and the broker and the
// database are on the same cores.
func (t *taken) least() time.Duration {
	all := t.broker + t.base
	for _, d := range t.cpu {
		all += d
	}
	return max(slices.Max(t.cpu), all/time.Duration(runtime.NumCPU()))
}

// costs are those of an event, from one member and from one that has few shards and reads everything.
func (c *config) costs(of map[string]taken) (m costs) {
	one := of["one"]
	m.rest = one.rest[0].Seconds() / restFor.Seconds()
	// micros is what the first member took for the events, in microseconds for each of the topic's.
	micros := func(of taken) float64 { return of.cpu[0].Seconds() * 1e6 / float64(int64(c.events)-of.ahead) }
	m.own, m.partitioned = micros(one), micros(of["one, partitioned"])
	few := of["1:16"]
	share := float64(few.own[0]) / float64(c.events)
	m.foreign = max((micros(few)-share*m.own)/(1-share), 0)
	return m
}

func seconds(all []time.Duration) string {
	var words []string
	for _, d := range all {
		words = append(words, fmt.Sprintf("%.1f", d.Seconds()))
	}
	return strings.Join(words, " + ")
}

// portions are how much of the topic each member's shards have.
func (c *config) portions(own []int64) string {
	var words []string
	for _, n := range own {
		words = append(words, fmt.Sprintf("%.0f %%", 100*float64(n)/float64(c.events)))
	}
	return strings.Join(words, " + ")
}
