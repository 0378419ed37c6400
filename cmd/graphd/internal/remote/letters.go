package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/cmd/graphd/internal/names"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/api"
	"github.com/spf13/cobra"
)

func (a *Verbs) deadLettersCmd() *cobra.Command {
	var q api.LetterQuery
	var all, preview bool
	var cmd *cobra.Command
	cmd = a.client(verb{
		use:   "dead-letters GRAPH [list|replay|discard|export] [ID…]",
		short: "List, replay, discard or export what could not be used",
		long: `List what could not be used, newest first: events, and values that a sink
refused. Replay some of them, discard or export them: by their IDs, by filters,
or --all. What was replayed and taken is no dead letter any more. --preview says
what would become of a replay, and replays nothing.

--where is an expression over the letter: event, value, key, at, code, stage,
accumulator, output, reason, position, epoch, events, attempts.`,
		check: cobra.MatchAll(cobra.MinimumNArgs(1), oneOf(1, "list", "replay", "discard", "export")),
		words: names.Letters,
		run: func(ctx context.Context, c *client.Client, args []string) error {
			verb, ids := "list", []string(nil)
			if len(args) > 1 {
				verb, ids = args[1], args[2:]
			}
			if q.Limit < 1 && cmd.Flags().Changed("limit") {
				return checkPage(&api.Query{Limit: q.Limit})
			}
			if preview && verb != "replay" {
				return terminal.Exit(terminal.ExitUsage, fmt.Errorf(
					"--preview is of a replay, and nothing was done; list shows what a %s would take", verb))
			}
			switch verb {
			case "list":
				q.Limit = cmp.Or(q.Limit, 20)
				page, err := c.DeadLetters(ctx, args[0], q)
				if err != nil {
					return err
				}
				return a.Print(&page, func() error { return a.letters(&page) })
			case "export":
				return a.exportLetters(ctx, c, args[0], q, ids)
			}
			req, err := lettersMeant(verb, &q, ids, all)
			if err != nil {
				return err
			}
			do := c.ReplayDeadLetters
			if req.Preview = preview; verb == "discard" {
				do = c.DiscardDeadLetters
			}
			return a.dealWith(ctx, verb, args[0], req, q.Limit, do)
		},
	})
	f := cmd.Flags()
	f.IntVar(&q.Limit, "limit", 0, "how many: 20 of a list, else all that are chosen")
	f.StringVar(&q.Before, "before", "", "go on where an earlier list ended")
	for _, o := range [...]struct {
		to          *string
		name, usage string
	}{
		{&q.Code, "code", "only those with this code"}, {&q.Stage, "stage", "only those of this stage"},
		{&q.Accumulator, "accumulator", "only those of this input"},
		{&q.Output, "output-name", "only those of this output"}, {&q.Key, "key", "only those of this key"},
		{&q.Since, "since", "only those since a time, or so long back: 90m, 7d"},
		{&q.Until, "until", "only those before a time, or so long back"},
		{&q.Where, "where", "only those for which this expression is true"},
	} {
		f.StringVar(o.to, o.name, "", o.usage)
	}
	f.BoolVar(&all, "all", false, "replay or discard all there are")
	f.BoolVar(&preview, "preview", false, "say what would become of a replay, and replay nothing")
	return cmd
}

// lettersMeant is the request for those that the command line names.
func lettersMeant(verb string, q *api.LetterQuery, ids []string, all bool) (req api.LettersRequest, err error) {
	filtered := q.LetterChoice != api.LetterChoice{}
	switch {
	case len(ids) > 0 && (all || filtered):
		return req, terminal.Exit(terminal.ExitUsage, fmt.Errorf(
			"IDs name the dead letters to %s: leave --all and the filters out, or the IDs", verb))
	case len(ids) == 0 && !all && !filtered && q.Limit == 0:
		return req, terminal.Exit(terminal.ExitUsage, fmt.Errorf("say which dead letters to %s: their IDs, filters "+
			"such as --code, --limit for the oldest, or --all", verb))
	}
	// A limit alone is of all there are.
	return api.LettersRequest{LetterChoice: q.LetterChoice, All: all || len(ids) == 0 && !filtered, IDs: ids}, nil
}

// exportLetters writes dead letters, newest first and one a line.
func (a *Verbs) exportLetters(ctx context.Context, c *client.Client, graph string, q api.LetterQuery,
	ids []string) error {
	if len(ids) > 0 {
		return terminal.Exit(terminal.ExitUsage, errors.New("an export takes filters and no IDs"))
	}
	left := q.Limit
	for {
		if q.Limit = 100; left > 0 {
			q.Limit = min(q.Limit, left)
		}
		page, err := c.DeadLetters(ctx, graph, q)
		if err != nil {
			return err
		}
		if page.Note != "" {
			a.Say("%s", page.Note)
		}
		for i := range page.Items {
			line, err := json.Marshal(&page.Items[i])
			if err != nil {
				return err
			}
			if err := a.Line("%s", line); err != nil {
				return err
			}
		}
		if left -= len(page.Items); page.Next == "" || left == 0 {
			return nil
		}
		left, q.Before = max(left, 0), page.Next
	}
}

