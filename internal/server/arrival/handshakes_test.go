package arrival

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestHandshakes: the log says why a client's certificate was refused, now and then, and nothing of broken handshakes.
func TestHandshakes(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	now := time.Unix(0, 0).Add(time.Hour)
	h := &handshakes{log: slog.New(slog.NewTextHandler(&said, nil)), now: func() time.Time { return now }}
	const from = "http: TLS handshake error from 192.0.2.1:5: "
	for _, line := range []string{from + "EOF", "http: response.WriteHeader on hijacked connection"} {
		_, _ = h.Write([]byte(line + "\n"))
	}
	if said.Len() > 0 {
		t.Errorf("it tells of %s", said.String())
	}
	for range 100 {
		_, _ = fmt.Fprintln(h, from+"tls: failed to verify certificate: x509: certificate signed by unknown authority")
	}
	now = now.Add(tellEvery)
	_, _ = fmt.Fprintln(h, from+"tls: client didn't provide a certificate")
	lines := strings.Split(strings.TrimSpace(said.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "from=192.0.2.1:5") ||
		!strings.Contains(lines[0], "--tls-client-ca") || !strings.Contains(lines[1], "not_told=99") ||
		!strings.Contains(lines[1], "--tls-client-auth optional") {
		t.Errorf("got %s", said.String())
	}
}
