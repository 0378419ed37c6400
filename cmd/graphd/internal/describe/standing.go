package describe

import (
	"fmt"

	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/api"
)

// Standing is a line of how a graph stands, or of what else a frame of the topic summary tells.
func Standing(f *api.Frame) string {
	switch {
	case f.Summary != nil:
		row := api.RowOf(f.Summary)
		return standing(&row)
	case f.Row != nil:
		return standing(f.Row)
	case f.Removed:
		return "is not there any more"
	case f.List != nil:
		text := terminal.Plural(f.List.Graphs, "graph")
		for _, m := range f.List.Missing {
			text += fmt.Sprintf(", %s has not said how its own stand: %s", m.Member, m.Detail)
		}
		return text
	}
	return f.Type
}

func standing(r *api.GraphRow) string {
	text := r.Health
	if r.Paused {
		text += ", paused"
	}
	text += fmt.Sprintf("  #%d  %.1f epochs/s", r.Epoch, r.EpochsPerSecond)
	if r.EventsPerSecond != nil {
		text += fmt.Sprintf("  %.1f events/s", *r.EventsPerSecond)
	}
	text += fmt.Sprintf("  %d received, %d queued", r.Counters.Received, r.Counters.Queued)
	if r.DeadLetters > 0 {
		text += ", " + terminal.Plural(int(r.DeadLetters), "dead letter")
	}
	if r.HealthReason != nil {
		text += "  " + Reason(r.HealthReason)
	}
	return text
}
