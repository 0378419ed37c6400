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
	lines    int // events of a workload, over all its files
	runs     int
	seconds  int // of each load on a live daemon
	graphs   int // idle ones
	quick    bool
	data     string
	graphd   string
	pgo      string // what the compiler is told of where the time goes
	base     string // the revision to compare with; "" for none
	profiles string // where profiles of the daemon under W4 and W4b go; "" for none
	only     []string
}

// checkLines is the size of the input that the variants' outputs are compared on.
const checkLines = 20_000

// section is one part of the benchmark, chosen by its name.
type section struct {
	name string
	what string
	run  func(ctx context.Context, c *config, w io.Writer) error
}

func sections() []section {
	var all []section
	for _, wl := range workloads() {
		all = append(all, section{wl.name, wl.title, func(ctx context.Context, c *config, w io.Writer) error {
			return bench(ctx, c, &wl, w)
		}})
	}
	return append(all,
		section{"cores", "keyed W2 and W3 in shards, and W1: on one core and on all", cores},
		section{"w4", "WebSocket to WebSocket beside a hand-written relay", w4},
		section{"w4b", "HTTP POST of single events beside a hand-written handler", w4b},
		section{"kafka", "Kafka to epoch to Kafka beside the library's own consume and produce", throughKafka},
		section{"overload", "latest and sequential under ten times the load they can take", overload},
		section{"idle", "start, memory and processor of idle graphs", idle},
		section{"scale", "cost against nodes, keys, payload and subscribers", scale},
		section{"micro", "the layers by themselves, with allocations", micro},
	)
}

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
	flag.IntVar(&c.seconds, "seconds", 5, "how long each load on a live daemon lasts")
	flag.IntVar(&c.graphs, "graphs", 10_000, "most idle graphs")
	flag.BoolVar(&c.quick, "quick", false, "about a minute: few events, one run each")
	flag.StringVar(&c.data, "data", filepath.Join("bench", "data"), "the directory of the inputs and the binary")
	flag.StringVar(&c.graphd, "graphd", "", "the binary to measure; built when not given")
	flag.StringVar(&c.pgo, "pgo", filepath.Join("deploy", "release", "graphd.pgo"),
		"the profile that graphd is built with, as releases are; off for none")
	flag.StringVar(&c.profiles, "profiles", "", "write profiles of the daemon under w4 and w4b to this directory")
	flag.StringVar(&c.base, "base", "", "compare the workloads that run on files with this revision")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: bench [flags] [section]…\n\nsections:")
		for _, s := range sections() {
			fmt.Fprintf(flag.CommandLine.Output(), "  %-9s %s\n", s.name, s.what)
		}
		fmt.Fprintln(flag.CommandLine.Output(), "\nflags:")
		flag.PrintDefaults()
	}
	flag.Parse()
	c.only = flag.Args()
	if c.quick {
		c.lines, c.runs, c.seconds, c.graphs = 200_000, 1, 2, min(c.graphs, 1_000)
	}
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
	if c.base != "" {
		return compare(ctx, c, w)
	}
	known := sections()
	for _, name := range c.only {
		if !slices.ContainsFunc(known, func(s section) bool { return s.name == name }) {
			return fmt.Errorf("there is no section %q; bench -h lists them", name)
		}
	}
	for _, s := range known {
		if len(c.only) > 0 && !slices.Contains(c.only, s.name) {
			continue
		}
		if err := s.run(ctx, c, w); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// build makes the graphd that is measured.
func build(ctx context.Context, c *config) error {
	c.graphd = filepath.Join(c.data, "graphd")
	cmd := exec.CommandContext(ctx, "go", "build", "-pgo="+c.pgo, "-o", c.graphd,
		"github.com/graphd/graphd/cmd/graphd")
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
