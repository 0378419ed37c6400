package main

import (
	"flag"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/placement"
)

// costs are what is measured of one member, on one core.
type costs struct {
	// own and foreign are microseconds of processor time for an event of the member's own shards, and for one of
	// another's that is read as far as its key; partitioned is own where the topic is partitioned by the key.
	own, foreign, partitioned float64
	rest                      float64 // cores of a member that has nothing to do
}

// modelled is what so many members come to.
type modelled struct {
	members   int
	most      float64 // part of the events that the member has that has most of them
	rate, cpu float64 // events a second; microseconds for each event, of all members together
}

// modelShards is how many shards there are where placing itself is looked at.
const modelShards = 256

// of is what n members come to, each with one core: the one that has most decides, and all read what is not theirs. Of
// a topic that is partitioned they read nothing of it.
func (c *costs) of(n int, partitioned bool) modelled {
	m := modelled{members: n, most: float64(mostOf(deal(n, shards))) / shards}
	if partitioned {
		m.rate, m.cpu = (1-c.rest)*1e6/(m.most*c.partitioned), c.partitioned
	} else {
		m.rate = (1 - c.rest) * 1e6 / (m.most*c.own + (1-m.most)*c.foreign)
		m.cpu = c.own + float64(n-1)*c.foreign
	}
	m.cpu += float64(n) * c.rest * 1e6 / m.rate
	return m
}

// print prints the table of 1 to 64 members.
func (c *costs) print(w io.Writer) error {
	fmt.Fprintf(w, "Modelled: %d shards as they are dealt, one core for each member, %.2f µs an event of its own "+
		"(%.2f partitioned),\n%.2f µs another's, %.1f %% of a core at rest; the broker and the database as fast as "+
		"need be; deal is what\ndealing %d shards to the members takes, at least\n", shards, c.own, c.partitioned,
		c.foreign, 100*c.rest, modelShards)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "members\tmost shards at one\tevents/s\tx one\tCPU-s/M\ttopic read\t"+
		"partitioned: events/s\tx one\tCPU-s/M\ttopic read\tdeal\t")
	one, oneParted := c.of(1, false), c.of(1, true)
	for n := 1; n <= 64; n *= 2 {
		took := time.Hour
		for range 5 { // a neighbour on the machine makes it longer, nothing makes it shorter
			began := time.Now()
			deal(n, modelShards)
			took = min(took, time.Since(began))
		}
		m, p := c.of(n, false), c.of(n, true)
		fmt.Fprintf(t, "%d\t%.0f\t%.0f\t%.1f\t%.2f\t%d x\t%.0f\t%.1f\t%.2f\t1 x\t%.1f ms\t\n", n, m.most*shards, m.rate,
			m.rate/one.rate, m.cpu, n, p.rate, p.rate/oneParted.rate, p.cpu, took.Seconds()*1000)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s\n", c.pays())
	return err
}

// pays says up to how many members it pays without partitioning.
func (c *costs) pays() string {
	best, half := 1, 1
	for n := 2; n <= 64; n++ {
		was, is, one := c.of(best, false).rate, c.of(n, false), c.of(1, false)
		if is.rate > was {
			best = n
		}
		if is.cpu <= 2*one.cpu {
			half = n
		}
	}
	return fmt.Sprintf("Without partitioning %d members take most; up to %d of them at least half of all processor "+
		"time goes into events of their own.", best, half)
}

// modelPlaces are those of a graph whose shards are spread.
func modelPlaces(shards int) placement.Places {
	return placement.Places{Spread: true, Shards: map[checkpoint.ID]int{modelUnit(0): shards}}
}

func modelUnit(shard int) checkpoint.ID {
	return checkpoint.ID{Tenant: "default", Graph: "totals", Shard: shard}
}

// deal deals the shards to n members as a daemon does, and answers how many each has.
func deal(n, shards int) map[string]int {
	members := make([]checkpoint.Member, n)
	for i := range members {
		id := "member-" + strconv.Itoa(i)
		members[i] = checkpoint.Member{ID: id, Capacity: 1, Peer: "127.0.0.1:1"}
	}
	order, has := placement.OrderOf(modelPlaces(shards), members), map[string]int{}
	for shard := range shards {
		has[order.First(modelUnit(shard))]++
	}
	return has
}

func mostOf(has map[string]int) (most int) {
	for _, n := range has {
		most = max(most, n)
	}
	return most
}

// modelCommand is `members model`.
func modelCommand(args []string, w io.Writer) error {
	var c costs
	flags := flag.NewFlagSet("model", flag.ExitOnError)
	flags.Float64Var(&c.own, "own", 0, "microseconds of processor time for an event of a member's own")
	flags.Float64Var(&c.foreign, "foreign", 0, "microseconds for one of another's, read as far as its key")
	flags.Float64Var(&c.partitioned, "partitioned", 0, "microseconds for one of its own, partitioned; 0 for -own")
	flags.Float64Var(&c.rest, "rest", 0.01, "cores that a member takes at rest")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if c.partitioned == 0 {
		c.partitioned = c.own
	}
	if c.own <= 0 || c.foreign < 0 || c.partitioned < 0 || c.rest < 0 || c.rest >= 1 {
		return fmt.Errorf("give -own and -foreign as go run ./bench/members prints them, and -rest below 1")
	}
	return c.print(w)
}
