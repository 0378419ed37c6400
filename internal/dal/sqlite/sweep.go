package sqlite

import (
	"context"

	"github.com/graphd/graphd/internal/dal/sqlite/pushkeys"
	"github.com/graphd/graphd/internal/dal/sqlite/sqlconn"
)

const (
	selectDropped = `SELECT state FROM dropped_state LIMIT 1`
	deleteDropped = `DELETE FROM dropped_state WHERE state = ?`
	sweepCells    = `DELETE FROM cell WHERE rowid IN (SELECT rowid FROM cell WHERE state = ? LIMIT ?)`
	sweepFirings  = `DELETE FROM firing WHERE rowid IN (SELECT rowid FROM firing WHERE state = ? LIMIT ?)`
	sweepLetters  = `DELETE FROM dead_letter WHERE rowid IN (SELECT rowid FROM dead_letter WHERE state = ? LIMIT ?)`
	sweepJournal  = `DELETE FROM journal WHERE rowid IN (SELECT rowid FROM journal WHERE state = ? LIMIT ?)`
	sweepOutbox   = `DELETE FROM outbox WHERE rowid IN (SELECT rowid FROM outbox WHERE state = ? LIMIT ?)`

	// sweepBatch is how many rows go with one transaction: some milliseconds, in which
	// commits wait.
	sweepBatch = 200
)

// sweep removes all rows of all deleted graphs, a batch at a time.
func (s *Store) sweep(ctx context.Context) error {
	for {
		state, found := int64(0), false
		err := s.read(ctx, func(c *sqlconn.Conn) error {
			r, err := c.First(selectDropped)
			if r != nil {
				state, found = r.Int(0), true
			}
			return err
		})
		if err != nil || !found {
			return err
		}
		if err := s.write(ctx, 0, func(_ context.Context, c *sqlconn.Conn) error {
			return sweepSome(c, state)
		}); err != nil {
			return err
		}
	}
}

// sweepSome removes one batch, and the note of the state with the last.
func sweepSome(c *sqlconn.Conn, state int64) error {
	for _, text := range []string{sweepCells, sweepFirings, sweepLetters, sweepJournal, sweepOutbox, pushkeys.Sweep} {
		n, err := c.Exec(text, state, int64(sweepBatch))
		if err != nil || n == sweepBatch {
			return err
		}
	}
	_, err := c.Exec(deleteDropped, state)
	return err
}
