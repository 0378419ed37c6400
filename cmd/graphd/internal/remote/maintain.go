package remote

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/cmd/graphd/internal/names"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/api"
	"github.com/spf13/cobra"
)

// sure adds --yes to a verb whose work cannot be undone, and refuses it without.
func sure(cmd *cobra.Command, what string) *cobra.Command {
	yes := cmd.Flags().Bool("yes", false, "yes, that is meant")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !*yes {
			return terminal.Exit(terminal.ExitUsage, fmt.Errorf("%s; to do so add --yes", fmt.Sprintf(what, args[0])))
		}
		return run(cmd, args)
	}
	return cmd
}

func (a *Verbs) resetCmd() *cobra.Command {
	cmd := a.command("reset GRAPH --yes", "Take all state from a graph, as if it had never run", cobra.ExactArgs(1),
		func(ctx context.Context, c *client.Client, args []string) (api.GraphSummary, error) {
			return c.Reset(ctx, args[0])
		})
	cmd.Long = `Take all state from a graph: values, queues, open batches, node values, positions
and books. Its declaration, history, dead letters and the numbers of its epochs
stay, and so does a pause. Its sources are read from the beginning; pause it
first if that should wait.`
	return sure(cmd, "this takes all state from %s, and its sources are read from the beginning")
}

func (a *Verbs) rewindCmd() *cobra.Command {
	cmd := a.command("rewind GRAPH ACCUMULATOR POSITION --yes",
		"Read an accumulator's source again from another position", cobra.ExactArgs(3),
		func(ctx context.Context, c *client.Client, args []string) (api.GraphSummary, error) {
			return c.Rewind(ctx, args[0], args[1], args[2])
		})
	cmd.Long = `Have an accumulator read its source again from another position: start, or what
the source takes; of a file a number of bytes, end, or a position as describe
shows it. Nothing else of the graph's state changes. What is read twice counts
twice, and causes twice what it causes; pause the graph first to look before
it fires.`
	return sure(cmd, "this has events of %s read again, and what they cause happens again")
}

// backedUp is the answer to a backup.
type backedUp struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

func (a *Verbs) backupCmd() *cobra.Command {
	return a.client(verb{
		use: "backup PATH", short: "Copy the daemon's store to a file while it runs",
		long: `Copy the daemon's store, as of one moment, to a new file on this machine while
everything runs. To restore it, stop the daemon and put the file in the place
of graphd.db in its --data folder, without the -wal and -shm files of the old one.`,
		check: cobra.ExactArgs(1), openEnded: true, words: names.Files,
		run: func(ctx context.Context, c *client.Client, args []string) error {
			size, err := backup(ctx, c, args[0])
			if err != nil {
				return err
			}
			return a.Print(backedUp{args[0], size}, func() error {
				return a.Line("%s holds the store, %d bytes", args[0], size)
			})
		},
	})
}

// backup receives a copy beside path and gives it the name when it is whole.
func backup(ctx context.Context, c *client.Client, path string) (size int64, err error) {
	if _, err := os.Lstat(path); err == nil {
		return 0, terminal.Exit(terminal.ExitConflict, fmt.Errorf("%s is there already; name a new file", path))
	}
	part := path + ".part"
	f, err := os.OpenFile(part, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, fmt.Errorf("the copy cannot be written: %w", err)
	}
	size, err = c.Backup(ctx, f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(part, path)
	}
	if err != nil {
		return 0, errors.Join(err, os.Remove(part))
	}
	return size, nil
}
