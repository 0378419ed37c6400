package builtin

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/builtin/turns"
	"github.com/graphd/graphd/internal/expression"
)

// heavy is a declaration of many nodes, each with a pattern that takes a hundredth of a second to compile.
func heavy(nodes int) func() ([]byte, error) {
	var doc strings.Builder
	doc.WriteString("graph: g\naccumulators: { a: { source: { websocket: {} } } }\nnodes:\n")
	for i := range nodes {
		pattern := strings.Repeat("[a-z]{1,900}", 5) + strconv.Itoa(i)
		fmt.Fprintf(&doc, "  n%d: { expr: 'a matches \"%s\"' }\n", i, pattern)
	}
	return func() ([]byte, error) { return []byte(doc.String()), nil }
}

// TestNobodyWaits: a declaration whose sender has gone is not compiled to its end (A4).
func TestNobodyWaits(t *testing.T) {
	t.Parallel()
	k := &Kinds{Turns: turns.New(2)}
	began := time.Now()
	if _, err := k.ParseFor(t.Context(), "another", heavy(10), ""); err != nil { // the control
		t.Fatal(err)
	}
	whole := 100 * time.Since(began)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	began = time.Now()
	_, err := k.ParseFor(ctx, "acme", heavy(1000), "")
	if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took > whole/2 {
		t.Errorf("it ended with %v after %v, and all of it takes %v", err, took, whole)
	}
	if used, _ := k.Turns.Used(); used != 0 {
		t.Errorf("%d turns are taken", used)
	}
}

// TestTurnsOfWhoHasGone: who has gone when the turn comes gives it back (A4).
func TestTurnsOfWhoHasGone(t *testing.T) {
	t.Parallel()
	k := &Kinds{Turns: turns.New(2)}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := k.ParseFor(ctx, "acme", heavy(1), ""); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	if used, _ := k.Turns.Used(); used != 0 {
		t.Errorf("%d turns are taken", used)
	}
}

// TestTurns: one tenant leaves room for others, and who waits too long is told so.
func TestTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := &Kinds{Turns: turns.New(2)}
		free, err := k.Turns.Take(t.Context(), "acme")
		if err != nil {
			t.Fatal(err)
		}
		early := func() ([]byte, error) { // what is to be done for the text is done within the turn
			t.Error("the text is made before it is its turn")
			return nil, nil
		}
		_, err = k.ParseFor(t.Context(), "acme", early, "")
		if e, ok := errors.AsType[*api.Error](err); !ok || e.Code != api.CodeBusy {
			t.Errorf("a second of the same tenant: %v", err)
		}
		other, err := k.Turns.Take(t.Context(), "other")
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			again, err := k.Turns.Take(t.Context(), "third")
			again()
			ended <- err
		}()
		synctest.Wait()
		other()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		free()
		if _, err := k.ParseFor(t.Context(), "acme", heavy(1), ""); err != nil {
			t.Errorf("with a turn that is free: %v", err)
		}
		unset := errors.New("unset")
		if _, err := k.ParseFor(t.Context(), "acme", func() ([]byte, error) { return nil, unset }, ""); err != unset {
			t.Errorf("without a text: %v", err)
		}
		if used, _ := k.Turns.Used(); used != 0 {
			t.Errorf("%d turns are taken", used)
		}
	})
}

// TestManyPartsAreAsked: a declaration of many inputs and outputs, each of which may have a mistake, is looked at no
// further when nobody waits any more (A4).
func TestManyPartsAreAsked(t *testing.T) {
	t.Parallel()
	const parts = 500
	var doc strings.Builder
	doc.WriteString("graph: g\naccumulators:\n")
	for i := range parts {
		fmt.Fprintf(&doc, "  a%d: { source: { websocket: {} } }\n", i)
	}
	doc.WriteString("nodes: { n: { expr: a0 } }\noutputs:\n")
	for i := range parts {
		fmt.Fprintf(&doc, "  o%d: { from: n, sink: { drop: {} } }\n", i)
	}
	compiling, asked := false, 0
	k := &Kinds{caller: expression.Caller{Gone: func() bool { asked++; return compiling }}}
	k.ParseOf("acme", []byte(doc.String()), "")
	all := asked
	compiling, asked = true, 0
	k.ParseOf("acme", []byte(doc.String()), "")
	if all < 2*parts || asked > all/2 {
		t.Errorf("%d parts are %d questions, and %d when nobody waits", 2*parts, all, asked)
	}
}
