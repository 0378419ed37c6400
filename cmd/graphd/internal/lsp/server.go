// Package lsp is the language server for declarations, graphd lsp: what editors ask over standard input and output, by
// the Language Server Protocol.
//
// Start with [Serve]. One goroutine owns the open documents and answers (server.go, documents.go); what takes time, the
// check of a declaration, runs beside it, one at a time, and is given up when the document changes (check.go). It is
// that of graphd validate and graphd lint. Package frame cuts the stream into messages, package text finds places in
// documents.
//
// # Concurrency
//
// Serve is joined by who calls it. It starts a goroutine that reads messages, one each time it is asked for the next,
// one for each check, and one for tests that run; it ends when all have. A reader that waits for an editor which says
// nothing is left behind when the context ends: nothing but the end of the process wakes it.
package lsp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/graphd/graphd/cmd/graphd/internal/lsp/frame"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/language"
)

// Config is what a server runs with.
type Config struct {
	In  io.Reader
	Out io.Writer
	// Log gets what the editor is not told. It must not write to Out.
	Log *slog.Logger
	// Version is that of the binary.
	Version string
	// AskWithin is how long the compiler is asked for types; without an answer those of the newest state stand. 0 means
	// a second.
	AskWithin time.Duration
}

// server serves one editor. It is owned by the goroutine of Serve.
type server struct {
	Config
	kinds     *builtin.Kinds
	documents documents
	checks    checks
	runs      runs
	grammar   *language.Grammar

	initialized, shut bool
	broken            error // why nothing can be written any more
}

// incoming is what was read.
type incoming struct {
	content []byte
	err     error
}

// ErrEnded is an editor that has gone without a word.
var ErrEnded = errors.New("the editor ended the connection without saying exit")

// Serve serves an editor until it says exit, and answers nil then; the end of ctx ends it, too.
func Serve(ctx context.Context, c Config) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.AskWithin = cmp.Or(c.AskWithin, time.Second)
	s := &server{Config: c, kinds: new(builtin.Kinds)}
	s.kinds.Keep()
	var err error
	if s.grammar, err = language.NewGrammar(s.kinds.Schema()); err != nil {
		return err
	}
	s.documents.init()
	defer s.checks.end()
	defer s.runs.end()
	reader := frame.NewReader(c.In)
	more, read := make(chan struct{}, 1), make(chan incoming)
	go func() {
		defer close(read)
		for range more {
			content, err := reader.Next()
			select {
			case read <- incoming{content, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	defer func() {
		close(more)
		if ctx.Err() == nil { // nothing was asked for, or it has come
			<-read
		}
	}()
	more <- struct{}{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case in := <-read:
			if done, err := s.take(ctx, in); done {
				return err
			}
			more <- struct{}{}
		case <-s.checks.due():
			s.checks.ready = true
			s.check(ctx)
		case found := <-s.checks.done:
			s.checked(found)
			s.check(ctx)
		case r := <-s.runs.done:
			s.ran(r)
		}
		if s.broken != nil {
			cancel()
			return s.broken
		}
	}
}

// take takes what was read. done says that it was the last.
func (s *server) take(ctx context.Context, in incoming) (done bool, err error) {
	head := new(frame.HeadError)
	switch {
	case in.err == nil:
	case errors.Is(in.err, frame.ErrTooLong):
		s.fail(nil, &failure{invalidRequest, in.err.Error() + "; close the document or make it smaller"})
		return false, nil
	case errors.As(in.err, &head):
		s.fail(nil, &failure{parseError, head.Error()})
		return true, in.err
	case errors.Is(in.err, io.EOF) && s.shut:
		return true, nil
	case errors.Is(in.err, io.EOF):
		return true, ErrEnded
	default:
		return true, fmt.Errorf("read from the editor: %w", in.err)
	}
	var m message
	if err := json.Unmarshal(in.content, &m); err != nil {
		s.fail(nil, &failure{parseError, "the message is no request: " + err.Error()})
		return false, nil
	}
	if m.Method == "exit" {
		if !s.shut {
			err = errors.New("the editor said exit before shutdown")
		}
		return true, err
	}
	s.handle(ctx, &m)
	return false, nil
}

// handle carries out a request or a notification, and answers a request. A mistake of this package's ends neither the
// server nor the document.
func (s *server) handle(ctx context.Context, m *message) {
	if m.Method == "" {
		if m.Result == nil && m.Error == nil {
			s.fail(m.ID, &failure{invalidRequest, "the message has no method"})
		}
		return // an answer, and nothing that waits for one
	}
	result, err := s.guarded(ctx, m)
	switch {
	case errors.Is(err, errLater):
	case m.ID == nil:
		if err != nil && !ignorable(m.Method) {
			s.Log.Warn("a notification was not taken", "method", m.Method, "error", err)
		}
	case err != nil:
		f := new(failure)
		if !errors.As(err, &f) {
			f = &failure{internalError, err.Error()}
		}
		s.fail(m.ID, f)
	default:
		content, err := json.Marshal(result)
		if err != nil {
			s.fail(m.ID, &failure{internalError, err.Error()})
			return
		}
		s.write(message{ID: m.ID, Result: content})
	}
}

// ignorable are the notifications that a server need not know.
func ignorable(method string) bool { return len(method) > 1 && method[:2] == "$/" }

func (s *server) guarded(ctx context.Context, m *message) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.Log.Error("a request panicked", "method", m.Method, "panic", p, "stack", string(debug.Stack()))
			result, err = nil, &failure{internalError, fmt.Sprintf("graphd lsp made a mistake of its own in %s: %v",
				m.Method, p)}
		}
	}()
	switch {
	case m.Method == "initialize" && s.initialized:
		return nil, &failure{invalidRequest, "initialize was said before"}
	case m.Method == "initialize":
		s.initialized = true
		return map[string]any{"capabilities": capable(),
			"serverInfo": map[string]string{"name": "graphd", "version": s.Version}}, nil
	case !s.initialized:
		return nil, &failure{notInitialized, "say initialize first"}
	case s.shut && m.ID != nil:
		return nil, &failure{invalidRequest, "shutdown was said; only exit can follow"}
	}
	return s.dispatch(ctx, m)
}

