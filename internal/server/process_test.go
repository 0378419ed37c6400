package server

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/gate"
)

// TestLogLevelAtRunTime: the level is another one at once, and told of in the log.
func TestLogLevelAtRunTime(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	level := new(slog.LevelVar)
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level}))
	s := newServer(t, newFake(), Config{Log: log, LogLevel: level})
	put := func(body string) *exchange {
		return do(t, s, http.MethodPut, "/v1/log-level", strings.NewReader(body))
	}
	log.Debug("unheard")
	for _, name := range api.LogLevels() {
		x := put(`{"level":"` + name + `"}`)
		want := `{"level":"` + name + `","configured":"info"}`
		if x.status != http.StatusOK || strings.TrimSpace(string(x.body)) != want {
			t.Errorf("%s: %d %s, want %s", name, x.status, x.body, want)
		}
		if x := do(t, s, http.MethodGet, "/v1/log-level", nil); strings.TrimSpace(string(x.body)) != want {
			t.Errorf("%s is read as %s", name, x.body)
		}
		log.Debug("heard", slog.String("at", name))
	}
	for _, bad := range []string{`{"level":"loud"}`, `{"level":""}`, `{}`} {
		if x := put(bad); x.status != http.StatusUnprocessableEntity || x.code(t) != api.CodeInvalidBody {
			t.Errorf("%s: %d %s", bad, x.status, x.body)
		}
	}
	if level.Level() != slog.LevelError {
		t.Errorf("what is no level made it %s", level.Level())
	}
	told := out.String()
	if strings.Contains(told, "unheard") || !strings.Contains(told, "msg=heard at=debug") ||
		strings.Contains(told, "msg=heard at=info") {
		t.Errorf("the log has\n%s", told)
	}
	if n := strings.Count(told, "until the daemon is restarted"); n != 3 { // from warn to error nobody hears it
		t.Errorf("%d changes were told of:\n%s", n, told)
	}
}

// TestLogLevelOfAProgram: a daemon whose log is the program's sets nothing of it.
func TestLogLevelOfAProgram(t *testing.T) {
	t.Parallel()
	s, err := New(newFake(), Config{Gate: gate.Open(), Hosts: []string{"example.com"}})
	if err != nil {
		t.Fatal(err)
	}
	for method, body := range map[string]string{http.MethodGet: "", http.MethodPut: `{"level":"debug"}`} {
		if x := do(t, s, method, "/v1/log-level", strings.NewReader(body)); x.status != http.StatusConflict ||
			x.code(t) != api.CodeLogLevelFixed {
			t.Errorf("%s: %d %s", method, x.status, x.body)
		}
	}
}

// TestProfiles: profiles are given where that is on, of a bounded time, one recording at a time.
func TestProfiles(t *testing.T) {
	// Not parallel: a recording is of the whole process.
	s := newServer(t, newFake(), Config{Profiles: true})
	get := func(name string) *exchange { return do(t, s, http.MethodGet, "/debug/pprof/"+name, nil) }
	gzipped := "\x1f\x8b"
	for _, name := range []string{"allocs", "goroutine", "heap", "threadcreate", "block?seconds=1"} {
		if x := get(name); x.status != http.StatusOK || !strings.HasPrefix(string(x.body), gzipped) {
			t.Errorf("%s: %d, %d bytes", name, x.status, len(x.body))
		}
	}
	if x := get("goroutine?debug=2"); x.status != http.StatusOK || !strings.Contains(string(x.body), "TestProfiles") {
		t.Errorf("goroutine as text: %d %s", x.status, x.body)
	}
	refused := map[string]int{"nosuch": 404, "cmdline": 404, "symbol": 404, "profile?seconds=61": 400,
		"trace?seconds=11": 400, "profile?seconds=0": 400, "heap?seconds=1": 400, "profile?debug=1": 400,
		"heap?debug=3": 400, "heap?gc=1": 400}
	for name, status := range refused {
		if x := get(name); x.status != status {
			t.Errorf("%s: %d %s, want %d", name, x.status, x.body, status)
		}
	}
	off := newServer(t, newFake(), Config{})
	if x := do(t, off, http.MethodGet, "/debug/pprof/heap", nil); x.status != http.StatusNotFound ||
		!strings.Contains(string(x.body), "--pprof") {
		t.Errorf("where they are off: %d %s", x.status, x.body)
	}
}

// TestProfileEndsWithWhoAsks: a recording is the only one, and ends with who asks and with the server.
func TestProfileEndsWithWhoAsks(t *testing.T) {
	for _, end := range []string{"who asks", "the server"} {
		t.Run(end, func(t *testing.T) {
			begun := make(chan struct{}, 1)
			log := slog.New(slog.NewTextHandler(signal(begun), nil))
			s := newServer(t, newFake(), Config{Profiles: true, Log: log})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			req := httptest.NewRequestWithContext(ctx, http.MethodGet, "/debug/pprof/profile?seconds=60", nil)
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer func() { _ = recover() }()
				s.ServeHTTP(httptest.NewRecorder(), req)
			}()
			<-begun // it is told of when it has its turn
			x := do(t, s, http.MethodGet, "/debug/pprof/mutex?seconds=1", nil)
			if x.status != http.StatusConflict || x.code(t) != api.CodeProfileBusy {
				t.Errorf("a second recording: %d %s", x.status, x.body)
			}
			if end == "who asks" {
				cancel()
			} else if err := s.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			<-done
			if err := pprof.StartCPUProfile(io.Discard); err != nil {
				t.Errorf("the recording goes on: %v", err)
			}
			pprof.StopCPUProfile()
		})
	}
}

// signal is told of each line that is written.
type signal chan struct{}

func (s signal) Write(p []byte) (int, error) {
	select {
	case s <- struct{}{}:
	default:
	}
	return len(p), nil
}
