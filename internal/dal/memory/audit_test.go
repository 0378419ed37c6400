package memory

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/audit"
)

// TestBeginningIsToldOf: what becomes too old is told of before it is removed, so that a chain whose beginning was cut
// off by somebody else shows it (A13).
func TestBeginningIsToldOf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New()
		trail := audit.New(audit.Config{Store: s, Log: slog.New(slog.DiscardHandler), Keep: time.Hour, Now: time.Now})
		const old = 300 // more than is read at once
		for range old {
			pause(t, s)
		}
		time.Sleep(30 * time.Minute)
		pause(t, s)
		stop := trail.Start()
		time.Sleep(45 * time.Minute)
		stop(t.Context())

		end := ends(t, s)
		if end.Removed.Seq != old || end.Head.Seq != old+2 {
			t.Errorf("the chain goes from %d to %d, want %d to %d", end.Removed.Seq, end.Head.Seq, old, old+2)
		}
		if err := follow(t, s, end); err != nil {
			t.Error(err)
		}
		if _, err := s.PruneAudit(t.Context(), "acme", old+1); err != nil { // what nobody told of
			t.Fatal(err)
		}
		err := follow(t, s, ends(t, s))
		if !errors.Is(err, audit.ErrBroken) || !strings.Contains(err.Error(), "too old") {
			t.Errorf("a chain that has lost its beginning: %v", err)
		}
	})
}

func pause(t *testing.T, s *Store) {
	t.Helper()
	e := audit.Entry{Kind: audit.Intent, At: time.Now(), Tenant: "acme", Operation: "pause"}
	if _, err := s.AppendAudit(t.Context(), e); err != nil {
		t.Fatal(err)
	}
}

func ends(t *testing.T, s *Store) audit.Chain {
	t.Helper()
	chains, err := s.AuditChains(t.Context())
	if err != nil || len(chains) != 1 {
		t.Fatalf("the chains are %v, %v", chains, err)
	}
	return chains[0]
}

func follow(t *testing.T, s *Store, end audit.Chain) error {
	t.Helper()
	v := audit.Verify("acme", end.Removed)
	rows, err := s.AuditRows(t.Context(), audit.Query{Tenant: "acme", After: end.Removed.Seq})
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		if err := v.Next(&rows[i]); err != nil {
			return err
		}
	}
	return v.Reaches(end.Head)
}