// dispatch carries out what is said between initialize and shutdown.
func (s *server) dispatch(ctx context.Context, m *message) (any, error) {
	switch m.Method {
	case "initialized":
		return nil, nil
	case "shutdown":
		s.shut = true
		return nil, nil
	case "textDocument/didOpen":
		return noted(m, s.open)
	case "textDocument/didChange":
		return noted(m, s.change)
	case "textDocument/didSave", "workspace/didChangeWatchedFiles":
		s.again()
		return nil, nil
	case "textDocument/didClose":
		return noted(m, s.close)
	case "textDocument/completion":
		return asked(m, s.complete)
	case "textDocument/hover":
		return asked(m, s.hover)
	case "textDocument/definition":
		return asked(m, s.define)
	case "textDocument/documentSymbol":
		return asked(m, s.symbols)
	case "textDocument/codeAction":
		return asked(m, s.actions)
	case "textDocument/codeLens":
		return asked(m, s.lenses)
	case "workspace/executeCommand":
		return asked(m, func(p *commandParams) (any, error) { return nil, s.command(ctx, m.ID, p) })
	case "$/cancelRequest":
		return noted(m, s.cancel)
	}
	return nil, &failure{unknownMethod, fmt.Sprintf("graphd lsp does not know %s", shortened(m.Method))}
}

// noted carries out a notification with its parameters.
func noted[P any](m *message, do func(*P) error) (any, error) {
	return asked(m, func(p *P) (any, error) { return nil, do(p) })
}

// asked carries out a request with its parameters.
func asked[P, R any](m *message, do func(*P) (R, error)) (any, error) {
	var p *P
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return nil, &failure{invalidParams, m.Method + ": " + err.Error()}
	}
	if p == nil {
		return nil, &failure{invalidParams, m.Method + " needs parameters"}
	}
	return do(p)
}

func (s *server) fail(id json.RawMessage, f *failure) {
	if id == nil {
		id = json.RawMessage("null")
	}
	s.write(message{ID: id, Error: f})
}

// notify tells the editor something.
func (s *server) notify(method string, params any) {
	content, err := json.Marshal(params)
	if err != nil {
		s.Log.Error("a notification cannot be written", "method", method, "error", err)
		return
	}
	s.write(message{Method: method, Params: content})
}

func (s *server) write(m message) {
	m.Version = "2.0"
	content, err := json.Marshal(m)
	if err == nil {
		err = frame.Write(s.Out, content)
	}
	if err != nil && s.broken == nil {
		s.broken = err
	}
}

func shortened(s string) string { return s[:min(len(s), 80)] }

// quiet is how long a document has to stay as it is before it is checked: who types does not want to hear of every
// letter.
const quiet = 150 * time.Millisecond
