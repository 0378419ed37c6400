package main

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"
	"time"
)

// The test document, with the functions of the program.
func TestDocument(t *testing.T) {
	outcomes, err := registry(io.Discard, time.Second).TestDeclaration(t.Context(), "embedded_test.yaml")
	if err != nil || len(outcomes) != 3 {
		t.Fatalf("%d cases, %v", len(outcomes), err)
	}
	for _, o := range outcomes {
		for _, f := range o.Failures {
			t.Errorf("%s: %s", o.Case, f)
		}
	}
}

// The fold is pure, and goes on after a restart wherever it was.
func TestLongest(t *testing.T) {
	a := registry(io.Discard, time.Second).Accumulators["longest"]
	visit := func(seconds any) map[string]any { return map[string]any{"seconds": seconds} }
	err := a.Check(map[string]any{"least": 10}, visit(5), visit(20), visit("x"), visit(15), visit(30))
	if err != nil {
		t.Error(err)
	}
}

// The program as it runs: from the source through the node to the sink.
func TestProgram(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := run(ctx, w, time.Millisecond)
		w.Close()
		done <- err
	}()
	lines := bufio.NewScanner(r)
	want := []string{"look inside with", "visitor 2 stays 54 s too long", "visitor 4 stays 28 s too long"}
	for _, text := range want {
		if !lines.Scan() || !strings.HasPrefix(lines.Text(), text) {
			t.Errorf("got %q, want %q", lines.Text(), text)
		}
	}
	cancel()
	go io.Copy(io.Discard, r) // what it prints while it stops
	if err := <-done; err != nil {
		t.Error(err)
	}
}
