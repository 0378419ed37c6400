package lsp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/language"
	"github.com/graphd/graphd/internal/language/text"
	"github.com/graphd/graphd/internal/policy"
	"github.com/graphd/graphd/internal/scenario"
	"github.com/graphd/graphd/internal/spec/assembly"
	"github.com/graphd/graphd/internal/spec/decode"
)

// checks are the documents that are to be checked. One is checked at a time.
type checks struct {
	wanted map[string]bool // by URI
	timer  *time.Timer
	ready  bool // the timer has run out since the last change
	// now is the document that is being checked, and stop gives that up.
	now  string
	stop context.CancelFunc
	done chan *result // nil while none is being checked
}

// result is what came of the check of a document.
type result struct {
	doc   *document
	found map[string][]api.Diagnostic // by path, "" for a document that is no file
	hints map[string][]api.Diagnostic
	texts map[string]*text.Text      // of the files that it includes
	unit  *compile.Unit              // nil where there are mistakes
	index map[string]*language.Index // of these
	over  bool                       // it was given up, and says nothing
}

// touched has a document checked anew, and every one that may include it.
func (s *server) touched(uri string) {
	c := &s.checks
	if c.wanted == nil {
		c.wanted = map[string]bool{}
	}
	c.wanted[uri] = true
	if c.done != nil && c.now == uri {
		c.stop()
	}
	for other := range s.documents.told {
		if _, about := s.documents.told[other][uri]; about && s.documents.open[other] != nil {
			c.wanted[other] = true
		}
	}
	if c.ready = false; c.timer == nil {
		c.timer = time.NewTimer(quiet)
		return
	}
	c.timer.Reset(quiet)
}

// again has every open document checked anew: a file has changed that may be part of it.
func (s *server) again() {
	for uri := range s.documents.open {
		s.touched(uri)
	}
}

// due says that documents have not changed for a while.
func (c *checks) due() <-chan time.Time {
	if c.timer == nil {
		return nil
	}
	return c.timer.C
}

func (c *checks) forget(uri string) {
	delete(c.wanted, uri)
	if c.done != nil && c.now == uri {
		c.stop()
	}
}

// end gives up what is being checked, and waits for it.
func (c *checks) end() {
	if c.done != nil {
		c.stop()
		<-c.done
	}
	if c.timer != nil {
		c.timer.Stop()
	}
}

// check begins with the next document, where none is being checked.
func (s *server) check(ctx context.Context) {
	c := &s.checks
	if c.done != nil || !c.ready || len(c.wanted) == 0 {
		return
	}
	uri := slices.Min(slices.Collect(maps.Keys(c.wanted)))
	delete(c.wanted, uri)
	doc := s.documents.open[uri]
	if doc == nil {
		s.check(ctx)
		return
	}
	within, stop := context.WithCancel(ctx)
	done := make(chan *result, 1)
	c.now, c.stop, c.done = uri, stop, done
	texts, kinds, covered := s.documents.texts(), s.kinds, s.documents.covered(uri)
	go func() { // joined by Serve, which waits for the result
		r := &result{doc: doc, over: true}
		defer func() {
			if p := recover(); p != nil {
				r = &result{doc: doc}
				r.say(doc.path, api.Diagnostic{Line: 1, Column: 1, Code: "internal", Text: fmt.Sprintf("graphd made a "+
					"mistake of its own while it checked this: %v", p)})
			}
			done <- r
		}()
		r.do(within, kinds, texts, covered)
	}()
}

// checked tells what a check has found.
func (s *server) checked(r *result) {
	c := &s.checks
	c.stop()
	c.now, c.done = "", nil
	if now := s.documents.open[r.doc.uri]; r.over || now == nil || now.version != r.doc.version {
		if now != nil && r.over {
			c.wanted[r.doc.uri] = true
		}
		return
	}
	k := s.documents.knownOf(r.doc)
	if k.included = r.index; r.unit != nil {
		k.unit = r.unit
	}
	all := map[string][]diagnostic{}
	for severity, found := range map[int]map[string][]api.Diagnostic{severityError: r.found, severityWarning: r.hints} {
		for path, list := range found {
			uri := r.doc.uri
			if path != r.doc.path {
				uri = s.documents.uriOf(path)
			}
			in := r.textOf(path)
			for _, d := range list {
				all[uri] = append(all[uri], shown(d, severity, in))
			}
			all[uri] = append([]diagnostic{}, all[uri]...)
			if uri != r.doc.uri {
				delete(s.documents.told, uri) // what was told of it while no declaration was open that includes it
			}
		}
	}
	s.tell(r.doc.uri, all)
}

