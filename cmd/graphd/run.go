package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/spf13/cobra"
)

// runFlags are what a run is told beside its declaration.
type runFlags struct {
	inputs, outputs []string
	letters         string
	stats, strict   bool
	noFlush         bool
	calls           []string
}

func runCmd(t *terminal.Terminal) *cobra.Command {
	var flags runFlags
	var given func([]string) []string
	var set func() (map[string]string, error)
	cmd := &cobra.Command{
		Use:   "run FILE --input NAME=PATH… [--output NAME=PATH|NAME=drop…]",
		Short: "Run a graph over files to their end, under virtual time",
		Long: `Run the graph of a declaration over files (NDJSON, or CSV by the extension .csv, both
also packed with gzip or zstd; "-" is standard input) to their end, under virtual
time: the same input gives the same bytes. Every output that is not named goes to
standard output, a line of JSON each; outputs that name one file share it. Inputs are
merged by the times of their events.

At the end of all inputs time goes on: windows close, batches are handed over, and what
waits for a timer (a debounce, max_wait) fires, each at its own time; with --no-flush all
of that stays as it is, and counts as queued. What could not be used is told on standard
error, the first ten with their place, and so is what no epoch took, such as the events of
an input that waits for another. --strict makes a dead letter, a failed epoch or an event
that came too late for its window or join a failure.

Nodes that call a URL fail, unless --calls says what they may call beside public
addresses, such as --calls public or --calls loopback.

With -o json, standard error has the line of --stats, with the first dead letters in it,
and nothing else; -o yaml and -o table print the outputs for people.`,
		Args:                  terminal.Positional(cobra.ArbitraryArgs),
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := t.CheckFormat(); err != nil {
				return err
			}
			path, err := terminal.One(given(args))
			if err != nil {
				return err
			}
			vars, err := set()
			if err != nil {
				return err
			}
			d, err := graphd.ReadDeclarationWith(path, vars)
			if err != nil {
				return broken(t, path, err)
			}
			c, err := flags.config(t, d)
			if err != nil {
				return err
			}
			r := &runTeller{t: t, flags: &flags, lines: !cmd.Flag("format").Changed}
			return r.run(cmd.Context(), d, c)
		},
	}
	given, set = terminal.Files(cmd, "the declaration, or - for standard input"), terminal.Vars(cmd)
	f := cmd.Flags()
	f.StringArrayVar(&flags.inputs, "input", nil, "NAME=PATH: the file that stands in for an accumulator's source")
	f.StringArrayVar(&flags.outputs, "output", nil, "NAME=PATH or NAME=drop: where an output goes")
	f.StringVar(&flags.letters, "dead-letters", "", "file to write every dead letter to, a line of JSON each")
	f.BoolVar(&flags.stats, "stats", false, "print what the run came to as a line of JSON on standard error")
	f.BoolVar(&flags.strict, "strict", false, "exit with 1 on a dead letter, a failed epoch or a late event")
	f.BoolVar(&flags.noFlush, "no-flush", false, "leave open at the end what is not complete")
	f.StringSliceVar(&flags.calls, "calls", nil, "let nodes call out: public, loopback, private, a host or a network")
	// Outputs have the name --output here, so the format has another.
	f.StringVarP(&t.Format, "format", "o", terminal.FormatTable, "json, yaml, table or wide; without it lines of JSON")
	f.Lookup("format").DefValue = "" // help names none: that of the other commands is not what run prints
	return cmd
}

// config is what the flags say of a run.
func (f *runFlags) config(t *terminal.Terminal, d *graphd.Declaration) (c graphd.RunConfig, err error) {
	c = graphd.RunConfig{Stdin: t.In, Stdout: t.Out, NoFlush: f.noFlush, Calls: f.calls}
	if c.Inputs, err = bindings("--input", f.inputs, d.InputNames()); err != nil {
		return c, err
	}
	c.Outputs, err = bindings("--output", f.outputs, d.OutputNames())
	return c, err
}

// bindings reads NAME=PATH arguments; known are the names there are.
func bindings(flag string, given, known []string) (map[string]string, error) {
	m := make(map[string]string, len(given))
	for _, text := range given {
		name, path, ok := strings.Cut(text, "=")
		var err error
		switch _, twice := m[name]; {
		case !ok || name == "" || path == "":
			err = fmt.Errorf("%s %s: write NAME=PATH", flag, text)
		case twice:
			err = fmt.Errorf("%s %s: %s is given twice", flag, text, name)
		case !slices.Contains(known, name):
			err = fmt.Errorf("%s %s: the graph has no %s %q; it has %s", flag, text, strings.TrimPrefix(flag, "--"),
				name, strings.Join(known, ", "))
			if near := terminal.Nearest(name, known); near != "" {
				err = fmt.Errorf("%w; did you mean %s?", err, near)
			}
		}
		if err != nil {
			return nil, terminal.Exit(terminal.ExitUsage, err)
		}
		m[name] = path
	}
	return m, nil
}

// interruptGrace is how long an interrupted run has to write out what it came to.
const interruptGrace = 2 * time.Second

// runToEnd runs the graph, and comes back soon after the context has ended even where the run
// cannot: one that reads from a pipe nobody writes to hangs in the system. The process ends then,
// and nothing is lost that another signal would not have cost as well.
func runToEnd(ctx context.Context, d *graphd.Declaration, c graphd.RunConfig) (s graphd.RunStats, err error) {
	type outcome struct {
		stats graphd.RunStats
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		s, err := d.Run(ctx, c)
		done <- outcome{s, err}
	}()
	select {
	case o := <-done:
		return o.stats, o.err
	case <-ctx.Done():
	}
	select {
	case o := <-done:
		return o.stats, o.err
	case <-time.After(interruptGrace):
		return s, ctx.Err()
	}
}

// collectRarely has the garbage of a bounded run, which makes much and keeps little, collected
// an eighth as often: it saves a quarter of its processor time for some 25 MB. The caller calls
// what it returns.
func collectRarely(t *terminal.Terminal) (back func()) {
	if t.Getenv("GOGC") != "" {
		return func() {}
	}
	was := debug.SetGCPercent(800)
	return func() { debug.SetGCPercent(was) }
}

// cpuTime is what the process has used of the processors so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// ended gives the error of a run its exit code.
func ended(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return terminal.Exit(terminal.ExitInterrupted, errors.New("interrupted"))
	case errors.Is(err, graphd.ErrNoInput):
		return terminal.Exit(terminal.ExitUsage, err)
	case errors.Is(err, graphd.ErrConfig): // a run has no configuration but what was written for it
		return terminal.Exit(terminal.ExitFormat,
			errors.New(strings.TrimPrefix(err.Error(), graphd.ErrConfig.Error()+": ")))
	}
	return local(err)
}
