package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/graphd/graphd"
)

// graphdOver runs a query over the files of dir and puts out its lines to out.
func (q *query) graphdOver(ctx context.Context, dir string, out io.Writer) error {
	if q.live {
		return q.liveOver(ctx, dir, out)
	}
	text, err := q.declaration()
	if err != nil {
		return err
	}
	d, err := graphd.ParseDeclaration(text, q.name+".yaml")
	if err != nil {
		return err
	}
	inputs := map[string]string{}
	for _, name := range q.inputs {
		inputs[name] = filepath.Join(dir, name+".ndjson")
	}
	stats, err := d.Run(ctx, graphd.RunConfig{Inputs: inputs, Stdout: out})
	if err != nil {
		return err
	}
	if stats.DeadLetters > 0 || stats.LateDropped > 0 {
		return fmt.Errorf("%s has lost events: %+v", q.name, stats)
	}
	return nil
}

// lines is how many a file has.
func lines(path string) (n int64, err error) {
	in, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	for buf := make([]byte, 256<<10); ; {
		read, err := in.Read(buf)
		n += int64(bytes.Count(buf[:read], []byte{'\n'}))
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return n, err
		}
	}
}

// liveOver has a daemon read the files of dir and write what the declaration says, which goes to out afterwards, or
// nowhere where that is nil.
func (q *query) liveOver(ctx context.Context, dir string, out io.Writer) (err error) {
	work, err := os.MkdirTemp(dir, q.name+"-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	text, err := q.declaration()
	if err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(work, "log"), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(work, q.name+".yaml"), text, 0o600); err != nil {
		return err
	}
	var events int64
	for _, name := range q.inputs {
		from := filepath.Join(dir, name+".ndjson")
		n, err := lines(from)
		if err != nil {
			return err
		}
		events += n
		if err := os.Link(from, filepath.Join(work, name+".ndjson")); err != nil {
			return err
		}
	}
	if err := serve(ctx, work, q.name, events); err != nil || out == nil {
		return err
	}
	return collect(filepath.Join(work, "log"), out)
}

// serve runs a daemon over the declarations in dir until the graph has consumed so many events, and delivered them.
func serve(ctx context.Context, dir, graph string, events int64) error {
	d, err := graphd.New(ctx, graphd.Config{
		Store: "memory:", Listen: graphd.ListenNone, Graphs: dir, Stdout: io.Discard,
	})
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- d.Run(serving) }() // joined below
	consumed := func() bool {
		g, err := d.Graph(ctx, graph)
		return err == nil && g.Counters.Consumed == events && g.Counters.Queued == 0
	}
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for !consumed() {
		select {
		case <-look.C:
		case err := <-ended:
			stop()
			return errors.Join(errors.New("the daemon ended by itself"), err)
		case <-ctx.Done():
			stop()
			return errors.Join(ctx.Err(), <-ended)
		}
	}
	stop()
	return <-ended // its sinks have written everything
}

// collect writes the lines of all files below a folder to out, and holds that each stands where its value says.
func collect(folder string, out io.Writer) error {
	return filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		minute := strings.TrimSuffix(filepath.Base(path), ".ndjson")
		want := fmt.Appendf(nil, `"day":%q`, filepath.Base(filepath.Dir(path)))
		for line := range bytes.Lines(text) {
			if !bytes.Contains(line, want) || !bytes.Contains(line, fmt.Appendf(nil, `"minute":%q`, minute)) {
				return fmt.Errorf("%s has a line of another file: %s", path, line)
			}
		}
		_, err = out.Write(text)
		return err
	})
}

// plainOver runs the plain program over the files of dir.
func (q *query) plainOver(dir string, put func(line []byte) error) error {
	p := &plain{dir: dir, put: put}
	q.plain(p)
	return p.err
}

// check runs a query and its plain program over the files of dir, and says how many values come out of the latter.
func (q *query) check(ctx context.Context, dir string) (values int64, err error) {
	want, got := tallies(q)
	if err := q.plainOver(dir, want.plain); err != nil {
		return 0, err
	}
	if err := q.graphdOver(ctx, dir, got); err != nil {
		return 0, fmt.Errorf("%s: %w", q.name, err)
	}
	if text := got.differs(want); text != "" {
		return 0, fmt.Errorf("%s puts out %s", q.name, text)
	}
	return want.n, nil
}