func (r *result) textOf(path string) *text.Text {
	if t := r.texts[path]; t != nil && path != r.doc.path {
		return t
	}
	return r.doc.text
}

// shown is a diagnostic as editors have it.
func shown(d api.Diagnostic, severity int, in *text.Text) diagnostic {
	message := d.Text
	if d.Suggest != "" {
		message += " (did you mean " + d.Suggest + "?)"
	}
	return diagnostic{Range: in.Marked(in.At(d.Line, d.Column)), Severity: severity, Code: d.Code, Source: "graphd",
		Message: message, Data: d.Suggest}
}

func (r *result) say(path string, d api.Diagnostic) {
	if r.found == nil {
		r.found = map[string][]api.Diagnostic{}
	}
	r.found[path] = append(r.found[path], d)
}

// do checks the document. It is covered where an open declaration includes it, whose check tells of it.
func (r *result) do(ctx context.Context, kinds *builtin.Kinds, open map[string]string, covered bool) {
	r.found = map[string][]api.Diagnostic{r.doc.path: nil}
	r.texts = map[string]*text.Text{}
	switch sortOf(r.doc) {
	case declaration:
		r.declaration(ctx, kinds, open)
	case part:
		if !covered {
			r.beside(ctx, kinds, open)
		}
	case tests:
		r.tests()
	}
	r.over = ctx.Err() != nil
}

// declaration checks a declaration with what it includes; what is open in the editor stands for the file.
func (r *result) declaration(ctx context.Context, kinds *builtin.Kinds, open map[string]string) {
	whole, err := makeWhole(r.doc, open, r.texts)
	r.index = map[string]*language.Index{}
	for path, t := range r.texts {
		if x := language.NewIndex(t); x != nil {
			r.index[path] = x
		}
	}
	for _, path := range whole.Files {
		r.found[path] = nil // what was told of it before is told no more
	}
	if err != nil {
		r.fail(err)
		return
	}
	unit, err := kinds.ParseFor(ctx, checkpoint.DefaultTenant, func() ([]byte, error) { return whole.Text, nil },
		whole.Name)
	invalid := new(api.Error)
	switch {
	case errors.As(err, &invalid) && invalid.Code == api.CodeBusy:
		r.say(r.doc.path, api.Diagnostic{Line: 1, Column: 1, Code: "check_timeout",
			Text: "the declaration could not be checked within 10 s; graphd validate takes as long as it takes"})
		return
	case errors.As(err, &invalid):
		r.fail(whole.Place(invalid.Diagnostics))
		return
	case err != nil:
		r.fail(err)
		return
	}
	r.unit, r.hints = unit, map[string][]api.Diagnostic{}
	for _, d := range append(whole.Place(compile.Lint(unit)), whole.Remarks...) {
		r.hints[d.File] = append(r.hints[d.File], d)
	}
}

// makeWhole is a document with what it includes. texts is told of the files that were read.
func makeWhole(doc *document, open map[string]string, texts map[string]*text.Text) (*assembly.Document, error) {
	o := assembly.Options{File: doc.path}
	if doc.path != "" {
		var operator *policy.Policy // who edits a declaration may read what he includes there
		o.Read = func(path string) ([]byte, error) {
			data := []byte(open[path])
			if _, edited := open[path]; !edited {
				var err error
				if data, err = operator.Read(path, decode.MaxBytes); err != nil {
					return nil, err
				}
			}
			if len(data) <= decode.MaxBytes {
				texts[path] = text.New(string(data))
			}
			return data, nil
		}
	}
	return assembly.Make([]byte(doc.text.String()), o)
}

// fail says each mistake where it is.
func (r *result) fail(err error) {
	var found api.Diagnostics
	if !errors.As(err, &found) {
		r.say(r.doc.path, api.Diagnostic{Line: 1, Column: 1, Text: err.Error()})
	}
	for _, d := range found {
		r.say(d.File, d)
	}
}

// tests checks a test document.
func (r *result) tests() {
	_, err := scenario.Parse([]byte(r.doc.text.String()), filepath.Base(r.doc.path))
	if err == nil {
		return
	}
	for _, m := range scenario.Mistakes(err) {
		at := api.Diagnostic{Line: m.Line, Column: m.Column, Text: m.Text}
		at.Column = max(at.Column, 1+r.doc.text.Begin(m.Line)-r.doc.text.At(m.Line, 1))
		r.say(r.doc.path, at)
	}
}
