// Package names tells which names an argument of a command can have, for a person who presses Tab.
// The daemon is asked; where it does not answer there are none, and nobody is told.
package names

import (
	"context"
	"slices"

	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/internal/api"
)

// Words are what the next argument may be after those given; none where nobody knows, and files
// where that is what is wanted.
type Words func(ctx context.Context, c *client.Client, args []string) (found []string, files bool)

// Files completes files.
func Files(context.Context, *client.Client, []string) ([]string, bool) { return nil, true }

// Nothing completes nothing.
func Nothing(context.Context, *client.Client, []string) ([]string, bool) { return nil, false }

// Graphs completes the first argument with the names of graphs.
func Graphs(ctx context.Context, c *client.Client, args []string) ([]string, bool) {
	if len(args) > 0 {
		return nil, false
	}
	graphs, err := c.Graphs(ctx)
	if err != nil {
		return nil, false // a person who presses Tab is told nothing
	}
	var names []string
	for i := range graphs {
		names = append(names, graphs[i].Graph)
	}
	return names, false
}

// Parts completes a graph, and then one of the parts that pick gives.
func Parts(pick func(g *api.GraphSummary) []string) Words {
	return func(ctx context.Context, c *client.Client, args []string) ([]string, bool) {
		switch len(args) {
		case 0:
			return Graphs(ctx, c, args)
		case 1:
			g, err := c.Graph(ctx, args[0])
			if err != nil {
				return nil, false // as above
			}
			return pick(&g), false
		}
		return nil, true
	}
}

// Accumulators are the names of a graph's inputs.
func Accumulators(g *api.GraphSummary) []string {
	var names []string
	for i := range g.Accumulators {
		names = append(names, g.Accumulators[i].Name)
	}
	return names
}

// All are the names of a graph's inputs and outputs.
func All(g *api.GraphSummary) []string {
	names := Accumulators(g)
	for i := range g.Outputs {
		if !slices.Contains(names, g.Outputs[i].Name) {
			names = append(names, g.Outputs[i].Name)
		}
	}
	return names
}

// Stopped are those that an operator has stopped.
func Stopped(g *api.GraphSummary) []string {
	var names []string
	for i := range g.Accumulators {
		if g.Accumulators[i].Stopped != nil {
			names = append(names, g.Accumulators[i].Name)
		}
	}
	for i := range g.Outputs {
		if g.Outputs[i].Stopped != nil {
			names = append(names, g.Outputs[i].Name)
		}
	}
	return names
}

// Letters completes what to do with dead letters, and their IDs.
func Letters(ctx context.Context, c *client.Client, args []string) ([]string, bool) {
	switch len(args) {
	case 0:
		return Graphs(ctx, c, args)
	case 1:
		return []string{"list", "replay", "discard", "export"}, false
	}
	page, err := c.DeadLetters(ctx, args[0], api.LetterQuery{Limit: 100})
	if err != nil {
		return nil, false // as above
	}
	var ids []string
	for i := range page.Items {
		ids = append(ids, page.Items[i].ID)
	}
	return ids, false
}
