package telemetry

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLoggerFormats(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		c    LogConfig
		json bool
	}{
		{"auto is JSON off a terminal", LogConfig{}, true},
		{"json", LogConfig{Format: FormatJSON}, true},
		{"text", LogConfig{Format: FormatText}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			log, err := NewLogger(&out, tc.c)
			if err != nil {
				t.Fatal(err)
			}
			log.Info("graph started", "graph", "mm")
			var fields map[string]any
			if got := json.Unmarshal(out.Bytes(), &fields) == nil; got != tc.json {
				t.Errorf("got %q, want JSON: %v", out.String(), tc.json)
			}
			if strings.Contains(out.String(), "\x1b") {
				t.Errorf("got %q, want no colour off a terminal", out.String())
			}
			if !strings.Contains(out.String(), "graph started") || !strings.Contains(out.String(), "mm") {
				t.Errorf("got %q, want the message and its field", out.String())
			}
		})
	}
}

func TestLoggerLevel(t *testing.T) {
	t.Parallel()
	for level, want := range map[string][]string{
		"debug": {"debug", "info", "warn", "error"},
		"":      {"info", "warn", "error"},
		"WARN":  {"warn", "error"},
		"error": {"error"},
	} {
		var out bytes.Buffer
		log, err := NewLogger(&out, LogConfig{Level: level})
		if err != nil {
			t.Fatal(err)
		}
		log.Debug("debug")
		log.Info("info")
		log.Warn("warn")
		log.Error("error")
		var got []string
		for line := range strings.Lines(out.String()) {
			var rec struct {
				Msg string `json:"msg"`
			}
			if err := json.Unmarshal([]byte(line), &rec); err != nil {
				t.Fatal(err)
			}
			got = append(got, rec.Msg)
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("level %q: got %v, want %v", level, got, want)
		}
	}
}

func TestLogConfigValidate(t *testing.T) {
	t.Parallel()
	for _, c := range []LogConfig{{Level: "loud"}, {Format: "xml"}} {
		if err := c.Validate(); err == nil {
			t.Errorf("%+v is valid, want an error", c)
		}
		if _, err := NewLogger(&bytes.Buffer{}, c); err == nil {
			t.Errorf("%+v makes a logger, want an error", c)
		}
	}
}

func TestIsTerminal(t *testing.T) {
	t.Parallel()
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	if IsTerminal(f) || IsTerminal(&bytes.Buffer{}) {
		t.Error("a file or buffer is taken for a terminal")
	}
	log, err := NewLogger(f, LogConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := log.Handler().(*slog.JSONHandler); !ok {
		t.Errorf("got %T for a file, want JSON", log.Handler())
	}
}
