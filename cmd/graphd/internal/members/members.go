// Package members is what the command line has for the daemons that share a store: the verb members,
// and drain --member.
package members

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/api"
	"github.com/spf13/cobra"
)

// lookEvery is how often a drain looks how far it is.
const lookEvery = 100 * time.Millisecond

// Verb makes a command that asks the daemon.
type Verb func(use, short, long string, check cobra.PositionalArgs,
	run func(ctx context.Context, c *client.Client, args []string) error) *cobra.Command

// Command is the verb members.
func Command(t *terminal.Terminal, ask Verb) *cobra.Command {
	return ask("members", "List the daemons on the store and what each runs",
		`List the daemons on the store, and the graphs that each runs. A graph's rank is the
member's place in the order that all members have for it: 1 is where it belongs, and
with another one it is on its way, or its member was not there or drained. Graphs
that feed each other are placed with the one named in GROUP.

-o wide lists the graphs.`, cobra.NoArgs,
		func(ctx context.Context, c *client.Client, _ []string) error {
			all, err := c.Members(ctx)
			if err != nil {
				return err
			}
			return t.Print(api.Page[api.Member]{Items: all}, func() error {
				if err := t.Table(memberTable(t, all)); err != nil || !t.Wide() {
					return err
				}
				return t.Section(graphTable(all))
			})
		})
}

func memberTable(t *terminal.Terminal, all []api.Member) *terminal.Table {
	table := terminal.NewTable("ID", "NAME", "ADDRESS", "VERSION", "STATE", "CAPACITY", "GRAPHS", "ELSEWHERE FIRST",
		"STARTED")
	table.Numbers(5, 6, 7)
	for i := range all {
		m := &all[i]
		name, away := m.Name, 0
		if m.Self {
			name += " *"
		}
		for _, p := range m.Graphs {
			if p.Rank != 1 {
				away++
			}
		}
		table.Row(short(m.ID), name, terminal.Or(m.Address, "-"), terminal.Or(m.Version, "-"), m.State,
			strconv.Itoa(m.Capacity), strconv.Itoa(len(m.Graphs)), strconv.Itoa(away), t.Ago(m.StartedAt))
	}
	return table
}

func graphTable(all []api.Member) *terminal.Table {
	table := terminal.NewTable("MEMBER", "TENANT", "GRAPH", "RANK", "GROUP")
	table.Numbers(3)
	for i := range all {
		for _, p := range all[i].Graphs {
			rank := "-"
			if p.Rank > 0 {
				rank = strconv.Itoa(p.Rank)
			}
			table.Row(short(all[i].ID), p.Tenant, p.Graph, rank, terminal.Or(p.Group, "-"))
		}
	}
	return table
}

// short is as much of an id as people need.
func short(id string) string { return id[:min(len(id), 8)] }

// WithDrain gives the verb drain, which is for a graph, the flags by which it is for a member.
func WithDrain(t *terminal.Terminal, ask Verb, drain *cobra.Command) {
	var member string
	var undo bool
	f := drain.Flags()
	f.StringVar(&member, "member", "", "empty this daemon instead: its id or the beginning of one, its name or address")
	f.BoolVar(&undo, "undo", false, "with --member: let it run graphs again")
	of := ask("drain", "", "", cobra.NoArgs, func(ctx context.Context, c *client.Client, _ []string) error {
		return drainMember(ctx, t, c, member, undo)
	})
	drain.Use = "drain GRAPH | --member MEMBER [--undo]"
	drain.Long += `

With --member a daemon is emptied instead: its graphs stop at an epoch boundary,
commit, and go to the other daemons on the store; the command waits until they have.
It lasts until --undo, or until that daemon ends.`
	graph, args := drain.RunE, drain.Args
	drain.Args = func(cmd *cobra.Command, given []string) error {
		if member != "" {
			return terminal.Positional(cobra.NoArgs)(cmd, given)
		}
		return args(cmd, given)
	}
	drain.RunE = func(cmd *cobra.Command, given []string) error {
		switch {
		case member != "":
			of.SetContext(cmd.Context())
			return of.RunE(of, nil)
		case undo:
			return terminal.Exit(terminal.ExitUsage, errors.New("--undo is for --member"))
		}
		return graph(cmd, given)
	}
}

func drainMember(ctx context.Context, t *terminal.Terminal, c *client.Client, name string, undo bool) error {
	all, err := c.Members(ctx)
	if err != nil {
		return err
	}
	m, err := find(all, name)
	if err != nil {
		return err
	}
	if err := c.DrainMember(ctx, m.ID, undo); err != nil {
		return err
	}
	if undo {
		t.Say("member %s may run graphs again", m.Name)
		return nil
	}
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		left, err := running(ctx, c, m.ID)
		if err == nil && len(left) == 0 {
			t.Say("member %s runs nothing any more; it had %s", m.Name, terminal.Plural(len(m.Graphs), "graph"))
			return nil
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("member %s is drained, and runs still: %s; graphs that have failed stay: %w", m.Name,
				strings.Join(left, ", "), ctx.Err())
		}
	}
}

// running is what a member runs, which was told to run nothing.
func running(ctx context.Context, c *client.Client, id string) (graphs []string, err error) {
	all, err := c.Members(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(m api.Member) bool { return m.ID == id })
	if i < 0 {
		return nil, nil // it has ended
	}
	if all[i].State == "live" {
		return nil, errors.New("somebody else has ended the drain")
	}
	for _, p := range all[i].Graphs {
		graphs = append(graphs, p.Graph)
	}
	return graphs, nil
}

// find is the one member that is meant.
func find(all []api.Member, name string) (*api.Member, error) {
	var found []*api.Member
	for i := range all {
		m := &all[i]
		if m.ID == name || m.Name == name || m.Address == name {
			return m, nil
		}
		if strings.HasPrefix(m.ID, name) || strings.Contains(m.Name, name) {
			found = append(found, m)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, terminal.Exit(terminal.ExitNotFound, fmt.Errorf("no member is called %q; graphd members lists them",
			name))
	}
	return nil, terminal.Exit(terminal.ExitUsage, fmt.Errorf("%q is of %d members; give an id of graphd members", name,
		len(found)))
}
