package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graphd/graphd/cmd/graphd/internal/names"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/client"
	"github.com/spf13/cobra"
)

func (a *Verbs) deadLettersCmd() *cobra.Command {
	var q api.Query
	var all bool
	cmd := a.client(verb{
		use:   "dead-letters GRAPH [list|replay|discard] [ID…]",
		short: "List, replay or discard events that could not be used",
		long: `List the events that could not be used, newest first; replay some of them as
new events, or discard them, by their IDs or with --all. What was replayed and
taken is no dead letter any more.`,
		check: cobra.MatchAll(cobra.MinimumNArgs(1), oneOf(1, "list", "replay", "discard")),
		words: names.Letters,
		run: func(ctx context.Context, c *client.Client, args []string) error {
			if len(args) == 1 || args[1] == "list" {
				if err := checkPage(&q); err != nil {
					return err
				}
				page, err := c.DeadLetters(ctx, args[0], q)
				if err != nil {
					return err
				}
				return a.Print(&page, func() error { return a.letters(&page) })
			}
			ids := args[2:]
			if all == (len(ids) > 0) {
				return terminal.Exit(terminal.ExitUsage, fmt.Errorf("say which dead letters to %s: their IDs, or --all",
					args[1]))
			}
			if all {
				var err error
				if ids, err = allLetters(ctx, c, args[0]); err != nil {
					return err
				}
			}
			if args[1] == "replay" {
				return a.replay(ctx, c, args[0], ids)
			}
			return a.discard(ctx, c, args[0], ids)
		},
	})
	pageFlags(cmd, &q)
	cmd.Flags().BoolVar(&all, "all", false, "replay or discard all there are")
	return cmd
}

func (a *Verbs) letters(page *api.Page[api.DeadLetter]) error {
	if len(page.Items) == 0 {
		a.Say("no dead letters")
		return nil
	}
	head := []string{"ID", "AT", "ACCUMULATOR", "STAGE", "CODE", "EPOCH", "REASON", "PAYLOAD"}
	if a.Wide() {
		head = append(head, "POSITION")
	}
	t := terminal.NewTable(head...).Numbers(5)
	for i := range page.Items {
		l := &page.Items[i]
		epoch := "-"
		if l.Epoch > 0 {
			epoch = terminal.Number(l.Epoch)
		}
		cells := []string{l.ID, terminal.Moment(l.At), l.Accumulator, l.Stage, l.Code, epoch,
			a.Clip(l.Reason, listWidth), a.Value(l.Payload, listWidth)}
		if a.Wide() {
			cells = append(cells, terminal.Or(l.Position, "-"))
		}
		t.Row(cells...)
	}
	if err := a.Table(t); err != nil {
		return err
	}
	a.more(page.Next)
	return nil
}

// allLetters lists the IDs of all dead letters there are now, oldest first: replayed in
// this order, events come in the order in which they came before.
func allLetters(ctx context.Context, c *client.Client, graph string) ([]string, error) {
	var ids []string
	q := api.Query{Limit: 1000}
	for {
		page, err := c.DeadLetters(ctx, graph, q)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			ids = append(ids, page.Items[i].ID)
		}
		if page.Next == "" {
			break
		}
		q.Before = page.Next
	}
	slices.Reverse(ids)
	return ids, nil
}

// replay replays letters one after the other. One that is refused again stays, and the
// others go on.
func (a *Verbs) replay(ctx context.Context, c *client.Client, graph string, ids []string) error {
	var failure error
	taken := 0
	for _, id := range ids {
		r, err := c.ReplayDeadLetter(ctx, graph, id)
		if problem, ok := errors.AsType[*api.Problem](err); ok && problem.Code != "graph_not_found" {
			a.Say("%s: %s (%s)", id, terminal.Or(problem.Detail, problem.Title), problem.Code)
			for _, rejection := range r.Rejected {
				a.Say("%s: %s: %s", id, rejection.Code, rejection.Detail)
			}
			failure = terminal.Exit(problemCode(problem), terminal.ErrSaid)
			continue
		}
		if err != nil {
			return err
		}
		taken += r.Accepted
	}
	if err := a.Print(map[string]int{"replayed": taken}, func() error {
		return a.Line("%d of %s replayed", taken, terminal.Plural(len(ids), "dead letter"))
	}); err != nil {
		return err
	}
	return failure
}

func (a *Verbs) discard(ctx context.Context, c *client.Client, graph string, ids []string) error {
	for i, id := range ids {
		if err := c.DiscardDeadLetter(ctx, graph, id); err != nil {
			if i > 0 {
				a.Say("%d discarded before it", i)
			}
			return err
		}
	}
	return a.Print(map[string]int{"discarded": len(ids)}, func() error {
		return a.Line("%s discarded", terminal.Plural(len(ids), "dead letter"))
	})
}

func (a *Verbs) recoveryEventsCmd() *cobra.Command {
	var q api.Query
	cmd := a.client(verb{
		use: "recovery-events GRAPH", short: "List what the supervisor restarted, and why", check: cobra.ExactArgs(1),
		run: func(ctx context.Context, c *client.Client, args []string) error {
			page, err := c.RecoveryEvents(ctx, args[0], q)
			if err != nil {
				return err
			}
			return a.Print(&page, func() error { return a.recoveryEvents(&page) })
		},
	})
	pageFlags(cmd, &q)
	return cmd
}

func (a *Verbs) recoveryEvents(page *api.Page[api.RecoveryEvent]) error {
	if len(page.Items) == 0 {
		a.Say("nothing was restarted")
		return nil
	}
	t := terminal.NewTable("AT", "COMPONENT", "WHAT", "ATTEMPT", "DELAY", "OUTCOME", "REASON").Numbers(3, 4)
	for i := range page.Items {
		e := &page.Items[i]
		t.Row(terminal.Moment(e.At), e.Component, e.Kind, terminal.Number(e.Attempt), terminal.Short(e.Delay),
			e.Outcome, a.Clip(e.Reason, detailWidth))
	}
	if err := a.Table(t); err != nil {
		return err
	}
	a.more(page.Next)
	return nil
}
