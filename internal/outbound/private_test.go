package outbound

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestNamedTellNoAddress: what goes wrong with a connection of the configuration is told in the same words, whatever
// it is, and the log has it once in a while (A5).
func TestNamedTellNoAddress(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	g, err := New(Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	named := g.For(true).As("warehouse")
	_, refused := named.DialContext(t.Context(), "tcp", closed)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, gone := named.DialContext(ended, "tcp", closed)
	cfg, err := pgconn.ParseConfig("postgres://u:hunter2@" + closed + "/shop")
	if err != nil {
		t.Fatal(err)
	}
	_, connect := pgconn.ConnectConfig(t.Context(), cfg)
	const words = "the connection warehouse cannot be reached; the daemon's log says why"
	to, err := ParseDatabase("postgres://u:hunter2@" + closed + "/shop")
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{refused, gone, named.Hide(connect), named.Hide(fmt.Errorf("x: %w", refused)),
		named.Hide(context.DeadlineExceeded), named.Explain(to, "ask", connect), named.Hide(&net.OpError{Op: "read",
			Net: "tcp", Err: errors.New("reset")}), named.Hide(&pgconn.PgError{Code: "28P01", Message: "user u"})} {
		if err == nil || err.Error() != words {
			t.Errorf("%v", err)
		}
	}
	if !errors.Is(gone, context.Canceled) || errors.Is(refused, context.Canceled) {
		t.Errorf("whether a context has ended: %v, %v", gone, refused)
	}
	answer := &pgconn.PgError{Code: "42P01", Message: "no such relation"}
	if err := named.Explain(to, "ask", answer); err.Error() !=
		"the connection warehouse answered: no such relation (SQLSTATE 42P01)" {
		t.Error(err)
	}
	if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, closed) ||
		strings.Contains(text, "hunter2") {
		t.Errorf("the log: %s", text)
	}
	if _, err := g.Operators().DialContext(t.Context(), "tcp", closed); err == nil ||
		!strings.Contains(err.Error(), closed) {
		t.Errorf("one without a name: %v", err)
	}
}
