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
	inputs, open, err := d.openInputs(&c)
	defer func() {
		for _, f := range open {
			_ = f.Close() // they were only read
		}
	}()
	if err != nil {
		return RunStats{}, err
	}
	cfg.Inputs = inputs
	if cfg.Sinks, err = d.openOutputs(ctx, &c, open); err != nil {
		return RunStats{}, err
	}
	stats, err := job.Run(ctx, cfg)
	var missing *job.InputMissing
	if errors.As(err, &missing) {
		err = fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return stats, err
}

// openInputs opens the files of the inputs; they are to be closed in any case.
func (d *Declaration) openInputs(c *RunConfig) (readers []job.Reader, open []*os.File, err error) {
	accs := d.unit.Spec.Accumulators
	readers = make([]job.Reader, len(accs))
	for name, path := range c.Inputs {
		i := slices.IndexFunc(d.unit.Inputs(), func(in reactor.Input) bool { return in.Name == name })
		if i < 0 {
			return nil, open, fmt.Errorf("%w: the graph has no input %q; it has %s", ErrConfig, name,
				strings.Join(d.InputNames(), ", "))
		}
		src := c.Stdin
		format := "ndjson"
		if path != "-" {
			f, err := os.Open(path)
			if err != nil {
				return nil, open, fmt.Errorf("input %s: %w", name, err)
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
			return nil, open, fmt.Errorf("input %s: %w", name, err)
		}
	}
	return readers, open, nil
}

// InputNames are the graph's accumulators, in declaration order.
func (d *Declaration) InputNames() []string {
	var names []string
	for _, in := range d.unit.Inputs() {
		names = append(names, in.Name)
	}
	return names
}
