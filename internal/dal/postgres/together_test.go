package postgres

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
	"github.com/jackc/pgx/v5"
)

// crowd is a store whose flights are held up by locked rows, so that the commits of its graphs wait to go together.
type crowd struct {
	t           *testing.T
	dsn, schema string
	p           *Store
	release     func()
	held        []chan error
}

// lock holds the rows of graphs until release is called.
func (c *crowd) lock(graphs ...string) (release func()) {
	c.t.Helper()
	conn, err := pgx.Connect(c.t.Context(), c.dsn)
	if err != nil {
		c.t.Fatal(err)
	}
	tx, err := conn.Begin(c.t.Context())
	if err == nil {
		_, err = tx.Exec(c.t.Context(), "SELECT 1 FROM "+c.schema+
			".graph_head WHERE graph = ANY($1) FOR UPDATE", graphs)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return func() { _ = conn.Close(context.WithoutCancel(c.t.Context())) }
}

// newCrowd holds up so many flights as there may be.
func newCrowd(t *testing.T) *crowd {
	t.Helper()
	c := &crowd{t: t}
	c.dsn, c.schema = newSchema(t)
	// What is held up is let go of by the test alone, however long that takes.
	p, err := Open(t.Context(), c.dsn, Options{Schema: c.schema, Timeouts: Timeouts{Call: 2 * time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	c.p = p
	t.Cleanup(func() { _ = c.p.Close() })
	var owners []*checkpointtest.Owner
	var names []string
	for n := range 3 {
		names = append(names, fmt.Sprintf("busy%d", n))
		owners = append(owners, checkpointtest.NewOwner(t, c.p, names[n]))
	}
	c.release = c.lock(names...)
	for n, o := range owners {
		c.held = append(c.held, c.commit(o))
		until(t, "a flight is held up", patience, func() bool { return c.locked() == n+1 })
	}
	return c
}

// locked is how many statements of the store wait for a row.
func (c *crowd) locked() int {
	return len(query(c.t, c.dsn, "SELECT 1 FROM pg_stat_activity WHERE application_name = '"+c.p.application()+
		"' AND wait_event_type = 'Lock'"))
}

// commit sends the next commit of an owner, and returns when that waits or is on its way.
func (c *crowd) commit(o *checkpointtest.Owner) chan error {
	o.Next.Seq++
	o.Next.Epoch++
	done, before := make(chan error, 1), c.p.changes.Waiting()
	go func() { done <- c.p.Commit(c.t.Context(), &o.Next) }()
	if len(c.held) >= 3 {
		until(c.t, "a commit waits", patience, func() bool { return c.p.changes.Waiting() == before+1 })
	}
	return done
}

// land lets the flights go.
func (c *crowd) land() {
	c.t.Helper()
	c.release()
	for _, err := range c.held {
		if err := <-err; err != nil {
			c.t.Errorf("a commit that was held up: %v", err)
		}
	}
}

// M28: commits of many graphs that come while others are on their way are one transaction, in which one that is fenced
// changes nothing, and the others are done.
func TestM28CommitsOfOneMomentShareATransaction(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	const graphs = 30
	var results []chan error
	for n := range graphs {
		o := checkpointtest.NewOwner(t, c.p, fmt.Sprintf("g%d", n))
		o.Next.Cells, o.Next.Firings = checkpointtest.CellsOf(2, 50), checkpointtest.FiringsOf(1, 50)
		if n == 7 {
			o.Next.Fence-- // somebody else has taken it since
		}
		results = append(results, c.commit(o))
	}
	c.land()
	for n, err := range results {
		if err := <-err; (err != nil) != (n == 7) || err != nil && !errors.Is(err, checkpoint.ErrFenced) {
			t.Errorf("g%d: %v", n, err)
		}
	}
	got := query(t, c.dsn, "SELECT count(DISTINCT xmin::text), count(*), sum(seq)::int FROM "+c.schema+
		".graph_head WHERE graph LIKE 'g%' AND graph <> 'g7'")
	if want := fmt.Sprintf("1 %d %d", graphs-1, graphs-1); got[0] != want {
		t.Errorf("transactions, graphs, commits: %v, want %s", got, want)
	}
	if got := query(t, c.dsn, "SELECT seq FROM "+c.schema+".graph_head WHERE graph = 'g7'"); got[0] != "0" {
		t.Errorf("the fenced one wrote: %v", got)
	}
}

// M28: a commit that the server refuses takes no other with it.
func TestM28ARefusedCommitTakesNoOtherWithIt(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	var results []chan error
	for n := range 6 {
		o := checkpointtest.NewOwner(t, c.p, fmt.Sprintf("g%d", n))
		if n == 2 {
			o.Next.Cells = []checkpoint.Cell{{Kind: "input", Name: "no\x00text", Data: []byte("x")}}
		}
		results = append(results, c.commit(o))
	}
	c.land()
	for n, err := range results {
		err := <-err
		if (err != nil) != (n == 2) || errors.Is(err, checkpoint.ErrUnknownOutcome) {
			t.Errorf("g%d: %v", n, err)
		}
	}
	counted := query(t, c.dsn, "SELECT sum(seq)::int FROM "+c.schema+".graph_head WHERE graph LIKE 'g%'")
	if counted[0] != "5" {
		t.Errorf("commits that count: %v", counted)
	}
}

// M45: a graph whose row somebody has locked keeps no other's commit waiting for long.
func TestM45ALockedGraphHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	var results []chan error
	for n := range 6 {
		results = append(results, c.commit(checkpointtest.NewOwner(t, c.p, fmt.Sprintf("g%d", n))))
	}
	release := c.lock("g3")
	c.land()
	for n, err := range results {
		if n == 3 {
			continue
		}
		if err := <-err; err != nil {
			t.Errorf("g%d: %v", n, err)
		}
	}
	select {
	case err := <-results[3]:
		t.Fatalf("the locked one: %v before it was let go", err)
	default:
	}
	release()
	if err := <-results[3]; err != nil {
		t.Errorf("the locked one: %v", err)
	}
}
