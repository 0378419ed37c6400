package trial

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/builtin/turns"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/engine/heap"
	"github.com/graphd/graphd/internal/scenario"
	"github.com/graphd/graphd/internal/spec/decode"
)

// The bounds of tests that were sent.
const (
	MaxTests = 1 << 20 // bytes of their document
	MaxCases = 200
	// MaxTime is how long they may run, MaxMemory by how many bytes what is live in the daemon may grow meanwhile.
	MaxTime   = 10 * time.Second
	MaxMemory = 256 << 20
	// waitTurn is how long they wait for those before them.
	waitTurn = 5 * time.Second
	// maxFailures are shown of one case, maxText bytes of each.
	maxFailures, maxText = 50, 2000
	// look is how often the memory is looked at.
	look = 20 * time.Millisecond
)

// Parser compiles declarations that are sent.
type Parser interface {
	ParseFor(ctx context.Context, tenant string, document func() ([]byte, error), name string) (*compile.Unit, error)
}

// Bench runs tests. It is safe for concurrent use.
type Bench struct {
	parser Parser
	memory heap.Reader
	turns  *turns.Turns
	most   time.Duration // MaxTime
}

// New runs two tests at one time, one of a tenant, which has half a processor's time for it.
func New(p Parser, memory heap.Reader) *Bench { return &Bench{p, memory, turns.New(1), MaxTime} }

func refuse(status int, code, format string, args ...any) error {
	return &api.Error{Status: status, Code: code, Detail: fmt.Sprintf(format, args...)}
}

func tooLarge(format string, args ...any) error {
	return refuse(http.StatusUnprocessableEntity, api.CodeTestsTooLarge, format, args...)
}

// Test runs the tests of a declaration under virtual time, each case on a graph of its own. Nothing is applied, read or
// put out: what the tests do not give is not there.
func (b *Bench) Test(ctx context.Context, g api.Ref, d *Declaration, tests string) (none api.TestResult, err error) {
	switch {
	case len(d.Text) == 0 || tests == "":
		missing := "declaration"
		if tests == "" {
			missing = "tests"
		}
		return none, refuse(http.StatusBadRequest, api.CodeInvalidBody, "%s is missing or empty: it is the text of a "+
			"document, as YAML or JSON, and a request has declaration and tests", missing)
	case len(tests) > MaxTests:
		return none, tooLarge("the tests have %d bytes, and may have %d: send some of them at a time, or run "+
			"'graphd test' where the files are", len(tests), MaxTests)
	}
	unit, err := b.parser.ParseFor(ctx, g.Tenant, d.Whole, "")
	if err != nil {
		return none, Placed(err, d.Place)
	}
	if err := Misnamed(unit.Spec.Name, g.Name); err != nil {
		return none, err
	}
	free, err := b.turn(ctx, g.Tenant)
	if err != nil {
		return none, err
	}
	defer free()
	doc, err := read(tests, g.Name)
	if err != nil {
		return none, err
	}
	return b.run(ctx, unit, doc)
}

// turn waits until tests may run.
func (b *Bench) turn(ctx context.Context, tenant string) (free func(), err error) {
	waits, cancel := context.WithTimeout(ctx, waitTurn)
	defer cancel()
	free, err = b.turns.Take(waits, tenant)
	switch {
	case err == nil:
		return free, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, turns.ErrSpent):
		return nil, refuse(http.StatusServiceUnavailable, api.CodeBusy, "this tenant's tests have taken more than "+
			"half of a processor's time; run fewer, or try again later")
	}
	return nil, refuse(http.StatusServiceUnavailable, api.CodeBusy, "other tests are running; try again")
}

// read reads a document of tests for a graph.
func read(tests, graph string) (*scenario.Document, error) {
	doc, err := scenario.Parse([]byte(tests), "")
	if err == nil && doc.Graph != graph {
		err = scenario.Whole("", fmt.Sprintf("the tests are of graph %q, and the declaration of %q: make them equal",
			doc.Graph, graph))
	}
	if err != nil {
		var found api.Diagnostics
		for _, m := range scenario.Mistakes(err) {
			found = append(found, api.Diagnostic{Line: m.Line, Column: m.Column, Path: m.Path,
				Code: api.CodeTestsInvalid, Text: m.Text})
		}
		return nil, &api.Error{Status: http.StatusUnprocessableEntity, Code: api.CodeTestsInvalid,
			Detail: "the tests have " + api.Mistakes(len(found)) + ", and were not run", Diagnostics: found}
	}
	if len(doc.Cases) > MaxCases {
		return nil, tooLarge("there are %d cases, and may be %d: send some of them at a time", len(doc.Cases), MaxCases)
	}
	return doc, nil
}

var errMemory = errors.New("memory")

// run runs the cases within the bounds.
func (b *Bench) run(ctx context.Context, u *compile.Unit, doc *scenario.Document) (none api.TestResult, err error) {
	timed, cancel := context.WithTimeout(ctx, b.most)
	defer cancel()
	within, end := context.WithCancelCause(timed)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		b.watch(within, end)
	}()
	outcomes, err := scenario.Run(within, u, doc)
	end(nil)
	<-watched
	switch {
	case err == nil:
		return told(outcomes), nil
	case ctx.Err() != nil:
		return none, ctx.Err()
	case errors.Is(context.Cause(within), errMemory):
		return none, tooLarge("what the daemon holds has grown by %d MiB while case %q ran, and the tests were broken "+
			"off: let them do less, or run 'graphd test' where the files are", MaxMemory>>20,
			doc.Cases[len(outcomes)].Name)
	}
	return none, tooLarge("the tests took longer than %s, and were broken off in case %q: let them do less, or run "+
		"'graphd test' where the files are", b.most, doc.Cases[len(outcomes)].Name)
}

// watch ends the tests when they hold too much, until ctx is done.
func (b *Bench) watch(ctx context.Context, end context.CancelCauseFunc) {
	began, _ := b.memory()
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		used, limit := b.memory()
		if used-began > MaxMemory || limit > 0 && used > began && used >= limit/100*heap.Near {
			end(errMemory)
			return
		}
	}
}

// told is what became of the cases.
func told(outcomes []scenario.Outcome) api.TestResult {
	result := api.TestResult{Cases: make([]api.TestCase, len(outcomes))}
	for i := range outcomes {
		o := &outcomes[i]
		c := api.TestCase{Case: o.Case, Line: o.Line, Passed: len(o.Failures) == 0, Failures: []api.TestFailure{}}
		for k, text := range o.Failures {
			if k == maxFailures {
				c.Failures = append(c.Failures, api.TestFailure{Line: o.Line,
					Text: fmt.Sprintf("and %d more", len(o.Failures)-k)})
				break
			}
			text = decode.Shorten(strings.TrimPrefix(text, fmt.Sprintf(":%d: ", o.At[k])), maxText)
			c.Failures = append(c.Failures, api.TestFailure{Line: o.At[k], Text: text})
		}
		if result.Cases[i] = c; c.Passed {
			result.Passed++
		} else {
			result.Failed++
		}
	}
	return result
}
