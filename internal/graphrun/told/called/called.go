// Package called tells what the nodes of a graph call: how many calls there are and how they end, what is in their way,
// and how long a command waits for them.
package called

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/live/calls"
)

const (
	// CommandTimeout bounds a command whose caller set no deadline.
	CommandTimeout = 30 * time.Second
	// beside is what a command has beside an epoch's own time: to come to the reactor, and to be answered.
	beside = 5 * time.Second
)

// CommandTime bounds a command of a graph. One that makes an epoch has the time of an epoch, which is for what its
// nodes call too.
func CommandTime(u *compile.Unit) time.Duration {
	if u == nil || !u.Plan.Calls() {
		return CommandTimeout
	}
	return max(CommandTimeout, u.Spec.Reactor.EpochTimeout+beside)
}

// Tell shows what nodes call, by their names, and says what of that is in the way, beside a health that has no reason
// of its own.
func Tell(s *api.GraphSummary, v *live.View, now time.Time) {
	all := v.Calls()
	for _, node := range slices.Sorted(maps.Keys(all)) {
		c := all[node]
		s.Calls = append(s.Calls, api.NodeCalls{
			Node: node, Out: c.Out, Waiting: c.Waiting, Answered: c.Calls - c.Failed, Failed: c.Failed,
			Retries: c.Retries, Cached: c.Cached, BreakerOpen: c.Open, FailedInRow: c.Row, Error: c.Trouble,
		})
		if at := c.WaitedFor.UTC(); !c.WaitedFor.IsZero() {
			s.Calls[len(s.Calls)-1].AwaitedSince = &at
		}
		if s.HealthReason != nil {
			continue
		}
		switch failing, why := calls.Hindrance(&c, now); {
		case failing:
			s.HealthReason = api.ReasonOf("calls_failing", "node "+node+": "+why)
		case why != "":
			s.HealthReason = api.ReasonOf(api.AwaitingAnswer, "node "+node+": "+why)
		}
	}
}

// Awaited says that what comes is behind calls; nil where it is not.
func Awaited(s *api.GraphSummary) *api.Reason {
	for i := range s.Calls {
		if c := &s.Calls[i]; c.AwaitedSince != nil {
			return api.ReasonOf(api.AwaitingAnswer, fmt.Sprintf(
				"what comes before waits for answers to node %s, of which %d calls are on their way", c.Node, c.Out))
		}
	}
	return nil
}

// Join adds the calls of a shard.
func Join(sum, s *api.GraphSummary) {
	sum.Calls = slices.Clone(sum.Calls)
	for i := range s.Calls {
		o := &s.Calls[i]
		at, there := slices.BinarySearchFunc(sum.Calls, o.Node, func(c api.NodeCalls, node string) int {
			return strings.Compare(c.Node, node)
		})
		if !there {
			sum.Calls = slices.Insert(sum.Calls, at, *o)
			continue
		}
		c := &sum.Calls[at]
		c.Out, c.Waiting = c.Out+o.Out, c.Waiting+o.Waiting
		c.Answered, c.Failed = c.Answered+o.Answered, c.Failed+o.Failed
		c.Retries, c.Cached = c.Retries+o.Retries, c.Cached+o.Cached
		c.BreakerOpen, c.FailedInRow = c.BreakerOpen || o.BreakerOpen, max(c.FailedInRow, o.FailedInRow)
		c.Error = cmp.Or(c.Error, o.Error)
		if c.AwaitedSince == nil || o.AwaitedSince != nil && o.AwaitedSince.Before(*c.AwaitedSince) {
			c.AwaitedSince = o.AwaitedSince
		}
	}
}
