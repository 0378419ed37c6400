package lsp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphd/graphd/cmd/graphd/internal/lsp"
	"github.com/graphd/graphd/cmd/graphd/internal/lsp/frame"
	"github.com/graphd/graphd/internal/testbed/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// patience is how long a test waits for what has to come.
const patience = 2 * time.Minute

// editor speaks to a server.
type editor struct {
	t    *testing.T
	in   io.WriteCloser
	got  chan said
	end  func() error // waits until the server has ended
	next int
	kept []said // notifications that nobody has asked for yet
}

type said struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

// built is the real binary, made once.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "graphd-lsp")
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "graphd")
	out, err := exec.Command("go", "build", "-o", binary, "github.com/graphd/graphd/cmd/graphd").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return binary, nil
})

// each runs a test against a server in this process, where races show, and against the binary.
func each(t *testing.T, do func(t *testing.T, e *editor)) {
	t.Helper()
	t.Run("server", func(t *testing.T) {
		t.Parallel()
		do(t, inProcess(t))
	})
	t.Run("binary", func(t *testing.T) {
		t.Parallel()
		do(t, ofBinary(t))
	})
}

func inProcess(t *testing.T) *editor {
	t.Helper()
	fromEditor, toServer := io.Pipe()
	fromServer, toEditor := io.Pipe()
	ended := make(chan error, 1)
	var log bytes.Buffer
	go func() {
		err := lsp.Serve(context.Background(), lsp.Config{In: fromEditor, Out: toEditor, Version: "test",
			Log: slog.New(slog.NewTextHandler(&log, nil)), AskWithin: patience})
		toEditor.Close()
		fromEditor.Close()
		ended <- err
	}()
	return newEditor(t, toServer, fromServer, sync.OnceValue(func() error {
		err := <-ended
		if strings.Contains(log.String(), "panic") {
			t.Errorf("it panicked: %s", &log)
		}
		return err
	}))
}

func ofBinary(t *testing.T) *editor {
	t.Helper()
	binary, err := built()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "lsp")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, toEditor := io.Pipe()
	cmd.Stdout = toEditor
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return newEditor(t, in, out, sync.OnceValue(func() error {
		err := cmd.Wait()
		toEditor.Close()
		if strings.Contains(errs.String(), "panic") {
			t.Errorf("it panicked: %s", &errs)
		}
		if err != nil {
			return fmt.Errorf("%w: %s", err, &errs)
		}
		return nil
	}))
}

func newEditor(t *testing.T, in io.WriteCloser, out io.Reader, end func() error) *editor {
	t.Helper()
	e := &editor{t: t, in: in, got: make(chan said, 1000), end: end}
	read := make(chan struct{})
	go func() {
		defer close(read)
		r := frame.NewReader(out)
		for {
			content, err := r.Next()
			if err != nil {
				close(e.got)
				return
			}
			var m said
			if err := json.Unmarshal(content, &m); err != nil {
				t.Errorf("%q: %v", content, err)
			}
			e.got <- m
		}
	}()
	t.Cleanup(func() {
		in.Close()
		_ = end() // a test that minds has asked
		<-read
	})
	return e
}

// raw writes what may be no message.
func (e *editor) raw(text string) {
	e.t.Helper()
	if _, err := io.WriteString(e.in, text); err != nil {
		e.t.Fatal(err)
	}
}

func (e *editor) send(m map[string]any) {
	e.t.Helper()
	m["jsonrpc"] = "2.0"
	content, err := json.Marshal(m)
	if err == nil {
		err = frame.Write(e.in, content)
	}
	if err != nil {
		e.t.Fatal(err)
	}
}

func (e *editor) notify(method string, params any) {
	e.t.Helper()
	e.send(map[string]any{"method": method, "params": params})
}

// receive is the next message.
func (e *editor) receive() said {
	e.t.Helper()
	select {
	case m, ok := <-e.got:
		if !ok {
			e.t.Fatalf("the server has ended: %v", e.end())
		}
		return m
	case <-time.After(patience):
		e.t.Fatal("nothing came")
	}
	return said{}
}

// ask makes a request, and answers with its answer.
func (e *editor) ask(method string, params any) said {
	e.t.Helper()
	e.next++
	e.send(map[string]any{"id": e.next, "method": method, "params": params})
	for {
		m := e.receive()
		if m.Method == "" && string(m.ID) == fmt.Sprint(e.next) {
			return m
		}
		e.kept = append(e.kept, m)
	}
}

// result makes a request that has to be answered, and reads the answer.
func (e *editor) result(method string, params, into any) {
	e.t.Helper()
	m := e.ask(method, params)
	if m.Error != nil {
		e.t.Fatalf("%s: %s", method, m.Error.Message)
	}
	if err := json.Unmarshal(m.Result, into); err != nil {
		e.t.Fatalf("%s: %s: %v", method, m.Result, err)
	}
}

func (e *editor) begin() {
	e.t.Helper()
	if m := e.ask("initialize", map[string]any{"capabilities": map[string]any{}}); m.Error != nil {
		e.t.Fatal(m.Error.Message)
	}
	e.notify("initialized", map[string]any{})
}

// finish ends the server as an editor does.
func (e *editor) finish() {
	e.t.Helper()
	e.ask("shutdown", nil)
	e.notify("exit", nil)
	if err := e.end(); err != nil {
		e.t.Errorf("it ended with %v", err)
	}
}

// told is the next notification of a method that accept accepts.
func (e *editor) told(method string, accept func(params json.RawMessage) bool) {
	e.t.Helper()
	for {
		for i, m := range e.kept {
			if m.Method == method && accept(m.Params) {
				e.kept = e.kept[i+1:]
				return
			}
		}
		e.kept = []said{e.receive()}
	}
}

type place struct{ Line, Character int }

type mistake struct {
	Range    struct{ Start, End place }
	Severity int
	Code     string
	Source   string
	Message  string
	Data     string
}

// mistakes are what is told of a document, once it is of the version; -1 for any.
func (e *editor) mistakes(uri string, version int) (list []mistake) {
	e.t.Helper()
	e.told("textDocument/publishDiagnostics", func(params json.RawMessage) bool {
		var p struct {
			URI         string
			Version     *int
			Diagnostics []mistake
		}
		if err := json.Unmarshal(params, &p); err != nil {
			e.t.Fatal(err)
		}
		list = p.Diagnostics
		return p.URI == uri && (version < 0 || p.Version != nil && *p.Version == version)
	})
	return list
}

func (e *editor) open(uri string, text string) {
	e.t.Helper()
	e.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": uri, "languageId": "yaml",
		"version": 1, "text": text}})
}

// edit replaces all of a document.
func (e *editor) edit(uri string, version int, text string) {
	e.t.Helper()
	e.notify("textDocument/didChange", map[string]any{"textDocument": map[string]any{"uri": uri, "version": version},
		"contentChanges": []any{map[string]any{"text": text}}})
}

func uriOf(path string) string { return (&url.URL{Scheme: "file", Path: path}).String() }

// written writes files into a folder, and answers with its path.
func written(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
