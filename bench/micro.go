package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"text/tabwriter"
)

// microPackages have the benchmarks of single layers, from the bytes up.
func microPackages() []string {
	return []string{
		"./internal/boundary", "./internal/expression", "./internal/accumulator", "./internal/source/file",
		"./internal/graph", "./internal/node/wasm", "./internal/reactor", "./internal/job", "./bench",
	}
}

// micro runs the benchmarks of the layers and prints what they report.
func micro(ctx context.Context, c *config, w io.Writer) error {
	benchtime := "0.5s"
	if c.quick {
		benchtime = "20ms"
	}
	fmt.Fprintf(w, "\nThe layers by themselves (go test -bench, %s each)\n", benchtime)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, pkg := range microPackages() {
		filter, times := ".", benchtime
		if pkg == "./bench" {
			filter, times = "PushToEpoch|Hop|Guests|Calls", "1x" // the runs are what w1 and its like measure
		}
		cmd := exec.CommandContext(ctx, "go", "test", pkg, "-run", "^$", "-bench", filter, "-benchmem", "-benchtime",
			times, "-timeout", "5m")
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w\n%s", pkg, err, out)
		}
		lines := bufio.NewScanner(strings.NewReader(string(out)))
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "Benchmark") {
				fmt.Fprintf(t, "%s\t%s\n", strings.TrimPrefix(pkg, "./internal/"), strings.TrimPrefix(lines.Text(),
					"Benchmark"))
			}
		}
	}
	return t.Flush()
}
