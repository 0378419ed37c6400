package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/telemetry"
	"github.com/spf13/cobra"
)

func runCmd(t *terminal.Terminal) *cobra.Command {
	var inputs, outputs []string
	var stats bool
	cmd := &cobra.Command{
		Use:   "run FILE --input NAME=PATH… [--output NAME=PATH|NAME=drop…] [--stats]",
		Short: "Run a graph over files to their end, under virtual time",
		Long: `Run the graph of a declaration over files (NDJSON, or CSV by the extension .csv; "-"
is standard input) to their end, under virtual time: the same input gives the same
bytes. Every output that is not named goes to standard output, a line of JSON each.
Outputs that name one file share it. Inputs are merged by the times of their events.`,
		Args:                  terminal.Positional(cobra.ExactArgs(1)),
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := bindings("--input", inputs)
			if err != nil {
				return err
			}
			out, err := bindings("--output", outputs)
			if err != nil {
				return err
			}
			d, err := graphd.ReadDeclaration(args[0])
			if err != nil {
				return broken(t, err)
			}
			return runGraph(cmd.Context(), t, d, graphd.RunConfig{Inputs: in, Outputs: out, Stdin: t.In, Stdout: t.Out},
				stats)
		},
	}
	cmd.Flags().StringArrayVar(&inputs, "input", nil, "NAME=PATH: the file that stands in for an accumulator's source")
	cmd.Flags().StringArrayVar(&outputs, "output", nil, "NAME=PATH or NAME=drop: where an output goes")
	cmd.Flags().BoolVar(&stats, "stats", false, "print what the run came to as a line of JSON on standard error")
	return cmd
}

// runStats is the line of --stats.
type runStats struct {
	Events      int64   `json:"events"`
	Epochs      int64   `json:"epochs"`
	Outputs     int64   `json:"outputs"`
	DeadLetters int64   `json:"dead_letters"`
	LateDropped int64   `json:"late_dropped,omitempty"`
	Seconds     float64 `json:"seconds"`
	CPUSeconds  float64 `json:"cpu_seconds"`
}

func runGraph(ctx context.Context, t *terminal.Terminal, d *graphd.Declaration, c graphd.RunConfig, stats bool) error {
	if telemetry.IsTerminal(t.Err) && !telemetry.IsTerminal(t.Out) {
		c.Progress = progress(t)
	}
	if t.Getenv("GOGC") == "" {
		// A bounded run makes much garbage and keeps little: collecting an eighth as often
		// saves a quarter of its processor time for some 25 MB.
		defer debug.SetGCPercent(debug.SetGCPercent(800))
	}
	began, cpu := time.Now(), cpuTime()
	s, err := runToEnd(ctx, d, c)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return terminal.Exit(terminal.ExitInterrupted, errors.New("interrupted"))
	}
	if err != nil {
		return local(err)
	}
	if s.DeadLetters > 0 || s.Failed > 0 {
		t.Say("graphd: %s, %s",
			terminal.Plural(s.DeadLetters, "dead letter"), terminal.Plural(s.Failed, "failed epoch"))
	}
	for text := range strings.Lines(s.Late) {
		t.Say("graphd: %s", strings.TrimSuffix(text, "\n"))
	}
	if !stats {
		return nil
	}
	line, err := json.Marshal(runStats{
		Events: s.Events, Epochs: s.Epochs, Outputs: s.Outputs, DeadLetters: s.DeadLetters,
		LateDropped: s.LateDropped,
		Seconds:     time.Since(began).Seconds(), CPUSeconds: (cpuTime() - cpu).Seconds(),
	})
	if err != nil {
		return err
	}
	t.Say("%s", line)
	return nil
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

// progress tells a person who waits how far the run is, about once a second.
func progress(t *terminal.Terminal) func(events int64) {
	began := time.Now()
	told := began
	return func(events int64) {
		now := time.Now()
		if now.Sub(told) < time.Second {
			return
		}
		told = now
		t.Say("%s, %.0f a second", terminal.Plural(events, "event"), float64(events)/now.Sub(began).Seconds())
	}
}

// cpuTime is what the process has used of the processors so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// bindings reads NAME=PATH arguments.
func bindings(flag string, given []string) (map[string]string, error) {
	m := make(map[string]string, len(given))
	for _, text := range given {
		name, path, ok := strings.Cut(text, "=")
		if !ok || name == "" || path == "" {
			return nil, terminal.Exit(terminal.ExitUsage, fmt.Errorf("%s %s: write NAME=PATH", flag, text))
		}
		if _, twice := m[name]; twice {
			return nil, terminal.Exit(terminal.ExitUsage, fmt.Errorf("%s %s: %s is given twice", flag, text, name))
		}
		m[name] = path
	}
	return m, nil
}
