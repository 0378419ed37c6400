package server

import (
	"bytes"
	"log/slog"
	"net/http"
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
