package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"
)

// printMachine says what the figures were measured on.
func printMachine(w io.Writer, c *config) {
	fmt.Fprintf(w, "%s %s/%s, %s, %d cores, GOMAXPROCS %d", runtime.Version(), runtime.GOOS, runtime.GOARCH, cpuModel(),
		runtime.NumCPU(), runtime.GOMAXPROCS(0))
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		fmt.Fprintf(w, ", load %s", strings.Join(strings.Fields(string(load))[:1], " "))
	}
	fmt.Fprintf(w, "\nmedians of %d runs, variants in turn\n", c.runs)
}

// cpuModel is the processor's name where the system tells it.
func cpuModel() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown CPU"
	}
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown CPU"
}

func printTable(w io.Writer, wl *workload, f *files, sum *summary, rows []row) {
	fmt.Fprintf(w, "\n%s: %s\n", strings.ToUpper(wl.name), wl.title)
	fmt.Fprintf(w, "%d events in %.0f MB; target %.1f CPU-s per million events where the floor takes 0.22 to 0.24\n",
		f.events, float64(f.bytes)/1e6, wl.target)
	fmt.Fprintf(w, "outputs checked over %d events: %d lines, sum %.6g, digest %s, the same from every variant\n",
		checkLines, sum.lines, sum.sum, sum.digest)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "variant\tCPU-s/M\tlow…high\tx floor\tCPU s\twall s\tevents/s\tpeak MiB\tepochs\toutputs\t")
	for i := range rows {
		r := &rows[i]
		million := float64(f.events) / 1e6
		fmt.Fprintf(t, "%s\t%.3f\t%.3f…%.3f\t%.2f\t%.2f\t%.2f\t%.0f\t%.0f\t%s\t%s\t\n", r.name,
			r.cpu.Seconds()/million, r.low.Seconds()/million, r.high.Seconds()/million,
			r.cpu.Seconds()/rows[0].cpu.Seconds(), r.cpu.Seconds(), r.wall.Seconds(),
			float64(f.events)/r.wall.Seconds(), float64(r.rss)/(1<<20), count(r, r.stats.Epochs),
			count(r, r.stats.Outputs))
	}
	_ = t.Flush() // to standard output, where nobody would hear of it
}

// count is a figure that only graphd tells.
func count(r *row, n int64) string {
	if r.floor != "" {
		return ""
	}
	return fmt.Sprint(n)
}
