package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphd/graphd/bench/seen"
)

// config is what the command line says.
type config struct {
	events, rate int64
	runs         int
	unchecked    bool
	data         string
	only         []string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "nexmark:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, w io.Writer) error {
	if len(args) == 4 && args[0] == "child" {
		return child(ctx, args[1], args[2], args[3])
	}
	var c config
	f := flag.NewFlagSet("nexmark", flag.ContinueOnError)
	f.Int64Var(&c.events, "events", 1_000_000, "how many events there are, of all streams")
	f.Int64Var(&c.rate, "rate", 10_000, "how many of them a second has, by their times; 500 to 1,000,000")
	f.IntVar(&c.runs, "n", 3, "how often each is run; medians are reported")
	f.BoolVar(&c.unchecked, "unchecked", false, "measure alone: compare nothing, and tell no number of values")
	f.StringVar(&c.data, "data", filepath.Join("bench", "data", "nexmark"), "the directory of the events")
	if err := f.Parse(args); err != nil {
		return err
	}
	c.only = f.Args()
	if c.events < cycle || c.runs < 1 || c.rate < 500 || c.rate > 1_000_000 {
		return fmt.Errorf("-events must be at least %d, -n at least 1 and -rate from 500 to 1000000", cycle)
	}
	for _, name := range c.only {
		if !slices.ContainsFunc(queries(), func(q query) bool { return q.name == name }) {
			return fmt.Errorf("there is no query %q: name some of q0 to q23, or none for all", name)
		}
	}
	if err := newGenerator(c.rate).write(c.data, c.events); err != nil {
		return fmt.Errorf("make the events: %w", err)
	}
	return table(ctx, &c, w)
}

// child is a process that is measured: one query, by graphd or by the plain program, its lines to the null device.
func child(ctx context.Context, who, name, dir string) error {
	all := queries()
	i := slices.IndexFunc(all, func(q query) bool { return q.name == name })
	if i < 0 {
		return fmt.Errorf("there is no query %q", name)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(800) // as graphd run has it, for both
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	switch {
	case who == "graphd" && all[i].live:
		err = all[i].liveOver(ctx, dir, nil)
	case who == "graphd":
		err = all[i].graphdOver(ctx, dir, null)
	default:
		out := bufio.NewWriterSize(null, 256<<10)
		err = all[i].plainOver(dir, func(line []byte) error {
			_, err := out.Write(line)
			return err
		})
		err = errors.Join(err, out.Flush())
	}
	if err != nil {
		return err
	}
	// What wait tells the parent of the peak is not below the parent's own memory when it began this process.
	used, err := seen.Used(os.Getpid())
	if err != nil {
		return err
	}
	_, err = fmt.Println(used.Peak)
	return err
}

// sample is what one process used.
type sample struct {
	cpu time.Duration
	rss int64 // peak, bytes, as the process tells it
}

func measure(ctx context.Context, who string, q *query, dir string) (s sample, err error) {
	self, err := os.Executable()
	if err != nil {
		return s, err
	}
	cmd := exec.CommandContext(ctx, self, "child", who, q.name, dir)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return s, fmt.Errorf("%s of %s: %w\n%s", who, q.name, err, stderr.String())
	}
	s.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if s.rss, err = strconv.ParseInt(strings.TrimSpace(stdout.String()), 10, 64); err != nil {
		return s, fmt.Errorf("read the peak of %s of %s: %w", who, q.name, err)
	}
	return s, nil
}

// table checks and measures the queries, and prints a line for each as soon as it is there.
func table(ctx context.Context, c *config, w io.Writer) error {
	fmt.Fprintf(w, "%s %s/%s, %d cores, %s; %d events, %d a second, medians of %d\n\n", runtime.Version(), runtime.GOOS,
		runtime.GOARCH, runtime.NumCPU(), time.Now().UTC().Format("2006-01-02"), c.events, c.rate, c.runs)
	fmt.Fprintln(w, "| query | lines | events | values | CPU-s/M | plain | × | peak MiB | plain | not as in SQL |")
	fmt.Fprintln(w, "|---|--:|--:|--:|--:|--:|--:|--:|--:|---|")
	counts := map[string]int64{}
	for _, stream := range streams() {
		n, err := lines(filepath.Join(c.data, stream+".ndjson"))
		if err != nil {
			return err
		}
		counts[stream] = n
	}
	for _, q := range queries() {
		if len(c.only) > 0 && !slices.Contains(c.only, q.name) {
			continue
		}
		var values int64
		if !c.unchecked {
			var err error
			if values, err = q.check(ctx, c.data); err != nil {
				return err
			}
		}
		var graphd, floor []sample
		for range c.runs {
			one, err := measure(ctx, "graphd", &q, c.data)
			if err != nil {
				return err
			}
			other, err := measure(ctx, "plain", &q, c.data)
			if err != nil {
				return err
			}
			graphd, floor = append(graphd, one), append(floor, other)
		}
		var events int64
		for _, name := range q.inputs {
			events += counts[name]
		}
		if err := printRow(w, &q, events, values, median(graphd), median(floor)); err != nil {
			return err
		}
	}
	return nil
}

func printRow(w io.Writer, q *query, events, values int64, graphd, floor sample) error {
	length, err := q.length()
	if err != nil {
		return err
	}
	each := func(s sample) float64 { return s.cpu.Seconds() / float64(events) * 1e6 }
	fmt.Fprintf(w, "| %s, %s | %d | %d | %d | %.2f | %.2f | %.1f | %d | %d | %s |\n", q.name, q.title, length, events,
		values, each(graphd), each(floor), each(graphd)/each(floor), graphd.rss>>20, floor.rss>>20, q.differs)
	return nil
}

// median is the middle one by CPU, and by memory; of an even number the lower of the two.
func median(of []sample) sample {
	middle := (len(of) - 1) / 2
	cpu, rss := make([]time.Duration, len(of)), make([]int64, len(of))
	for i, s := range of {
		cpu[i], rss[i] = s.cpu, s.rss
	}
	slices.Sort(cpu)
	slices.Sort(rss)
	return sample{cpu[middle], rss[middle]}
}
