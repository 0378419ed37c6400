// Package process is what the command line has for a daemon's process: the verbs log-level and profile.
package process

import (
	"context"

	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/api"
	"github.com/spf13/cobra"
)

// Verb makes a command that asks the daemon.
type Verb func(use, short, long string, check cobra.PositionalArgs,
	run func(ctx context.Context, c *client.Client, args []string) error) *cobra.Command

// LogLevel is the verbs log-level and profile.
func LogLevel(t *terminal.Terminal, ask Verb) *cobra.Command {
	cmd := ask("log-level [LEVEL]", "Show or set from which level on the daemon logs",
		`Show from which level on the daemon logs, or have it log from another one on: debug,
info, warn or error. It takes effect at once, and lasts until the daemon is restarted:
then it logs from --log-level on. It is for this daemon alone, not for others on its
store, and for administrators of the platform. Each setting is in the audit.`, cobra.MaximumNArgs(1),
		func(ctx context.Context, c *client.Client, args []string) error {
			if len(args) == 0 {
				l, err := c.LogLevel(ctx)
				if err != nil {
					return err
				}
				if l.Level != l.Configured {
					t.Say("set at run time; after a restart it is %s", l.Configured)
				}
				return t.Print(l, func() error { return t.Line("%s", l.Level) })
			}
			if _, err := api.ParseLogLevel(args[0]); err != nil {
				return terminal.Exit(terminal.ExitUsage, err)
			}
			l, err := c.SetLogLevel(ctx, args[0])
			if err != nil {
				return err
			}
			t.Say("the daemon logs from %s on until it is restarted, then from %s", l.Level, l.Configured)
			return t.Print(l, func() error { return nil })
		})
	cmd.ValidArgsFunction = words(api.LogLevels()...)
	return cmd
}
