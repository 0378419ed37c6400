package postgres

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
	"github.com/graphd/graphd/internal/testbed"
	"github.com/jackc/pgx/v5/pgxpool"
)

// warm opens n connections of a pool and leaves them idle.
func warm(t *testing.T, pool *pgxpool.Pool, n int) {
	t.Helper()
	var held []*pgxpool.Conn
	for range n {
		c, err := pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	for _, c := range held {
		c.Release()
	}
}

// M45: of connections that are half open the first costs a call its time, and the others cost
// nobody anything: neither those of its pool, nor those of the pool for what begins a run, nor
// those that were in use meanwhile.
func TestStrandedConnectionsAreThrownAwayTogether(t *testing.T) {
	t.Parallel()
	plain, schema := newSchema(t)
	line, dsn := testbed.PostgresProxy(t, plain)
	p, err := Open(t.Context(), dsn, Options{Schema: schema, Timeouts: tight})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	renew(t, p, time.Minute)
	o := checkpointtest.NewOwner(t, p, "g")
	o.Commit(t)
	load := func() error { return p.Load(t.Context(), o.Next.ID, func(checkpoint.Cell) error { return nil }) }
	warm(t, p.bulk, 6)
	warm(t, p.control, 3)
	inUse, err := p.bulk.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	line.Strand()
	var both sync.WaitGroup
	for range 2 { // two calls that meet one each at the same time
		both.Go(func() {
			if err := load(); err != nil && !errors.Is(err, checkpoint.ErrSlow) {
				t.Errorf("the first call: %v, want ErrSlow", err)
			}
		})
	}
	both.Wait()
	inUse.Release()
	for range 8 {
		if err := load(); err != nil {
			t.Errorf("a call after the first: %v", err)
		}
	}
	if _, err := p.Acquire(t.Context(), o.Next.ID); err != nil {
		t.Errorf("the next start of a run: %v", err)
	}
}

// looked is after how long an idle connection is looked at before it is used.
const looked = time.Second

// M35: a connection that was ended while it was idle says that the store cannot be reached, and
// is no error that a graph would count as its own.
func TestAnEndedConnectionIsUnreachable(t *testing.T) {
	t.Parallel()
	plain, schema := newSchema(t)
	a, line := throughProxy(t, plain, schema, patient)
	defer a.Close()
	renew(t, a, time.Minute)
	o := checkpointtest.NewOwner(t, a, "g")
	until(t, "a call comes while the connections are not looked at first", patience, func() bool {
		began := time.Now()
		warm(t, a.control, 2)
		line.cut()
		_, err := a.Acquire(t.Context(), o.Next.ID)
		if err == nil && time.Since(began) > looked {
			return false
		}
		if !errors.Is(err, checkpoint.ErrUnreachable) {
			t.Errorf("the first call: %v, want ErrUnreachable", err)
		}
		return true
	})
	if _, err := a.Acquire(t.Context(), o.Next.ID); err != nil {
		t.Errorf("the second call: %v", err)
	}
}
