package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
)

// config is what the command line says.
type config struct {
	lines  int // events of a workload, over all its files
	runs   int
	data   string
	graphd string
	only   []string
}

// checkLines is the size of the input that the variants' outputs are compared on.
const checkLines = 20_000

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) > 1 && os.Args[1] == "floor" {
		exitOn(runFloor(os.Args[2:]))
		return
	}
	var c config
	flag.IntVar(&c.lines, "lines", 2_000_000, "events of each workload")
	flag.IntVar(&c.runs, "n", 5, "how often each variant is run; medians are reported")
	flag.StringVar(&c.data, "data", filepath.Join("bench", "data"), "the directory of the inputs and the binary")
	flag.StringVar(&c.graphd, "graphd", "", "the binary to measure; built when not given")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: bench [flags] [w1] [w2]")
		flag.PrintDefaults()
	}
	flag.Parse()
	c.only = flag.Args()
	exitOn(run(ctx, &c, os.Stdout))
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, c *config, w io.Writer) error {
	if c.lines < 2 || c.runs < 1 {
		return fmt.Errorf("-lines must be at least 2 and -n at least 1")
	}
	if err := os.MkdirAll(c.data, 0o755); err != nil {
		return fmt.Errorf("make the data directory: %w", err)
	}
	if c.graphd == "" {
		if err := build(ctx, c); err != nil {
			return err
		}
	}
	printMachine(w, c)
	for _, wl := range workloads() {
		if len(c.only) > 0 && !slices.Contains(c.only, wl.name) {
			continue
		}
		if err := bench(ctx, c, &wl, w); err != nil {
			return fmt.Errorf("%s: %w", wl.name, err)
		}
	}
	return nil
}

// build makes the graphd that is measured.
func build(ctx context.Context, c *config) error {
	c.graphd = filepath.Join(c.data, "graphd")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", c.graphd, "github.com/graphd/graphd/cmd/graphd")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build graphd: %w", err)
	}
	return nil
}

// bench checks one workload's variants against each other, then measures them.
func bench(ctx context.Context, c *config, wl *workload, w io.Writer) error {
	small, err := wl.prepare(filepath.Join(c.data, "check"), checkLines)
	if err != nil {
		return err
	}
	sum, err := check(ctx, c, wl, small)
	if err != nil {
		return err
	}
	files, err := wl.prepare(c.data, c.lines)
	if err != nil {
		return err
	}
	rows, err := measure(ctx, c, wl, files)
	if err != nil {
		return err
	}
	printTable(w, wl, files, sum, rows)
	return nil
}
