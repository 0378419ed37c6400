package telemetry

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/lmittmann/tint"
	"github.com/mattn/go-isatty"

	"github.com/graphd/graphd/internal/api"
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
	// Var is set to Level, and what the logger goes by from then on; nil makes the level a fixed one.
	Var *slog.LevelVar
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
	return api.ParseLogLevel(cmp.Or(c.Level, "info"))
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
	terminal, least := IsTerminal(w), slog.Leveler(level)
	if c.Var != nil {
		c.Var.Set(level)
		least = c.Var
	}
	if c.Format == FormatJSON || c.Format != FormatText && !terminal {
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: least})), nil
	}
	return slog.New(textHandler(w, least, c.NoColor || !terminal)), nil
}

func textHandler(w io.Writer, level slog.Leveler, noColor bool) slog.Handler {
	return tint.NewTextHandler(w, &tint.Options{
		Level: level, TimeFormat: time.TimeOnly, NoColor: noColor, ReplaceAttr: printable,
	})
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && (isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd()))
}
