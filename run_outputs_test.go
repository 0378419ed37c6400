package graphd_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphd/graphd"
)

// runTwo runs a graph with two outputs, more than one batch of each, and says what it came to.
func runTwo(t *testing.T, events int, c graphd.RunConfig) error {
	t.Helper()
	d, err := graphd.ParseDeclaration([]byte(`
graph: two
accumulators: { xs: {} }
reactor: { strategy: sequential }
nodes: { y: { expr: xs.n * 2 } }
outputs: { a: { from: xs, sink: { drop: {} } }, b: { from: y, sink: { drop: {} } } }
`), "")
	if err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for i := range events {
		fmt.Fprintf(&lines, "{\"n\":%d}\n", i)
	}
	if c.Inputs == nil {
		c.Inputs, c.Stdin = map[string]string{"xs": "-"}, strings.NewReader(lines.String())
	}
	_, err = d.Run(t.Context(), c)
	return err
}

// Outputs that name one file share it: every value of each is there, in the order of the epochs,
// whatever the file is called.
func TestRunOutputsShareAFile(t *testing.T) {
	t.Parallel()
	const events = 3000
	want := func(lines *strings.Builder) string {
		for i := range events {
			fmt.Fprintf(lines, "{\"epoch\":%d,\"key\":null,\"output\":\"a\",\"value\":{\"n\":%d}}\n", i+1, i)
			fmt.Fprintf(lines, "{\"epoch\":%d,\"key\":null,\"output\":\"b\",\"value\":%d}\n", i+1, 2*i)
		}
		return lines.String()
	}(&strings.Builder{})
	dir := t.TempDir()
	real := filepath.Join(dir, "both.ndjson")
	link := filepath.Join(dir, "link.ndjson")
	if err := os.WriteFile(real, []byte("of before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{real, dir + "/./both.ndjson", link} {
		outputs := map[string]string{"a": real, "b": other}
		if err := runTwo(t, events, graphd.RunConfig{Outputs: outputs, Stdout: io.Discard}); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(real); err != nil || string(got) != want {
			t.Errorf("with %s: %d bytes of %d: %v", other, len(got), len(want), err)
		}
	}

	f, err := os.Create(filepath.Join(dir, "stdout.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if err := runTwo(t, events, graphd.RunConfig{Outputs: map[string]string{"b": f.Name()}, Stdout: f}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(f.Name()); err != nil || string(got) != want {
		t.Errorf("with the file that is standard output: %d bytes of %d: %v", len(got), len(want), err)
	}
}

// An output does not empty what the run is about to read.
func TestRunOutputIsNoInput(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "xs.ndjson")
	if err := os.WriteFile(path, []byte("{\"n\":1}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for _, input := range []string{path, "-"} {
		err := runTwo(t, 0, graphd.RunConfig{
			Inputs: map[string]string{"xs": input}, Stdin: f,
			Outputs: map[string]string{"a": path}, Stdout: io.Discard,
		})
		if !errors.Is(err, graphd.ErrConfig) || !strings.Contains(err.Error(), "is also an input") {
			t.Errorf("input %s: got %v", input, err)
		}
	}
	if left, err := os.ReadFile(path); err != nil || string(left) != "{\"n\":1}\n" {
		t.Errorf("the input is now %q: %v", left, err)
	}
}

// A run asks for files of the inputs that can be given one, and not of the stages that nodes feed.
func TestRunAsksForFiles(t *testing.T) {
	t.Parallel()
	d, err := graphd.ParseDeclaration([]byte(`
graph: staged
accumulators: { minutes: { from: n }, visits: { strategy: sequential } }
nodes: { n: { expr: visits } }
outputs: { o: { from: minutes, sink: { drop: {} } } }
`), "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.Run(t.Context(), graphd.RunConfig{})
	if want := "at least one of the inputs visits with --input visits=PATH"; !errors.Is(err, graphd.ErrNoInput) ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("%v; want %s", err, want)
	}
	_, err = d.Run(t.Context(), graphd.RunConfig{Inputs: map[string]string{"visit": "-"}})
	if want := `no input "visit"; it has visits`; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v; want %s", err, want)
	}
}

// A join has no events of its own: its sides have.
func TestRunGivesNoFileToAJoin(t *testing.T) {
	t.Parallel()
	d, err := graphd.ParseDeclaration([]byte(`
graph: joined
accumulators:
  orders: { time: event.at }
  payments: { time: event.at }
  paid: { join: { left: orders, right: payments, on: id, within: 1m } }
nodes: { y: { expr: paid.matched } }
outputs: { o: { from: y, sink: { drop: {} } } }
`), "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.Run(t.Context(), graphd.RunConfig{Inputs: map[string]string{"paid": "-"}, Stdin: strings.NewReader("")})
	if !errors.Is(err, graphd.ErrConfig) || !strings.Contains(err.Error(), "a join of orders and payments") {
		t.Errorf("got %v", err)
	}
}
