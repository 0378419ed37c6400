package postgres

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
	"github.com/graphd/graphd/internal/testbed"
)

// A2: who may read a graph may read why its store is away, and learns neither where the database is nor who graphd is
// there; the log says both.
func TestADatabaseThatIsAwayIsNotNamed(t *testing.T) {
	t.Parallel()
	plain, schema := newSchema(t)
	line, dsn := testbed.PostgresProxy(t, plain)
	at, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	p, err := Open(t.Context(), dsn, Options{
		Schema: schema, Timeouts: tight, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	renew(t, p, time.Minute)
	o := checkpointtest.NewOwner(t, p, "g")
	o.Commit(t)
	calls := map[string]func() error{
		"load":    func() error { return p.Load(t.Context(), o.Next.ID, func(checkpoint.Cell) error { return nil }) },
		"commit":  func() error { return p.Commit(t.Context(), &o.Next) },
		"acquire": func() error { _, err := p.Acquire(t.Context(), o.Next.ID); return err },
		"ping":    func() error { return p.Ping(t.Context()) },
		"roster":  func() error { _, err := p.Roster(t.Context()); return err },
		"listen":  func() error { return p.AwaitChange(t.Context()) },
	}
	_, port, _ := net.SplitHostPort(at.Host)
	tried := func(how string, of error) {
		var all sync.WaitGroup
		for name, call := range calls {
			all.Go(func() {
				err := call()
				if !errors.Is(err, of) {
					t.Errorf("%s, %s: %v, want %v", how, name, err, of)
				}
				for _, secret := range []string{port, at.Hostname(), at.User.Username() + "@", "user="} {
					if err != nil && strings.Contains(err.Error(), secret) {
						t.Errorf("%s, %s: the error tells %q: %v", how, name, secret, err)
					}
				}
			})
		}
		all.Wait()
	}
	line.Swallow()
	tried("silent", checkpoint.ErrSlow)
	line.Refuse()
	tried("gone", checkpoint.ErrUnreachable)
	_ = p.Close()
	if !strings.Contains(log.String(), port) {
		t.Errorf("the log does not say where the database is: %s", log.String())
	}
}
