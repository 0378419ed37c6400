package api

import (
	"fmt"
	"log/slog"
	"strings"
)

// LogLevel is the answer of GET and PUT /v1/log-level, and with Level alone the body of the latter.
type LogLevel struct {
	// Level is the least that is logged: debug, info, warn or error.
	Level string `json:"level"`
	// Configured is what the daemon was started with, and has again after a restart.
	Configured string `json:"configured,omitempty"`
}

// LogLevels are all there are, from that which logs most.
func LogLevels() []string { return []string{"debug", "info", "warn", "error"} }

// ParseLogLevel reads a level of the log.
func ParseLogLevel(name string) (slog.Level, error) {
	switch strings.ToLower(name) {
	case "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "warn":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	}
	return 0, fmt.Errorf("log level %q: it must be debug, info, warn or error", name)
}

// NameLogLevel is the name of the level that logs what l does.
func NameLogLevel(l slog.Level) string {
	switch {
	case l <= slog.LevelDebug:
		return "debug"
	case l <= slog.LevelInfo:
		return "info"
	case l <= slog.LevelWarn:
		return "warn"
	}
	return "error"
}
