package audit_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"

	"github.com/graphd/graphd/internal/audit"
)

// tenants is a log that keeps whose entries it was given.
type tenants struct {
	audit.Log
	of []string
}

// AppendAudit implements [audit.Log].
func (l *tenants) AppendAudit(_ context.Context, e audit.Entry) (int64, error) {
	l.of = append(l.of, e.Tenant)
	return int64(len(l.of)), nil
}

// TestWhoseChain: a change stands in the chain of whom it is about, and not of who makes it (A13).
func TestWhoseChain(t *testing.T) {
	t.Parallel()
	log := &tenants{}
	trail := audit.New(audit.Config{Store: log, Log: slog.New(slog.DiscardHandler)})
	admin := audit.As(t.Context(), audit.Actor{Tenant: "default", Subject: "admin"})
	for _, about := range []string{"acme", audit.Daemon, ""} {
		if _, err := trail.Begin(admin, audit.Action{Tenant: about, Operation: "token create"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := trail.Begin(t.Context(), audit.Action{Operation: "backup"}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"acme", audit.Daemon, "default", audit.Daemon}; !slices.Equal(log.of, want) {
		t.Errorf("got %q, want %q", log.of, want)
	}
}
