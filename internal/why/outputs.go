package why

import (
	"fmt"
	"slices"

	"github.com/graphd/graphd/internal/api"
)

// outputs are the sinks that hold something up: their own output, and, where as many values wait as may, the graph.
func (n *asked) outputs(which func(mine, full bool) bool) {
	for i := range n.sum.Outputs {
		o := &n.sum.Outputs[i]
		mine := n.output == "" || n.output == o.Name
		if !which(mine, o.Full) {
			continue
		}
		b := api.Because{Output: o.Name, Events: o.Pending}
		switch {
		case o.Stopped != nil && (mine || o.Pending > 0):
			b.Code, b.At = CodeOutputStops, &o.Stopped.Since
			b.Detail = fmt.Sprintf("%s has stopped output %s alone, which has %s to deliver still", o.Stopped.By,
				o.Name, plural(o.Pending, "value"))
			b.Do = fmt.Sprintf("graphd start %s %s", n.p.name, o.Name)
		case o.Error != "" && (o.Pending > 0 || mine):
			b.Code, b.At = CodeSink, o.FailingSince
			b.Detail = fmt.Sprintf("sink %s of output %s fails: %s; it has %s to deliver still", o.Sink, o.Name,
				o.Error, plural(o.Pending, "value"))
			b.Do = "see to the sink; the graph fires until as many wait as may, and then it stands still"
			if o.Full {
				b.Do = "see to the sink: the graph fires when some of them are through"
			}
		case o.Pending > 0 && mine && o.Path != "direct" && n.sum.Durability.CheckpointEpoch < n.sum.Epoch:
			b.Code = CodeCommit
			b.Detail = fmt.Sprintf("output %s has %s to deliver still, with their commit or after it: the last "+
				"commit has "+
				"epoch %d of %d", o.Name, plural(o.Pending, "value"), n.sum.Durability.CheckpointEpoch, n.sum.Epoch)
		case o.Pending > 0 && (mine || o.Full):
			b.Code, b.Detail = CodeSink, fmt.Sprintf("sink %s of output %s has %s to deliver still", o.Sink,
				o.Name, plural(o.Pending, "value"))
		default:
			continue
		}
		if o.Full {
			b.Detail += ", as many as may wait, so that the graph does not fire"
		}
		n.add(b)
	}
}

// ofOthers says that what the graph says of itself is of outputs or inputs beside the output that is asked for: what is
// of its own has been told of.
func (n *asked) ofOthers() bool {
	if n.output == "" || n.sum.HealthReason == nil {
		return false
	}
	switch n.sum.HealthReason.Code {
	case "output_failing", "output_refused", "part_stopped":
		return true
	}
	return len(n.sum.Degraded) > 0 && !slices.ContainsFunc(n.sum.Degraded, func(name string) bool {
		return n.matters(name) || n.p.accumulator(name) == nil // such as checkpoint
	})
}
