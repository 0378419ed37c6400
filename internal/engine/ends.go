package engine

import (
	"fmt"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/feed"
	"github.com/graphd/graphd/internal/reactor"
)

// ends is the engine as links between graphs see it: [feed.Graphs].
type ends Engine

// Mailbox is what takes events for the end of a link, or why there is none now.
func (e *ends) Mailbox(to feed.End) (feed.Mailbox, error) {
	m, err := (*Engine)(e).graph(to.Graph)
	if err != nil {
		return nil, fmt.Errorf("there is no graph %q yet; the values wait for it", to.Graph.Name)
	}
	if m.Unit() == nil {
		return nil, fmt.Errorf("the declaration of graph %q cannot be used; the values wait for a fixed one",
			to.Graph.Name)
	}
	box := m.Mailbox(to.Accumulator)
	if box == nil {
		return nil, fmt.Errorf("the graph %q has no accumulator %q; the values wait for it", to.Graph.Name,
			to.Accumulator)
	}
	return box, nil
}

// Upstream says why the output that feeds an accumulator is not there, "" when it is.
func (e *ends) Upstream(from api.Ref, output string) string {
	m, err := (*Engine)(e).graph(from)
	switch {
	case err != nil:
		return fmt.Sprintf("there is no graph %q; it is attached to as soon as there is", from.Name)
	case m.Unit() == nil:
		return fmt.Sprintf("the declaration of graph %q cannot be used", from.Name)
	}
	path, ok := m.PathOf(output)
	switch {
	case !ok:
		return fmt.Sprintf("the graph %q has no output %q", from.Name, output)
	case path == reactor.PathCoTransaction:
		return fmt.Sprintf(
			"the output %q of graph %q goes with the commit alone; give the graph a second output from the same node",
			output, from.Name)
	}
	return ""
}
