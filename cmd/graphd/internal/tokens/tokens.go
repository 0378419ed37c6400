// Package tokens is the verb token: it makes, lists and revokes the tokens that open a daemon.
package tokens

import (
	"context"
	"errors"
	"time"

	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/cmd/graphd/internal/contexts"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/api"
	"github.com/spf13/cobra"
)

// Verb makes a command that asks the daemon.
type Verb func(use, short, long string, check cobra.PositionalArgs,
	run func(ctx context.Context, c *client.Client, args []string) error) *cobra.Command

// verbs are what the verbs of tokens share.
type verbs struct {
	*terminal.Terminal
	ask Verb
}

// Command is the verb token; ask makes those of its verbs that ask the daemon, bootstrap is one that does not.
func Command(t *terminal.Terminal, ask Verb, bootstrap *cobra.Command) *cobra.Command {
	a := &verbs{t, ask}
	const short = "Make, list and revoke the tokens that open the daemon"
	cmd := &cobra.Command{
		Use: "token", Short: short, Args: terminal.Positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(bootstrap, a.create(), a.list(), a.revoke())
	return cmd
}

func (a *verbs) create() *cobra.Command {
	var q api.TokenRequest
	var of, out string
	var expires time.Duration
	var cmd *cobra.Command
	cmd = a.ask("create NAME --role ROLE", "Make a token, and show it once",
		`Make a token and print it, or with --out write it to a new file that its owner
alone can read. It is shown this once. The first token of a daemon must be a
platform-admin's: with it the daemon asks everybody for one.`, cobra.ExactArgs(1),
		func(ctx context.Context, c *client.Client, args []string) error {
			q.Name = args[0]
			if of != "" {
				q.Tenant = &of
			}
			if seconds := int64(expires / time.Second); cmd.Flags().Changed("expires") {
				q.ExpiresInSeconds = &seconds
			}
			if out == "" {
				made, err := c.CreateToken(ctx, q)
				if err != nil {
					return err
				}
				return a.Print(&made, func() error { return a.Line("%s", made.Text) })
			}
			var made api.NewToken
			err := contexts.WriteToken(out, func() (text string, err error) {
				made, err = c.CreateToken(ctx, q)
				return made.Text, err
			})
			if err != nil {
				return err
			}
			a.Say("%s holds the token %s, good until %s", out, made.ID, terminal.Moment(made.ExpiresAt))
			return a.Print(&made.Token, func() error { return nil })
		})
	f := cmd.Flags()
	f.StringVar(&q.Role, "role", "", "viewer, pusher, operator, author, tenant-admin or platform-admin")
	f.StringVar(&of, "for-tenant", "", "tenant that it is for, * for every one (default the caller's)")
	f.StringArrayVar(&q.Graphs, "graph", nil, "narrow it to graphs whose names match; * is any letters")
	f.BoolVar(&q.ReadOnly, "read-only", false, "narrow it to reading")
	f.DurationVar(&expires, "expires", 0, "how long it lasts, up to 8784h (default 2160h)")
	f.StringVar(&out, "out", "", "new file to write it to")
	// It fails for a flag that is not there only.
	_ = cmd.RegisterFlagCompletionFunc("role", cobra.FixedCompletions([]string{"viewer", "pusher", "operator", "author",
		"tenant-admin", "platform-admin"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *verbs) list() *cobra.Command {
	return a.ask("list", "List the tenant's tokens, without what opens", "", cobra.NoArgs,
		func(ctx context.Context, c *client.Client, _ []string) error {
			tokens, err := c.Tokens(ctx)
			if err != nil {
				return err
			}
			return a.Print(api.Page[api.Token]{Items: tokens}, func() error {
				t := terminal.NewTable("ID", "NAME", "TENANT", "ROLE", "NARROWED TO", "ENDS", "LAST USED")
				for i := range tokens {
					k := &tokens[i]
					narrowed, ends := k.Graphs, terminal.Moment(k.ExpiresAt)
					if k.ReadOnly {
						narrowed = append(narrowed, "reading")
					}
					if k.RevokedAt != nil {
						ends = "revoked " + terminal.Moment(*k.RevokedAt)
					}
					t.Row(k.ID, k.Name, k.Tenant, k.Role, terminal.Or(terminal.List(narrowed), "-"), ends,
						a.Ago(k.LastUsedAt))
				}
				return a.Table(t)
			})
		})
}

func (a *verbs) revoke() *cobra.Command {
	return a.ask("revoke ID...", "End tokens: they open nothing within 5 seconds", "", cobra.MinimumNArgs(1),
		func(ctx context.Context, c *client.Client, args []string) error {
			var errs []error
			for _, id := range args {
				err := c.RevokeToken(ctx, id)
				if errs = append(errs, err); err == nil {
					a.Say("token %s is revoked", id)
				}
			}
			return errors.Join(errs...)
		})
}
