package graphd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/job"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/sink/stdout"
	"github.com/graphd/graphd/internal/source/file"
)

// RunConfig is one bounded run of a graph over files, under virtual time.
type RunConfig struct {
	// Inputs are the files by accumulator, "-" for Stdin. NDJSON, or CSV by the extension .csv.
	Inputs map[string]string
	// Outputs are the files by output, or "drop"; every output not named goes to Stdout.
	Outputs map[string]string
	Stdin   io.Reader
	Stdout  io.Writer
	// Progress, when given, is called now and then with the events read so far.
	Progress func(events int64)
}

// RunStats is what a run came to.
type RunStats = job.Stats

// Run runs the graph over its inputs to their end. Failed epochs and dead letters are
// counted and are no errors; the same input gives the same bytes.
func (d *Declaration) Run(ctx context.Context, c RunConfig) (RunStats, error) {
	cfg := job.Config{Unit: d.unit, Progress: c.Progress}
	inputs, close, err := d.openInputs(&c)
	defer close()
	if err != nil {
		return RunStats{}, err
	}
	cfg.Inputs = inputs
	if cfg.Sinks, err = d.openOutputs(ctx, &c); err != nil {
		return RunStats{}, err
	}
	stats, err := job.Run(ctx, cfg)
	var missing *job.InputMissing
	if errors.As(err, &missing) {
		err = fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return stats, err
}

// openInputs opens the files of the inputs; close is to be called in any case.
func (d *Declaration) openInputs(c *RunConfig) (readers []job.Reader, closeAll func(), err error) {
	var open []io.Closer
	closeAll = func() {
		for _, f := range open {
			_ = f.Close() // they were only read
		}
	}
	accs := d.unit.Spec.Accumulators
	readers = make([]job.Reader, len(accs))
	for name, path := range c.Inputs {
		i := slices.IndexFunc(d.unit.Inputs(), func(in reactor.Input) bool { return in.Name == name })
		if i < 0 {
			return nil, closeAll, fmt.Errorf("%w: the graph has no input %q; it has %s", ErrConfig, name,
				strings.Join(d.InputNames(), ", "))
		}
		src := c.Stdin
		format := "ndjson"
		if path != "-" {
			f, err := os.Open(path)
			if err != nil {
				return nil, closeAll, fmt.Errorf("input %s: %w", name, err)
			}
			open, src = append(open, f), f
			if strings.EqualFold(filepath.Ext(path), ".csv") {
				format = "csv"
			}
		}
		if declared, ok := accs[i].Source.Config.(interface{ LineFormat() string }); ok && path == "-" {
			format = declared.LineFormat()
		}
		if readers[i], err = file.NewReader(src, file.ReaderConfig{
			Format: format, Schema: accs[i].Schema,
		}); err != nil {
			return nil, closeAll, fmt.Errorf("input %s: %w", name, err)
		}
	}
	return readers, closeAll, nil
}

// InputNames are the graph's accumulators, in declaration order.
func (d *Declaration) InputNames() []string {
	var names []string
	for _, in := range d.unit.Inputs() {
		names = append(names, in.Name)
	}
	return names
}

// openOutputs opens where each output goes: Stdout unless it is named.
func (d *Declaration) openOutputs(ctx context.Context, c *RunConfig) ([]sink.Sink, error) {
	shared := stdout.NewOutput(c.Stdout)
	sinks := make([]sink.Sink, len(d.unit.Spec.Outputs))
	left := make(map[string]bool, len(c.Outputs))
	for name := range c.Outputs {
		left[name] = true
	}
	for i := range sinks {
		name := d.unit.Spec.Outputs[i].Name
		delete(left, name)
		switch path := c.Outputs[name]; path {
		case "":
			sinks[i] = shared.Sink()
		case "drop":
		default:
			f, err := os.Create(path)
			if err != nil {
				closeOutputs(ctx, sinks)
				return nil, fmt.Errorf("%w: output %s: %w", ErrDependency, name, err)
			}
			sinks[i] = &fileOutput{Sink: stdout.NewOutput(f).Sink(), f: f}
		}
	}
	for name := range left {
		closeOutputs(ctx, sinks)
		return nil, fmt.Errorf("%w: the graph has no output %q", ErrConfig, name)
	}
	return sinks, nil
}

// fileOutput is an output that goes to a file of its own, in the form it has on Stdout.
type fileOutput struct {
	*stdout.Sink
	f *os.File
}

// Close closes the file: only then is it known that everything was written.
func (o *fileOutput) Close(ctx context.Context) error {
	return errors.Join(o.Sink.Close(ctx), o.f.Close())
}

// closeOutputs closes what was opened of a run that does not begin.
func closeOutputs(ctx context.Context, sinks []sink.Sink) {
	for _, s := range sinks {
		if s != nil {
			_ = s.Close(ctx) // nothing was written
		}
	}
}
