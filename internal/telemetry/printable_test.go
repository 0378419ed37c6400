package telemetry

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/lmittmann/tint"
)

func TestPrintable(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"✓ é «\u00a0»":           "✓ é «\u00a0»",
		"a\x1b]0;title\x07":      `a\x1b]0;title\a`,
		"\x9b2J":                 `\x9b2J`,   // CSI as a single byte
		"\u009b2J":               `\u009b2J`, // and as UTF-8 has it
		"pay \u202eyap\u2066 me": `pay \u202eyap\u2066 me`,
		"a\nb\tc\x7f":            `a\nb\tc\x7f`,
		"\u2028\ufeff\u200e":     `\u2028\ufeff\u200e`,
		"\U000e0041":             `\U000e0041`, // a tag
		"\ufffd":                 "\ufffd",
		"👩\u200d🚀":               "👩\u200d🚀",
	} {
		if got := Printable(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// TestLogOnATerminal: whatever is logged, the only sequences that reach a terminal are the handler's own colours.
func TestLogOnATerminal(t *testing.T) {
	t.Parallel()
	for _, noColor := range []bool{false, true} {
		var out bytes.Buffer
		log := textHandler(&out, slog.LevelInfo, noColor)
		for _, s := range []string{"\x1b[2Jx", `\x1b[2J x`, "\x9b2J", "\u009b2J", "a\u202eb", "\a", "\xff tail"} {
			out.Reset()
			record := slog.NewRecord(time.Now(), slog.LevelInfo, s, 0)
			record.AddAttrs(slog.String("s", s), slog.Any("e", errors.New(s)), slog.Any("b", []byte(s)),
				slog.Any("l", []string{s}), slog.Group("g", "s", s), tint.Err(errors.New(s)))
			if err := log.WithAttrs([]slog.Attr{slog.String("w", s)}).Handle(t.Context(), record); err != nil {
				t.Fatal(err)
			}
			text := out.String()
			for _, own := range []string{"\x1b[2m", "\x1b[22m", "\x1b[0m", "\x1b[92m", "\x1b[2;91m"} {
				text = strings.ReplaceAll(text, own, "")
			}
			if strings.ContainsAny(strings.TrimSuffix(text, "\n"), "\x1b\a\n\u009b\u202e") ||
				strings.Contains(text, "\x9b") || strings.Contains(text, "\xff") {
				t.Errorf("no colour %t: %q is logged as %q", noColor, s, text)
			}
		}
	}
}
