package faults

import (
	"cmp"
	"context"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/graphd/graphd/internal/testbed"
)

// database is a database of its own, by its address and with a connection, in which the statements
// have been run.
func database(t *testing.T, statements ...string) (dsn string, db *pgx.Conn) {
	t.Helper()
	dsn = testbed.Postgres(t)
	db, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	for _, text := range statements {
		if _, err := db.Exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	return dsn, db
}

// storm is a daemon that is killed again and again while a file of events grows.
type storm struct {
	dir    string
	kills  int
	each   int64    // events every 10 ms
	points []string // failpoints in turn
	seed   uint64
	args   []string // of the daemon
	// program is the daemon, "" for the one that is tested; env is its environment beside the test's own.
	program string
	env     []string
	// meanwhile, when given, is what happens after the kills, while the file still grows.
	meanwhile func()
	tally
}

// run is the storm: how many events there are, and how many were written in a second. What the daemons did with them
// is in the tally.
func (s *storm) run(t *testing.T) (total int64, rate float64) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	began := time.Now()
	l := startLoadAt(ctx, t, filepath.Join(s.dir, "events.ndjson"), s.each)
	rng := rand.New(rand.NewPCG(s.seed, s.seed+1))
	for i := range s.kills {
		s.add(killedAs(t, cmp.Or(s.program, binary()), s.env, s.dir, i, s.points, rng, func(*process) {}, s.args...))
	}
	if s.meanwhile != nil {
		s.meanwhile()
	}
	rate = float64(l.written.Load()) / time.Since(began).Seconds()
	cancel()
	<-l.done
	return l.written.Load(), rate
}
