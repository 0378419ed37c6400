package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/language"
	"github.com/graphd/graphd/internal/language/text"
	"github.com/graphd/graphd/internal/policy"
	"github.com/graphd/graphd/internal/scenario"
	"github.com/graphd/graphd/internal/spec/decode"
)

const (
	// runCommand runs the tests of a test document, its argument, or the one case of it that the second names.
	runCommand = "graphd.test"
	// runWithin is how long the tests of one document may take: who waits before an editor waits no longer.
	runWithin = time.Minute
)

// errLater is no error: the answer comes when it is there.
var errLater = errors.New("it is answered later")

// runs are the tests that run: those of one document at a time.
type runs struct {
	id   json.RawMessage
	uri  string
	stop context.CancelFunc
	done chan *run // nil while none run
}

// run is what came of tests.
type run struct {
	Passed int       `json:"passed"`
	Failed int       `json:"failed"`
	Cases  []outcome `json:"cases"`

	uri, path string
	text      *text.Text
	err       error
}

// outcome is what became of a case.
type outcome struct {
	Case     string   `json:"case"`
	Line     int      `json:"line"`
	Passed   bool     `json:"passed"`
	Failures []string `json:"failures"`
}

// testsOf stands for the tests of a document among what is told.
func testsOf(uri string) string { return "tests of " + uri }

// testsBeside is the test document of a declaration, "" for none.
func (s *server) testsBeside(doc *document) string {
	if doc.path == "" {
		return ""
	}
	base := strings.TrimSuffix(doc.path, filepath.Ext(doc.path)) + "_test"
	for _, path := range []string{base + ".yaml", base + ".yml"} {
		if _, err := os.Stat(path); err == nil || s.documents.open[s.documents.uriOf(path)] != nil {
			return path
		}
	}
	return ""
}

// declarationOf is the path of the declaration that a test document is about.
func declarationOf(path string) (string, bool) {
	ext := filepath.Ext(path)
	base, ok := strings.CutSuffix(strings.TrimSuffix(path, ext), "_test")
	return base + ext, ok
}

// tested is what is declared by the declaration of a test document.
func (s *server) tested(doc *document) []file {
	path, ok := declarationOf(doc.path)
	if !ok {
		return nil
	}
	if of := s.documents.open[s.documents.uriOf(path)]; of != nil {
		files, _ := s.documents.around(of)
		return files
	}
	var operator *policy.Policy
	data, err := operator.Read(path, decode.MaxBytes)
	if err != nil {
		return nil
	}
	if x := language.NewIndex(text.New(string(data))); x != nil {
		return []file{{s.documents.uriOf(path), x}}
	}
	return nil
}

