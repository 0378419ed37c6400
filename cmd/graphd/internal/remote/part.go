package remote

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/cmd/graphd/internal/names"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/api"
	"github.com/spf13/cobra"
)

// partVerb is stop or start of one input or output.
type partVerb struct {
	name, short string
	parts       func(g *api.GraphSummary) []string // that it can be asked of
	do          func(ctx context.Context, c *client.Client, graph string, p api.Part) (api.GraphSummary, error)
}

var (
	stopPart = partVerb{"stop", "Stop one input or output while its siblings go on", names.All,
		func(ctx context.Context, c *client.Client, graph string, p api.Part) (api.GraphSummary, error) {
			return c.StopPart(ctx, graph, p)
		}}
	startPart = partVerb{"start", "Let a stopped input or output go on", names.Stopped,
		func(ctx context.Context, c *client.Client, graph string, p api.Part) (api.GraphSummary, error) {
			return c.StartPart(ctx, graph, p)
		}}
)

func (a *Verbs) partCmd(v partVerb) *cobra.Command {
	var input, output bool
	cmd := a.client(verb{
		use: v.name + " GRAPH INPUT|OUTPUT", short: v.short,
		long: v.short + `. The name is that of an input or of an output; where a graph has
both of one name, --input or --output-name says which is meant.`,
		check: cobra.ExactArgs(2), words: names.Parts(v.parts),
		run: func(ctx context.Context, c *client.Client, args []string) error {
			p, err := whichPart(ctx, c, args[0], args[1], input, output)
			if err != nil {
				return err
			}
			g, err := v.do(ctx, c, args[0], p)
			if err != nil {
				return err
			}
			return a.printGraph(&g)
		},
	})
	cmd.Flags().BoolVar(&input, "input", false, "the name is that of an input")
	cmd.Flags().BoolVar(&output, "output-name", false, "the name is that of an output")
	return cmd
}

// whichPart finds out whether a name is that of an input or of an output, where that was not said.
func whichPart(ctx context.Context, c *client.Client, graph, name string, input, output bool) (api.Part, error) {
	switch {
	case input && output:
		return api.Part{}, terminal.Exit(terminal.ExitUsage,
			fmt.Errorf("%s is meant as one of the two: say --input or --output-name", name))
	case input:
		return api.Part{Accumulator: name}, nil
	case output:
		return api.Part{Output: name}, nil
	}
	g, err := c.Graph(ctx, graph)
	if err != nil {
		return api.Part{}, err
	}
	var inputs, outputs []string
	for i := range g.Accumulators {
		inputs = append(inputs, g.Accumulators[i].Name)
		input = input || g.Accumulators[i].Name == name
	}
	for i := range g.Outputs {
		outputs = append(outputs, g.Outputs[i].Name)
		output = output || g.Outputs[i].Name == name
	}
	switch {
	case input && output:
		return api.Part{}, terminal.Exit(terminal.ExitUsage, fmt.Errorf(
			"graph %s has an input and an output %s: say --input or --output-name", graph, name))
	case input:
		return api.Part{Accumulator: name}, nil
	case output:
		return api.Part{Output: name}, nil
	}
	return api.Part{}, terminal.Exit(terminal.ExitNotFound, fmt.Errorf(
		"graph %s has no input or output %q; its inputs are %s, its outputs %s", graph, name,
		strings.Join(inputs, ", "), cmp.Or(strings.Join(outputs, ", "), "none")))
}