func (a *Verbs) letters(page *api.LetterPage) error {
	if len(page.Items) == 0 {
		a.Say("%s", cmp.Or(page.Note, "no dead letters"))
		return nil
	}
	head := []string{"ID", "AT", "FROM", "STAGE", "CODE", "EPOCH", "REASON", "PAYLOAD"}
	if a.Wide() {
		head = append(head, "POSITION", "ATTEMPTS")
	}
	t := terminal.NewTable(head...).Numbers(5)
	for i := range page.Items {
		l := &page.Items[i]
		epoch := "-"
		if l.Epoch > 0 {
			epoch = terminal.Number(l.Epoch)
		}
		cells := []string{l.ID, terminal.Moment(l.At), terminal.Or(l.Accumulator, l.Output), l.Stage, l.Code, epoch,
			a.Clip(l.Reason, listWidth), a.Value(l.Payload, listWidth)}
		if a.Wide() {
			cells = append(cells, terminal.Or(l.Position, "-"), terminal.Number(l.Attempts))
		}
		t.Row(cells...)
	}
	if err := a.Table(t); err != nil {
		return err
	}
	a.more(page.Next)
	return nil
}

// dealWith replays or discards the letters of a request, a bounded number at a time, and says what became of all.
func (a *Verbs) dealWith(ctx context.Context, verb, graph string, req api.LettersRequest, limit int,
	do func(context.Context, string, api.LettersRequest) (api.LettersResult, error)) error {
	total := api.LettersResult{Preview: req.Preview, Reasons: []api.LetterReason{}}
	for {
		if req.Limit = 100; limit > 0 {
			req.Limit = min(req.Limit, limit-total.Letters)
		}
		r, err := do(ctx, graph, req)
		if err != nil {
			if total.Letters > 0 {
				a.Say("%s dealt with before it", terminal.Plural(total.Letters, "dead letter"))
			}
			return err
		}
		r.AddTo(&total)
		req.After, req.IDs = r.Next, req.IDs[min(r.Letters, len(req.IDs)):]
		if r.Next == "" && len(req.IDs) == 0 || total.Letters == limit || r.Stuck() {
			break
		}
	}
	if err := a.Print(&total, func() error { return a.dealtWith(verb, &total) }); err != nil {
		return err
	}
	switch {
	case total.Preview || total.FailedAgain+total.Skipped == 0:
		return nil
	case total.Reasons[0].Code == api.CodeDeadLetterNotFound:
		return terminal.Exit(terminal.ExitNotFound, terminal.ErrSaid)
	case total.FailedAgain == 0:
		return terminal.Exit(terminal.ExitConflict, terminal.ErrSaid)
	}
	return terminal.Exit(terminal.ExitFailed, terminal.ErrSaid)
}

func (a *Verbs) dealtWith(verb string, r *api.LettersResult) error {
	for _, why := range r.Reasons {
		a.Say("%d %s: %s: %s", why.Letters, strings.ReplaceAll(why.Fate, "_", " "), why.Code, why.Detail)
	}
	if r.Note != "" {
		a.Say("%s", r.Note)
	}
	if r.Undecided > 0 {
		a.Say("%s left out: --where could not be computed for them", terminal.Plural(r.Undecided, "dead letter"))
	}
	switch {
	case r.Preview:
		return a.Line("would now pass: %d of %d", r.Passed, r.Letters)
	case verb == "discard":
		return a.Line("%s discarded", terminal.Plural(r.Discarded, "dead letter"))
	}
	text := fmt.Sprintf("%d of %s replayed", r.Passed, terminal.Plural(r.Letters, "dead letter"))
	if r.Waiting > 0 {
		text += fmt.Sprintf(", %d under way", r.Waiting)
	}
	return a.Line("%s", text)
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
	dealt := slices.ContainsFunc(page.Items, func(e api.RecoveryEvent) bool { return e.Shard > 0 })
	for i := range page.Items {
		e := &page.Items[i]
		of := e.Component
		if dealt {
			of += fmt.Sprintf(" of shard %d", e.Shard)
		}
		t.Row(terminal.Moment(e.At), of, e.Kind, terminal.Number(e.Attempt), terminal.Short(e.Delay),
			e.Outcome, a.Clip(e.Reason, detailWidth))
	}
	if err := a.Table(t); err != nil {
		return err
	}
	a.more(page.Next)
	return nil
}