func (s *server) lenses(p *documentParams) ([]lens, error) {
	doc, err := s.documents.find(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	list := []lens{}
	x := s.documents.knownOf(doc).index
	if x == nil {
		return list, nil
	}
	add := func(n language.Name, title string, arguments ...string) {
		at := x.Text.Range(n.From, n.To)
		list = append(list, lens{at, command{title, runCommand, arguments}})
	}
	switch s.documents.knownOf(doc).is {
	case declaration:
		if path := s.testsBeside(doc); path != "" {
			add(x.Graph, "Run tests", s.documents.uriOf(path))
		}
	case tests:
		add(x.Graph, "Run all tests", doc.uri)
		for _, n := range x.Names {
			if n.Section == language.Cases && n.Name != "" {
				add(n, "Run this test", doc.uri, n.Name)
			}
		}
	}
	return list, nil
}

// command begins to run tests.
func (s *server) command(ctx context.Context, id json.RawMessage, p *commandParams) error {
	switch {
	case p.Command != runCommand:
		return &failure{invalidParams, fmt.Sprintf("there is no command %s; there is %s", shortened(p.Command),
			runCommand)}
	case len(p.Arguments) < 1 || len(p.Arguments) > 2 || pathOf(p.Arguments[0]) == "":
		return &failure{invalidParams, runCommand + " needs the URI of a test document, and can have the name of a " +
			"case"}
	case s.runs.done != nil:
		return &failure{invalidRequest, "tests are running; wait for them, or cancel them"}
	}
	within, stop := context.WithTimeout(ctx, runWithin)
	done := make(chan *run, 1)
	uri, only := p.Arguments[0], ""
	if len(p.Arguments) == 2 {
		only = p.Arguments[1]
	}
	s.runs = runs{id, uri, stop, done}
	open, kinds := s.documents.texts(), s.kinds
	go func() { // joined by Serve, which waits for the result
		r := &run{uri: uri, path: pathOf(uri), Cases: []outcome{}}
		defer func() {
			if p := recover(); p != nil {
				r.err = fmt.Errorf("graphd made a mistake of its own while it ran the tests: %v", p)
			}
			done <- r
		}()
		r.err = r.do(within, kinds, open, only)
	}()
	return errLater
}

// cancel gives up tests that run.
func (s *server) cancel(p *cancelParams) error {
	if s.runs.done != nil && string(s.runs.id) == string(p.ID) {
		s.runs.stop()
	}
	return nil
}

// end gives up tests that run, and waits for them.
func (r *runs) end() {
	if r.done != nil {
		r.stop()
		<-r.done
	}
}

// read is a file as the editor has it.
func read(path string, open map[string]string) ([]byte, error) {
	if edited, ok := open[path]; ok {
		return []byte(edited), nil
	}
	var operator *policy.Policy
	return operator.Read(path, decode.MaxBytes)
}

// do runs the tests as graphd test does, on what is open in the editor.
func (r *run) do(ctx context.Context, kinds *builtin.Kinds, open map[string]string, only string) error {
	data, err := read(r.path, open)
	if err != nil {
		return err
	}
	r.text = text.New(string(data))
	cases, err := scenario.Parse(data, filepath.Base(r.path))
	if err != nil {
		return err
	}
	path, ok := declarationOf(r.path)
	if !ok {
		return fmt.Errorf("%s is not named NAME_test.yaml, so there is no telling which declaration it tests", r.path)
	}
	if data, err = read(path, open); err != nil {
		return err
	}
	whole, err := makeWhole(&document{path: path, text: text.New(string(data))}, open, map[string]*text.Text{})
	if err != nil {
		return err
	}
	unit, err := kinds.ParseFor(ctx, checkpoint.DefaultTenant, func() ([]byte, error) { return whole.Text, nil }, path)
	invalid := new(api.Error)
	if errors.As(err, &invalid) && len(invalid.Diagnostics) > 0 {
		err = whole.Place(invalid.Diagnostics)
	}
	switch {
	case err != nil:
		return err
	case unit.Spec.Name != cases.Graph:
		return fmt.Errorf("%s tests graph %q, but %s declares %q", r.path, cases.Graph, path, unit.Spec.Name)
	}
	if only != "" {
		all := cases.Cases
		cases.Cases = nil
		for _, c := range all {
			if c.Name == only {
				cases.Cases = append(cases.Cases, c)
			}
		}
		if len(cases.Cases) == 0 {
			return fmt.Errorf("%s has no case %q", r.path, only)
		}
	}
	outcomes, err := scenario.Run(ctx, unit, cases)
	for _, o := range outcomes {
		if len(o.Failures) == 0 {
			r.Passed++
		} else {
			r.Failed++
		}
		r.Cases = append(r.Cases, outcome{o.Case, o.Line, len(o.Failures) == 0, append([]string{}, o.Failures...)})
	}
	return err
}

// ran answers who asked for the tests, and shows those that failed where they stand.
func (s *server) ran(r *run) {
	id := s.runs.id
	s.runs.stop()
	s.runs = runs{}
	const info, failed = 3, 1
	show := func(kind int, what string) {
		s.notify("window/showMessage", map[string]any{"type": kind, "message": what})
	}
	switch {
	case errors.Is(r.err, context.Canceled):
		s.fail(id, &failure{cancelled, "the tests were cancelled"})
		return
	case errors.Is(r.err, context.DeadlineExceeded):
		r.err = fmt.Errorf("the tests have not ended after %s; graphd test takes as long as it takes", runWithin)
		fallthrough
	case r.err != nil:
		show(failed, "The tests were not run: "+r.err.Error())
		s.fail(id, &failure{internalError, r.err.Error()})
		return
	}
	var found []diagnostic
	for _, c := range r.Cases {
		for _, f := range c.Failures {
			found = append(found, diagnostic{Range: r.text.Marked(r.text.Begin(c.Line)), Severity: severityError,
				Source: "graphd test", Message: c.Case + ": " + f})
		}
	}
	s.tell(testsOf(r.uri), map[string][]diagnostic{r.uri: found})
	if r.Failed > 0 {
		show(failed, fmt.Sprintf("%d of %d tests failed", r.Failed, len(r.Cases)))
	} else {
		show(info, fmt.Sprintf("%d tests passed", r.Passed))
	}
	content, err := json.Marshal(r)
	if err != nil {
		s.fail(id, &failure{internalError, err.Error()})
		return
	}
	s.write(message{ID: id, Result: content})
}
