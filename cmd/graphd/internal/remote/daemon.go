package remote

import (
	"context"
	"strings"

	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/cmd/graphd/internal/names"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/api"
	"github.com/spf13/cobra"
)

// healthCmd asks what a container's health check asks.
func (a *Verbs) healthCmd() *cobra.Command {
	return a.client(verb{
		use: "health", short: "Say whether the daemon is ready", check: cobra.NoArgs, watch: true, words: names.Nothing,
		long: `Say whether the daemon is ready to serve. Exits with 0 when it is, and with 69 when it
is not, or does not answer: made for the health check of a container. A sick graph
does not make the daemon unready; see graphd get.`,
		run: func(ctx context.Context, c *client.Client, _ []string) error {
			h, err := c.Ready(ctx)
			if err != nil {
				return err
			}
			for i := range h.Warnings {
				a.Say("%s (%s)", h.Warnings[i].Detail, h.Warnings[i].Code)
			}
			return a.Print(h, func() error { return a.Line("%s", h.Status) })
		},
	})
}

func (a *Verbs) treeCmd() *cobra.Command {
	return a.client(verb{
		use: "tree", short: "Show everything that runs in the daemon", check: cobra.NoArgs, words: names.Nothing,
		run: func(ctx context.Context, c *client.Client, _ []string) error {
			nodes, err := c.Tree(ctx)
			if err != nil {
				return err
			}
			return a.Print(api.Page[api.TreeNode]{Items: nodes}, func() error { return a.Table(a.treeTable(nodes)) })
		},
	})
}

// treeTable indents each path below the longest one before it that it continues.
func (a *Verbs) treeTable(nodes []api.TreeNode) *terminal.Table {
	t := terminal.NewTable("WHAT", "STATE", "RESTARTS", "SINCE").Numbers(2).Color(1, terminal.HealthTone)
	var above []string // the paths of the lines that lead here
	for i := range nodes {
		n := &nodes[i]
		for len(above) > 0 && !strings.HasPrefix(n.Path, above[len(above)-1]+"/") {
			above = above[:len(above)-1]
		}
		name := n.Path
		if len(above) > 0 {
			name = strings.TrimPrefix(n.Path, above[len(above)-1]+"/")
		}
		t.Row(strings.Repeat("  ", len(above))+name, n.State, terminal.Number(n.Restarts), a.Ago(&n.Since))
		above = append(above, n.Path)
	}
	return t
}

func (a *Verbs) limitsCmd() *cobra.Command {
	return a.client(verb{
		use: "limits", short: "Show the daemon's limits and how much of them is used", check: cobra.NoArgs,
		words: names.Nothing,
		run: func(ctx context.Context, c *client.Client, _ []string) error {
			limits, err := c.Limits(ctx)
			if err != nil {
				return err
			}
			return a.Print(api.Page[api.Limit]{Items: limits}, func() error {
				t := terminal.NewTable("LIMIT", "AT MOST", "USED", "HOLDS FOR", "UNIT").Numbers(1, 2)
				for i := range limits {
					used := "-"
					if limits[i].Used != nil {
						used = terminal.Number(*limits[i].Used)
					}
					bound := terminal.Number(limits[i].Limit)
					if limits[i].Limit == 0 {
						bound = "none"
					}
					since := "-"
					if limits[i].Since != nil {
						since = a.Ago(limits[i].Since)
					}
					t.Row(limits[i].Name, bound, used, since, limits[i].Unit)
				}
				return a.Table(t)
			})
		},
	})
}
