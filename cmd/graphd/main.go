// Command graphd is the daemon and its client in one binary.
//
// The client verbs (apply, get, push, fire, firings, …) speak to a running daemon
// over REST and WebSocket; they are in internal/remote. What a command finds goes
// to standard output, as a table, JSON or YAML; whatever else there is to say goes
// to standard error. The exit code tells scripts what happened.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // zones for `timezone` where the system has none, as in a slim container

	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
)

func main() {
	// The first signal ends the work in hand, the second the process: stop gives the
	// signals back their usual meaning as soon as the context is done.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, terminal.New(os.Stdin, os.Stdout, os.Stderr, os.Getenv), os.Args[1:]))
}

// run carries out one command line and says with which code the process is to exit.
func run(ctx context.Context, t *terminal.Terminal, args []string) int {
	root := newRoot(t)
	root.SetArgs(args)
	err := flagGroup(root.ExecuteContext(ctx))
	if err != nil && t.Format == terminal.FormatTable {
		t.Format = terminal.FormatOf(args) // the flags may not have been read as far as there
	}
	return t.Report(err)
}
