package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// variant is one way to do a workload.
type variant struct {
	name string
	// floor is the parser of the hand-written program; "" means graphd.
	floor string
	plain bool // GRAPHD_PLAIN=1
	// encode has graphd encode its outputs, as the floors always do, and write them to the
	// null device; without it the outputs are dropped as values.
	encode bool
	form   bool   // as users write it: guard instead of where, by key, an expression in an aggregate
	cores  int    // GOMAXPROCS; 0: as many as there are
	gogc   string // GOGC, "" for what graphd run chooses (800): what the collector costs
}

// variants are in the order of the table; the first is the floor that ratios refer to.
func variants() []variant {
	return []variant{
		{name: "hand-written, fastjson (floor)", floor: "fast"},
		{name: "hand-written, encoding/json", floor: "std"},
		{name: "graphd, output dropped"},
		{name: "graphd, output encoded", encode: true},
		{name: "graphd as users write it, output dropped", form: true},
		{name: "graphd, output dropped, GOGC=100", gogc: "100"},
		{name: "graphd plain, output dropped", plain: true},
	}
}

// sample is what one process used.
type sample struct {
	cpu, wall time.Duration
	rss       int64 // peak, bytes
	stats     runStats
}

// runStats is the line that `graphd run --stats` prints.
type runStats struct {
	Events      int64 `json:"events"`
	Epochs      int64 `json:"epochs"`
	Outputs     int64 `json:"outputs"`
	DeadLetters int64 `json:"dead_letters"`
}

// command is the process that does the workload; output is a path or "drop".
func (v *variant) command(ctx context.Context, c *config, wl *workload, f *files, output string) (*exec.Cmd, error) {
	if v.floor != "" {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		return exec.CommandContext(ctx, self, append([]string{"floor", wl.name, v.floor, output}, f.paths...)...), nil
	}
	declaration := f.declaration
	if v.form {
		declaration = f.form
	}
	args := []string{"run", declaration, "--output", wl.output + "=" + output, "--stats"}
	for i, in := range wl.inputs {
		args = append(args, "--input", in.name+"="+f.paths[i])
	}
	cmd := exec.CommandContext(ctx, c.graphd, args...)
	cmd.Env = os.Environ()
	if v.plain {
		cmd.Env = append(cmd.Env, "GRAPHD_PLAIN=1")
	}
	if v.cores > 0 {
		cmd.Env = append(cmd.Env, fmt.Sprintf("GOMAXPROCS=%d", v.cores))
	}
	if v.gogc != "" {
		cmd.Env = append(cmd.Env, "GOGC="+v.gogc)
	}
	return cmd, nil
}

// once runs a variant and takes its measure.
func (v *variant) once(ctx context.Context, c *config, wl *workload, f *files, output string) (s sample, err error) {
	cmd, err := v.command(ctx, c, wl, f, output)
	if err != nil {
		return s, err
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return s, fmt.Errorf("%s: %w\n%s", v.name, err, stderr.String())
	}
	s.wall = time.Since(began)
	s.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		s.rss = u.Maxrss
		if runtime.GOOS != "darwin" { // where it is counted in bytes
			s.rss <<= 10
		}
	}
	return s, v.verify(f, stderr.String(), &s.stats)
}

// verify reads the statistics, and compares the counts with what must come out: what the
// workload says, else what the floor put out.
func (v *variant) verify(f *files, stderr string, s *runStats) error {
	all := strings.Split(strings.TrimSpace(stderr), "\n")
	if err := json.Unmarshal([]byte(all[len(all)-1]), s); err != nil {
		return fmt.Errorf("%s: read the statistics: %w\n%s", v.name, err, stderr)
	}
	if f.outputs < 0 { // the first to run: the floor, or in a comparison without one the base
		f.outputs = s.Outputs
	}
	if v.floor != "" {
		s.Events = int64(f.events)
	}
	if s.Events != int64(f.events) || s.Outputs != f.outputs || s.DeadLetters != 0 {
		return fmt.Errorf("%s: %+v; want %d events, %d outputs and no dead letters", v.name, *s, f.events, f.outputs)
	}
	return nil
}

// row is a variant's medians.
type row struct {
	variant
	sample
	low, high time.Duration // of cpu
}

// measure runs every variant c.runs times, in turn.
func measure(ctx context.Context, c *config, wl *workload, f *files) ([]row, error) {
	vs := variants()
	samples := make([][]sample, len(vs))
	for range c.runs {
		for i := range vs {
			output := "drop"
			if vs[i].encode {
				output = os.DevNull
			}
			s, err := vs[i].once(ctx, c, wl, f, output)
			if err != nil {
				return nil, err
			}
			samples[i] = append(samples[i], s)
		}
	}
	rows := make([]row, len(vs))
	for i, of := range samples {
		cpu := func(s sample) time.Duration { return s.cpu }
		rows[i] = row{variant: vs[i], sample: of[0]}
		rows[i].cpu = median(of, cpu)
		rows[i].wall = median(of, func(s sample) time.Duration { return s.wall })
		rows[i].rss = median(of, func(s sample) int64 { return s.rss })
		least, most := slices.MinFunc(of, byCPU), slices.MaxFunc(of, byCPU)
		rows[i].low, rows[i].high = least.cpu, most.cpu
	}
	return rows, nil
}

func byCPU(a, b sample) int { return cmp.Compare(a.cpu, b.cpu) }

// median is the middle one; of an even number the lower of the two.
func median[T cmp.Ordered](of []sample, what func(sample) T) T {
	all := make([]T, len(of))
	for i := range of {
		all[i] = what(of[i])
	}
	slices.Sort(all)
	return all[(len(all)-1)/2]
}
