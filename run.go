package graphd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/job"
	"github.com/graphd/graphd/internal/outbound"
	"github.com/graphd/graphd/internal/source/file"
)

// RunConfig is one bounded run of a graph over files, under virtual time.
type RunConfig struct {
	// Inputs are the files by accumulator, "-" for Stdin: NDJSON, or CSV by the extension .csv, both
	// also packed with gzip or zstd, which their first bytes tell.
	Inputs map[string]string
	// Outputs are the files by output, or "drop"; every output not named goes to Stdout.
	Outputs map[string]string
	Stdin   io.Reader
	Stdout  io.Writer
	// Progress, when given, is called now and then with how far the run is.
	Progress func(RunProgress)
	// DeadLetter, when given, is told of every dead letter, in order; an error ends the run.
	DeadLetter func(RunDeadLetter) error
	// NoFlush leaves at the end what is not complete: open windows and batches, and what waits for
	// a timer, such as a debounce. Without it time goes on at the end of all inputs until it has closed and fired them.
	NoFlush bool
	// Calls has nodes call that call out, and lists what they may call beside public addresses: networks, addresses,
	// host names, and the words public, loopback and private. Without it they fail.
	Calls []string
}

// RunStats is what a run came to.
type RunStats = job.Stats

// RunInput is what became of the events of one input.
type RunInput = job.Input

// ErrNoInput says that a bounded run has nothing to read: no input at all, or none that stands in
// for a source which reads by itself.
var ErrNoInput = errors.New("input_missing")

// Run runs the graph over its inputs to their end. Failed epochs and dead letters are
// counted and are no errors; the same input gives the same bytes.
func (d *Declaration) Run(ctx context.Context, c RunConfig) (RunStats, error) {
	if names := d.fileInputs(); len(c.Inputs) == 0 {
		return RunStats{}, fmt.Errorf("%w: there is nothing to read: give a file to at least one of the inputs %s "+
			"with --input %s=PATH", ErrNoInput, strings.Join(names, ", "), names[0])
	}
	files := &runFiles{}
	defer files.close()
	cfg := job.Config{Unit: d.unit, NoFlush: c.NoFlush}
	if len(c.Calls) > 0 {
		guard, err := outbound.New(outbound.Config{Allow: c.Calls})
		if err != nil {
			return RunStats{}, fmt.Errorf("%w: calls: %w", ErrConfig, err)
		}
		cfg.Calls = guard
	}
	if c.Progress != nil {
		cfg.Progress = func(events int64) { c.Progress(files.progress(events)) }
	}
	if c.DeadLetter != nil {
		cfg.DeadLetter = func(l job.Letter) error { return c.DeadLetter(deadLetter(&l, c.Inputs)) }
	}
	var err error
	if cfg.Inputs, err = d.openInputs(&c, files); err != nil {
		return RunStats{}, err
	}
	if cfg.Sinks, err = d.openOutputs(ctx, &c, files.opened()); err != nil {
		return RunStats{}, err
	}
	defer context.AfterFunc(ctx, files.interrupt)()
	stats, err := job.Run(ctx, cfg)
	var missing *job.InputMissing
	if errors.As(err, &missing) {
		err = fmt.Errorf("%w: %w", ErrNoInput, err)
	}
	return stats, err
}

// openInputs opens the files of the inputs.
func (d *Declaration) openInputs(c *RunConfig, files *runFiles) ([]job.Reader, error) {
	accs := d.unit.Spec.Accumulators
	readers := make([]job.Reader, len(accs))
	for name, path := range c.Inputs {
		i := slices.Index(d.InputNames(), name)
		if i < 0 {
			return nil, fmt.Errorf("%w: the graph has no input %q; it has %s", ErrConfig, name,
				strings.Join(d.fileInputs(), ", "))
		}
		if accs[i].Fed() {
			return nil, fmt.Errorf("%w: the input %s is %s; give files to the others", ErrConfig, name, accs[i].FedBy())
		}
		src, pipe, err := files.open(path, c.Stdin)
		if err != nil {
			return nil, fmt.Errorf("input %s: %w", name, err)
		}
		format := lineFormat(path)
		if declared, ok := accs[i].Source.Config.(interface{ LineFormat() string }); ok && path == "-" {
			format = declared.LineFormat()
		}
		r, err := file.NewReader(src, file.ReaderConfig{Format: format, Schema: accs[i].Schema})
		if err != nil {
			return nil, fmt.Errorf("input %s: %w", name, err)
		}
		readers[i] = &runReader{Reader: r, pipe: pipe}
	}
	return readers, nil
}

// InputNames are the graph's accumulators, in declaration order.
func (d *Declaration) InputNames() []string {
	var names []string
	for _, in := range d.unit.Inputs() {
		names = append(names, in.Name)
	}
	return names
}

// fileInputs are the inputs that can be given a file: those that no node feeds, or all where there is none.
func (d *Declaration) fileInputs() []string {
	var names []string
	for i := range d.unit.Spec.Accumulators {
		if a := &d.unit.Spec.Accumulators[i]; !a.Fed() {
			names = append(names, a.Name)
		}
	}
	if len(names) == 0 {
		return d.InputNames()
	}
	return names
}

// Sides are the inputs that a run can be given files for and joins pair.
func (d *Declaration) Sides() []string {
	var names []string
	for i := range d.unit.Spec.Accumulators {
		if a := &d.unit.Spec.Accumulators[i]; a.JoinedBy != "" && !a.Fed() {
			names = append(names, a.Name)
		}
	}
	return names
}

// OutputNames are the graph's outputs, in declaration order.
func (d *Declaration) OutputNames() []string {
	var names []string
	for i := range d.unit.Spec.Outputs {
		names = append(names, d.unit.Spec.Outputs[i].Name)
	}
	return names
}
