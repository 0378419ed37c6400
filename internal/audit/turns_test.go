package audit_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/audit"
)

// slow is a log that takes nothing of one tenant until it is released, and none of anybody while it is away.
type slow struct {
	audit.Log
	tenant  string
	release chan struct{}

	mu      sync.Mutex
	away    bool
	at      int // calls of that tenant under way
	most    int
	entries []audit.Entry
}

// AppendAudit implements [audit.Log].
func (l *slow) AppendAudit(ctx context.Context, e audit.Entry) (int64, error) {
	if e.Tenant == l.tenant {
		l.mu.Lock()
		l.at++
		l.most = max(l.most, l.at)
		l.mu.Unlock()
		defer func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.at--
		}()
		select {
		case <-l.release:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away {
		return 0, errors.New("the store is away")
	}
	l.entries = append(l.entries, e)
	return int64(len(l.entries)), nil
}

// AuditChains implements [audit.Log].
func (l *slow) AuditChains(context.Context) ([]audit.Chain, error) { return nil, nil }

// TestOneTenantsChangesWaitForEachOther: however many changes a tenant makes at once, one of them writes, some wait,
// the rest is refused and counted; another tenant's are written meanwhile (A11, A12, A13).
func TestOneTenantsChangesWaitForEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &slow{tenant: "loud", release: make(chan struct{})}
		trail := audit.New(audit.Config{Store: log, Log: slog.New(slog.DiscardHandler)})
		var mu sync.Mutex
		busy, begun := 0, 0
		var wg sync.WaitGroup
		for range 300 {
			wg.Go(func() {
				_, err := trail.Begin(t.Context(), audit.Action{Tenant: "loud", Operation: "pause"})
				mu.Lock()
				defer mu.Unlock()
				if refused, ok := errors.AsType[*api.Error](err); ok && refused.Code == api.CodeAuditBusy {
					busy++
				} else if err == nil {
					begun++
				}
			})
		}
		synctest.Wait()
		began := time.Now()
		if _, err := trail.Begin(t.Context(), audit.Action{Tenant: "calm", Operation: "pause"}); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("another tenant's change has waited for %v", took)
		}
		close(log.release)
		wg.Wait()
		if log.most != 1 || busy != 199 || begun != 101 {
			t.Errorf("%d have written at once, %d were refused and %d begun", log.most, busy, begun)
		}
		if n := trail.Refused()[api.CodeAuditBusy]; n != int64(busy) {
			t.Errorf("%d were counted", n)
		}
	})
}

// TestDenialsOutliveAnOutage: denials that the store does not take are written when it does, and however long that
// lasts their number is right (A13).
func TestDenialsOutliveAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &slow{away: true}
		trail := audit.New(audit.Config{Store: log, Log: slog.New(slog.DiscardHandler)})
		total := int64(0)
		for window := range 10 {
			for i := range 300 {
				by := audit.Actor{Tenant: fmt.Sprint("t", i%12), Subject: fmt.Sprint("s", window, i)}
				trail.Denied(by, "GET /v1/graphs", "", api.CodeForbidden)
				total++
			}
			trail.Settle(t.Context())
			time.Sleep(5 * time.Minute)
			trail.Settle(t.Context())
		}
		log.away = false
		trail.Close(t.Context())
		told := int64(0)
		for _, e := range log.entries {
			told += e.Count
		}
		if told != total || trail.DeniedTotal() != total || len(log.entries) > 1000 {
			t.Errorf("%d of %d denials are told of, in %d entries", told, total, len(log.entries))
		}
		if trail.Refused()["audit_denials_merged"] == 0 {
			t.Error("those that are told of as others are not counted")
		}
	})
}

// TestEntriesAreBounded: whatever callers have chosen, an entry is no longer than a store and a reader can take.
func TestEntriesAreBounded(t *testing.T) {
	t.Parallel()
	e := audit.Entry{Kind: audit.Intent}
	for range 200 {
		line := make([]byte, 300)
		for i := range line {
			line[i] = 1 // six bytes in JSON
		}
		e.Detail = append(e.Detail, string(line))
	}
	body, err := e.Body()
	if err != nil || len(body) > 32<<10 || len(body) < 1000 {
		t.Errorf("%d bytes, %v", len(body), err)
	}
}

// TestReadersAreBounded: a tenant that reads leaves room for others.
func TestReadersAreBounded(t *testing.T) {
	t.Parallel()
	trail := audit.New(audit.Config{Log: slog.New(slog.DiscardHandler)})
	var leave []func()
	for range 100 {
		if back, err := trail.Reader("loud"); err == nil {
			leave = append(leave, back)
		}
	}
	_, err := trail.Reader("calm")
	if len(leave) != 4 || err != nil || trail.Refused()[api.CodeAuditBusy] != 96 {
		t.Errorf("%d were admitted, then %v, and refused are %v", len(leave), err, trail.Refused())
	}
	for _, back := range leave {
		back()
	}
	if _, err := trail.Reader("loud"); err != nil {
		t.Error(err)
	}
}
