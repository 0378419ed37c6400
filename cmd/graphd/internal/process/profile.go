package process

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/spf13/cobra"
)

// taken is what is told of a profile.
type taken struct {
	Path  string `json:"path"`
	Bytes int    `json:"bytes"`
}

// Profile is the verb profile; ask makes commands that may take longer than others.
func Profile(t *terminal.Terminal, ask Verb) *cobra.Command {
	var seconds int
	var out string
	cmd := ask("profile KIND", "Take a profile of the daemon's process",
		`Take a profile of the daemon's process and write it to a new file: allocs, goroutine,
heap and threadcreate are of this moment; profile (of the CPU), block, mutex and trace
are recorded for --seconds. go tool pprof FILE reads it, and a trace go tool trace.

The daemon must run with --pprof; it is for administrators of the platform.`, cobra.ExactArgs(1),
		func(ctx context.Context, c *client.Client, args []string) error {
			path := terminal.Or(out, args[0]+".pprof")
			if _, err := os.Lstat(path); err == nil {
				return terminal.Exit(terminal.ExitConflict, fmt.Errorf(
					"%s is there already; name a new file with --out", path))
			}
			data, err := c.Profile(ctx, args[0], seconds)
			if err != nil {
				return err
			}
			if err := write(path, data); err != nil {
				return fmt.Errorf("write the profile: %w", err)
			}
			return t.Print(taken{path, len(data)}, func() error {
				return t.Line("%s holds the profile %s, %d bytes", path, args[0], len(data))
			})
		})
	cmd.Flags().IntVar(&seconds, "seconds", 0, "how long to record, up to 60, a trace up to 10 (default 10)")
	cmd.Flags().StringVar(&out, "out", "", "new file to write it to (default KIND.pprof)")
	cmd.ValidArgsFunction = words("allocs", "block", "goroutine", "heap", "mutex", "profile", "threadcreate", "trace")
	return cmd
}

// write makes a new file, and leaves none that is not whole.
func write(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// words complete the one argument.
func words(all ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	}
}
