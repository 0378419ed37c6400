package telemetry

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/lmittmann/tint"
	"github.com/mattn/go-isatty"
)

// The formats of the log.
const (
	FormatAuto = "auto" // text on a terminal, JSON anywhere else
	FormatText = "text"
	FormatJSON = "json"
)

// LogConfig says what the log looks like.
type LogConfig struct {
	// Level is the least that is logged: debug, info (also ""), warn or error.
	Level string
	// Format is one of the formats; "" is auto.
	Format string
	// NoColor keeps text plain even on a terminal; set it when NO_COLOR is in the environment.
	NoColor bool
}

// Validate reports every field that makes no sense.
func (c LogConfig) Validate() error {
	if _, err := c.level(); err != nil {
		return err
	}
	switch c.Format {
	case "", FormatAuto, FormatText, FormatJSON:
		return nil
	}
	return fmt.Errorf("log format %q: it must be auto, text or json", c.Format)
}

func (c LogConfig) level() (slog.Level, error) {
	switch strings.ToLower(c.Level) {
	case "debug":
		return slog.LevelDebug, nil
	case "", "info":
		return slog.LevelInfo, nil
	case "warn":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	}
	return 0, fmt.Errorf("log level %q: it must be debug, info, warn or error", c.Level)
}

// NewLogger makes a logger that writes to w.
func NewLogger(w io.Writer, c LogConfig) (*slog.Logger, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	level, err := c.level()
	if err != nil {
		return nil, err
	}
	terminal := IsTerminal(w)
	if c.Format == FormatJSON || c.Format != FormatText && !terminal {
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level})), nil
	}
	return slog.New(textHandler(w, level, c.NoColor || !terminal)), nil
}

func textHandler(w io.Writer, level slog.Level, noColor bool) slog.Handler {
	return tint.NewTextHandler(w, &tint.Options{
		Level: level, TimeFormat: time.TimeOnly, NoColor: noColor, ReplaceAttr: printable,
	})
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && (isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd()))
}
