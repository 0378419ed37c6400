// Package audits is the verb audit: it lists who has changed what, and verifies that the list is as it was written.
package audits

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/audit"
	"github.com/spf13/cobra"
)

// followEvery is how often new entries are asked for.
const followEvery = time.Second

// Verb makes a command that asks the daemon.
type Verb func(use, short, long string, check cobra.PositionalArgs,
	run func(ctx context.Context, c *client.Client, args []string) error) *cobra.Command

type verbs struct {
	*terminal.Terminal
	ask Verb
}

// Command is the verb audit; ask makes those of its verbs that ask the daemon.
func Command(t *terminal.Terminal, ask Verb) *cobra.Command {
	a := &verbs{t, ask}
	cmd := &cobra.Command{
		Use: "audit", Short: "List who has changed what, and verify that list", Args: terminal.Positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.list(), a.verify(), a.heads())
	return cmd
}

// choice is which entries are asked for.
type choice struct {
	audit.Query
	since  string
	all    bool
	follow bool
}

func (a *verbs) list() *cobra.Command {
	var q choice
	cmd := a.ask("list", "List changes and denials, oldest first",
		`List who has changed what, or was denied it, oldest first, of the last day or as
--since says. A change without a RESULT is under way, or its daemon has ended in
it: whether it took effect is not known. With -o json every entry is a line as
it stands in its chain; without filters (--since all) that can be kept, and
verified by graphd audit verify FILE.`, cobra.NoArgs,
		func(ctx context.Context, c *client.Client, _ []string) error { return a.show(ctx, c, q) })
	f := cmd.Flags()
	f.StringVar(&q.since, "since", "24h", "from when on: a time, how long ago (90m, 7d), or all")
	f.StringVar(&q.Subject, "subject", "", "only entries of this subject")
	f.StringVar(&q.Graph, "graph", "", "only entries about this graph")
	f.StringVar(&q.Tenant, "chain", "", "chain of another tenant, * for what is of none (default the caller's)")
	f.BoolVar(&q.all, "all", false, "all chains, one after the other")
	f.BoolVarP(&q.follow, "follow", "f", false, "go on with what comes; Ctrl-C ends it")
	return cmd
}

// show prints the entries that are chosen.
func (a *verbs) show(ctx context.Context, c *client.Client, q choice) (err error) {
	if q.Since, err = from(q.since, a.Now()); err != nil {
		return terminal.Exit(terminal.ExitUsage, err)
	}
	chains := []audit.Query{q.Query}
	if q.all {
		ends, err := c.AuditChains(ctx)
		if err != nil {
			return err
		}
		chains = chains[:0]
		for i := range ends {
			one := q.Query
			one.Tenant = ends[i].Tenant
			chains = append(chains, one)
		}
	}
	lines := a.Format == terminal.FormatJSON || q.follow
	if !lines {
		var rows []audit.Row
		for i := range chains {
			err := c.Audit(ctx, chains[i], func(r *audit.Row) error { rows = append(rows, *r); return nil })
			if err != nil {
				return err
			}
		}
		return a.Print(api.Page[audit.Row]{Items: rows}, func() error { return a.table(rows) })
	}
	for {
		for i := range chains {
			err := c.Audit(ctx, chains[i], func(r *audit.Row) error { chains[i].After = r.Seq; return a.line(r) })
			if err != nil {
				return err
			}
		}
		if !q.follow {
			return nil
		}
		select {
		case <-time.After(followEvery):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// from reads a time, or how long before now it was.
func from(text string, now time.Time) (time.Time, error) {
	if text == "all" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	return time.Time{}, fmt.Errorf("--since %s: write a time (2026-11-22T10:00:00Z), how long ago (90m, 7d), or all",
		text)
}

// line prints an entry as it comes.
func (a *verbs) line(r *audit.Row) error {
	if a.Format == terminal.FormatJSON {
		text, err := json.Marshal(r)
		if err == nil {
			_, err = a.Out.Write(append(text, '\n'))
		}
		return err
	}
	e, err := r.Entry()
	if err != nil {
		return err
	}
	return a.Line("%d  %s  %s  %s  %s  %s  %s", r.Seq, terminal.Moment(e.At), e.Subject, e.Operation,
		cmp.Or(e.Graph, "-"), outcome(&e), terminal.List(e.Detail))
}

// outcome is what has become of what an entry tells of.
func outcome(e *audit.Entry) string {
	switch e.Kind {
	case audit.Intent:
		return "begun"
	case audit.Result:
		text := e.Outcome
		if e.Code != "" {
			text += " " + e.Code
		}
		return fmt.Sprintf("%s (of %d)", text, e.Of)
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s ×%d", e.Kind, e.Code, e.Count))
}

// table prints a line for each change with its result.
func (a *verbs) table(rows []audit.Row) error {
	if len(rows) == 0 {
		a.Say("no changes and no denials; --since says from when on")
		return nil
	}
	type place struct {
		tenant string
		seq    int64
	}
	results, intents := map[place]audit.Entry{}, map[place]bool{}
	all := make([]audit.Entry, len(rows))
	for i := range rows {
		e, err := rows[i].Entry()
		if err != nil {
			return err
		}
		all[i] = e
		if e.Kind == audit.Result {
			results[place{e.Tenant, e.Of}] = e
		} else if e.Kind == audit.Intent {
			intents[place{e.Tenant, rows[i].Seq}] = true
		}
	}
	t := terminal.NewTable("ENTRY", "AT", "TENANT", "WHO", "ROLE", "FROM", "WHAT", "GRAPH", "RESULT", "DETAIL")
	t.Numbers(0)
	for i := range all {
		e := &all[i]
		result, detail := outcome(e), e.Detail
		switch e.Kind {
		case audit.Result:
			if intents[place{e.Tenant, e.Of}] {
				continue // it stands beside its intent
			}
		case audit.Intent:
			result = "-"
			if r, ok := results[place{e.Tenant, rows[i].Seq}]; ok {
				result = strings.TrimSpace(r.Outcome + " " + r.Code)
				detail = append(detail, r.Detail...)
			}
		}
		t.Row(strconv.FormatInt(rows[i].Seq, 10), terminal.Moment(e.At), e.Tenant, e.Subject, cmp.Or(e.Role, "-"),
			cmp.Or(e.From, "-"), e.Operation, cmp.Or(e.Graph, "-"), result, a.Clip(terminal.List(detail), 60))
	}
	return a.Table(t)
}

func (a *verbs) heads() *cobra.Command {
	return a.ask("heads", "Show where the chains end, to be kept elsewhere", "", cobra.NoArgs,
		func(ctx context.Context, c *client.Client, _ []string) error {
			chains, err := c.AuditChains(ctx)
			if err != nil {
				return err
			}
			return a.Print(api.Page[audit.Chain]{Items: chains}, func() error {
				t := terminal.NewTable("TENANT", "HEAD")
				for i := range chains {
					t.Row(chains[i].Tenant, placeText(chains[i].Head))
				}
				return a.Table(t)
			})
		})
}

func placeText(p audit.Place) string { return strconv.FormatInt(p.Seq, 10) + ":" + p.Sum.String() }

// errPlace says that a head is not of the form that heads are shown in.
var errPlace = errors.New("write a head as graphd audit heads shows it, NUMBER:SUM")

func parsePlace(text string) (p audit.Place, err error) {
	seq, sum, ok := strings.Cut(text, ":")
	if !ok {
		return p, errPlace
	}
	if p.Seq, err = strconv.ParseInt(seq, 10, 64); err != nil || p.Sum.UnmarshalText([]byte(sum)) != nil {
		return p, errPlace
	}
	return p, nil
}
