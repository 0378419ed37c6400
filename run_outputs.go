package graphd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/sink/stdout"
)

// openOutputs opens where each output goes: Stdout unless it is named. Outputs may share a
// file, under one name or several; none may be a file that the run reads.
func (d *Declaration) openOutputs(ctx context.Context, c *RunConfig, inputs []*os.File) ([]sink.Sink, error) {
	places := newRunPlaces(c, inputs)
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
			sinks[i] = places.standard.Sink()
		case "drop":
		default:
			s, err := places.open(path)
			if err != nil {
				closeOutputs(ctx, sinks)
				return nil, fmt.Errorf("output %s: %w", name, err)
			}
			sinks[i] = s
		}
	}
	for name := range left {
		closeOutputs(ctx, sinks)
		return nil, fmt.Errorf("%w: the graph has no output %q", ErrConfig, name)
	}
	return sinks, nil
}

// runPlaces are the files of a run. A file has one writer, whatever it is called: two that each
// count their own place in it would overwrite each other.
type runPlaces struct {
	inputs   []fs.FileInfo
	standard *stdout.Output
	opened   []openedFile
}

type openedFile struct {
	info fs.FileInfo
	out  *stdout.Output
}

func newRunPlaces(c *RunConfig, inputs []*os.File) *runPlaces {
	p := &runPlaces{standard: stdout.NewOutput(c.Stdout)}
	for _, f := range inputs {
		if info, ok := regular(f); ok {
			p.inputs = append(p.inputs, info)
		}
	}
	if f, ok := c.Stdin.(*os.File); ok && slices.Contains(slices.Collect(maps.Values(c.Inputs)), "-") {
		if info, ok := regular(f); ok {
			p.inputs = append(p.inputs, info)
		}
	}
	if f, ok := c.Stdout.(*os.File); ok {
		if info, ok := regular(f); ok {
			p.opened = append(p.opened, openedFile{info, p.standard})
		}
	}
	return p
}

// regular is what is known of a file that keeps what is written to it.
func regular(f *os.File) (fs.FileInfo, bool) {
	info, err := f.Stat()
	return info, err == nil && info.Mode().IsRegular()
}

// open is the sink that writes to a path: on the writer of its file when that has one, else on
// one of its own, which empties the file.
func (p *runPlaces) open(path string) (sink.Sink, error) {
	if now, err := os.Stat(path); err == nil {
		for _, in := range p.inputs {
			if os.SameFile(in, now) {
				return nil, fmt.Errorf("%w: %s is also an input, and would be emptied; name another file",
					ErrConfig, path)
			}
		}
		for _, o := range p.opened {
			if os.SameFile(o.info, now) {
				return o.out.Sink(), nil
			}
		}
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDependency, err)
	}
	out := stdout.NewOutput(f)
	if info, ok := regular(f); ok {
		p.opened = append(p.opened, openedFile{info, out})
	}
	return &fileOutput{Sink: out.Sink(), f: f}, nil
}

// fileOutput is the output that opened a file, which has the form it has on Stdout.
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
