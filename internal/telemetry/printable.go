package telemetry

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable escapes what a terminal would obey, or show elsewhere than it stands, as Go and JSON write it: control
// characters, as single bytes too, and the marks that turn the direction of text around. All text that goes to a
// terminal goes through here.
func Printable(s string) string {
	at := strings.IndexFunc(s, unprintable)
	if at < 0 {
		return s
	}
	var out strings.Builder
	for i, width := 0, 0; i < len(s); i += width {
		var r rune
		r, width = utf8.DecodeRuneInString(s[i:])
		part := s[i : i+width]
		if unprintable(r) && (r != utf8.RuneError || width == 1) {
			part = strconv.QuoteToASCII(part)
			part = part[1 : len(part)-1]
		}
		out.WriteString(part)
	}
	return out.String()
}

// unprintable also says yes to what stands for a byte that is no text. The two joiners make letters and
// pictures of several parts, and move nothing.
func unprintable(r rune) bool {
	const nonJoiner, joiner = '\u200c', '\u200d'
	return r == utf8.RuneError || !unicode.IsPrint(r) && !unicode.Is(unicode.Zs, r) && r != nonJoiner && r != joiner
}

// printable does for what is logged as text what Printable does. The handler would quote values itself, but on a
// terminal it turns the escapes of control characters back for the sake of colours; bytes it quotes and leaves.
func printable(groups []string, a slog.Attr) slog.Attr {
	var text string
	switch a.Value.Kind() {
	case slog.KindString:
		text = a.Value.String()
	case slog.KindAny:
		if _, ok := a.Value.Any().(slog.Level); ok {
			return a
		}
		text = fmt.Sprintf("%+v", a.Value.Any())
	default:
		return a
	}
	switch {
	case len(groups) == 0 && a.Key == slog.MessageKey:
		a.Value = slog.StringValue(Printable(text))
	case strconv.Quote(text) == `"`+text+`"`:
		a.Value = slog.StringValue(text)
	default:
		a.Value = slog.AnyValue([]byte(text))
	}
	return a
}
