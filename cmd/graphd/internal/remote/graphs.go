package remote

import (
	"context"
	"errors"
	"fmt"

	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/cmd/graphd/internal/describe"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/api"
	"github.com/spf13/cobra"
)

func (a *Verbs) getCmd() *cobra.Command {
	return a.client(verb{
		use: "get [GRAPH]", short: "List graphs, or one of them", check: cobra.MaximumNArgs(1), watch: true,
		long: `List graphs, or one of them. get GRAPH -o yaml prints the graph's declaration, byte
for byte as it was applied; what is told of the graph is that of describe, and of
get GRAPH -o json.`,
		run: func(ctx context.Context, c *client.Client, args []string) error {
			if len(args) == 1 && a.Format == terminal.FormatYAML {
				return a.printDeclaration(ctx, c, args[0])
			}
			if len(args) == 1 {
				g, err := c.Graph(ctx, args[0])
				if err != nil {
					return err
				}
				return a.printGraph(&g)
			}
			list, err := c.GraphList(ctx)
			if err != nil {
				return err
			}
			return a.Print(list, func() error {
				if len(list.Items) == 0 {
					a.Say("no graphs yet: graphd apply -f FILE")
					return nil
				}
				return errors.Join(describe.Graphs(a.Terminal, list.Items), describe.Missing(a.Terminal, list.Missing))
			})
		},
	})
}

// printGraph prints one graph as a line, or in full as JSON or YAML.
func (a *Verbs) printGraph(g *api.GraphSummary) error {
	return a.Print(g, func() error { return describe.Graphs(a.Terminal, []api.GraphSummary{*g}) })
}

func (a *Verbs) describeCmd() *cobra.Command {
	var shard func() *int
	cmd := a.client(verb{
		use: "describe GRAPH", short: "Tell everything about a graph", check: cobra.ExactArgs(1), watch: true,
		long: `Tell everything about a graph. Of one that is dealt to shards the worst shards are
listed, and with -o wide all of them; --shard tells everything about one.`,
		run: func(ctx context.Context, c *client.Client, args []string) (err error) {
			var g api.GraphSummary
			if n := shard(); n != nil {
				g, err = c.Shard(ctx, args[0], *n)
			} else {
				g, err = c.Graph(ctx, args[0])
			}
			if err != nil {
				return err
			}
			return a.Print(&g, func() error { return describe.Graph(a.Terminal, &g) })
		},
	})
	shard = shardFlag(cmd)
	return cmd
}

// shardFlag adds --shard; the function says which is asked for, nil where none is.
func shardFlag(cmd *cobra.Command) func() *int {
	n := cmd.Flags().Int("shard", 0, "only this shard of a graph that is dealt to several; the first is 0")
	return func() *int {
		if !cmd.Flags().Changed("shard") {
			return nil
		}
		return n
	}
}

func (a *Verbs) deleteCmd() *cobra.Command {
	var state string
	cmd := a.client(verb{
		use: "delete GRAPH --state keep|delete", short: "Stop and remove a graph",
		long: `Stop and remove a graph. What becomes of its state must be said: with
--state keep it is found again when a graph of that name is applied, with
--state delete it is gone.`,
		check: cobra.ExactArgs(1),
		run: func(ctx context.Context, c *client.Client, args []string) error {
			if state != "keep" && state != "delete" {
				return terminal.Exit(terminal.ExitUsage,
					fmt.Errorf("say what becomes of the state of %s: --state keep or --state delete", args[0]))
			}
			if err := c.Delete(ctx, args[0], state == "delete"); err != nil {
				return err
			}
			a.Say("graph %s removed, its state %s", args[0], map[string]string{
				"keep": "kept", "delete": "deleted",
			}[state])
			return nil
		},
	})
	cmd.Flags().StringVar(&state, "state", "", "what becomes of the graph's state: keep or delete")
	choices(cmd, "state", "keep", "delete")
	return cmd
}
