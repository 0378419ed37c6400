package reactor

import (
	"github.com/graphd/graphd/internal/graph"
	"github.com/graphd/graphd/internal/graph/cuts"
)

// putCuts adds what the epoch has taken to what it puts out, for the outputs that put out cuts. It comes before the cut
// is consumed. What became of the nodes makes no difference: whoever follows has nodes of its own.
func (c *Core) putCuts(cause Cause) {
	layout := c.cfg.Plan.Cuts()
	if layout == nil {
		return
	}
	took := cuts.Cut{Epoch: c.epoch, Now: c.now, Cause: cause.String(), Values: c.cut.values,
		Fresh: func(i int) bool { return c.cfg.Plan.Arrived(&c.cell.nodes, &c.ep, i) }}
	if c.cfg.Keys != nil {
		took.Key = c.cell.key.ValueOf(c.cfg.Keys.Times)
	}
	v := layout.Value(&took)
	for k, o := range c.cfg.Plan.Outputs() {
		if o.Cut {
			c.res.Emitted = append(c.res.Emitted, graph.Emission{Output: k, Value: v})
		}
	}
}

// putFailed has nothing go out of an epoch that has failed but its cut.
func (c *Core) putFailed(cause Cause) {
	c.res.Emitted, c.res.Filtered = c.res.Emitted[:0], c.res.Filtered[:0]
	c.putCuts(cause)
}
