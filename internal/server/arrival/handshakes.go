package arrival

import (
	"bytes"
	"log"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// tellEvery is how often at most the log has a line about handshakes that have failed.
const tellEvery = 10 * time.Second

// Handshakes is where net/http says what it has to say, which goes to l.
func Handshakes(l *slog.Logger) *log.Logger {
	return log.New(&handshakes{log: l, now: time.Now}, "", 0)
}

// handshakes takes what net/http has to say. Most of it is no news to an operator: a client's broken handshake. That a
// client's certificate was refused is, for the client is told nothing of use.
type handshakes struct {
	log *slog.Logger
	now func() time.Time

	mu      sync.Mutex
	told    time.Time
	skipped int
}

// Write takes a line; see [log.Logger].
func (h *handshakes) Write(line []byte) (int, error) {
	text := string(bytes.TrimSpace(line))
	from, why, ok := strings.Cut(strings.TrimPrefix(text, "http: TLS handshake error from "), ": ")
	advice := ""
	if ok && from != text {
		advice = adviceOf(why)
	}
	if advice == "" {
		h.log.Debug("net/http has a word", slog.String("said", text)) // of most nobody can do anything
		return len(line), nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := h.now(); now.Sub(h.told) >= tellEvery {
		args := []any{slog.String("from", from), slog.String("err", why), slog.String("do", advice)}
		if h.skipped > 0 {
			args = append(args, slog.Int("not_told", h.skipped))
		}
		h.log.Warn("a client of TLS was refused", args...)
		h.told, h.skipped = now, 0
		return len(line), nil
	}
	h.skipped++
	return len(line), nil
}

// adviceOf is what an operator can do about a handshake that has failed for why; "" of one that is nobody's business.
func adviceOf(why string) string {
	for _, known := range []struct{ part, advice string }{
		{"client didn't provide a certificate", "give the client a certificate, or say --tls-client-auth optional " +
			"for those that come with a token"},
		{"unknown authority", "put the authority of the client's certificate into --tls-client-ca, and what is " +
			"between them into the client's file"},
		{"has expired or is not yet valid", "renew the client's certificate, or compare the clocks of both machines"},
		{"incompatible key usage", "have the client's certificate made for clients (extendedKeyUsage clientAuth)"},
		{"failed to verify certificate", "compare the client's certificate with --tls-client-ca"},
		{"client offered only unsupported versions", "the client knows no TLS 1.3: renew it, or say --tls-min 1.2"},
		{"remote error: tls: unknown certificate authority", "give the client the authority of --tls-cert"},
		{"remote error: tls: bad certificate", "the client does not take --tls-cert: give it its authority, and call " +
			"the daemon by a name that stands in it"},
	} {
		if strings.Contains(why, known.part) {
			return known.advice
		}
	}
	return ""
}
