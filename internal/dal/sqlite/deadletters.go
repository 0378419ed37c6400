package sqlite

import (
	"context"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/graphd/graphd/internal/dal/sqlite/sqlconn"
)

const (
	deadLetterColumns = `id, at, accumulator, stage, code, reason, epoch, key, position, events, folded, replay_of, ` +
		`attempts, output, firing_id, message, payload`
	insertLetter = `INSERT OR IGNORE INTO dead_letter (tenant, state, size, ` + deadLetterColumns + `)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	selectLetter = `SELECT ` + deadLetterColumns + ` FROM dead_letter WHERE` + stateOf + ` AND id = ?4`
	listLetters  = `SELECT ` + deadLetterColumns + ` FROM dead_letter WHERE` + stateOf
	letterOfKey  = ` AND key = ?5`
	letterChosen = ` AND ?7 IN ('', code) AND ?8 IN ('', stage) AND ?9 IN ('', accumulator) AND ?10 IN ('', output)
		AND at >= ?11 AND at < ?12`
	letterBelow  = ` AND id < ?6`
	newestLetter = ` ORDER BY id DESC LIMIT ?4`
	oldestLetter = ` AND id > ?6 AND (?13 = '' OR id <= ?13) ORDER BY id LIMIT ?4`
	deleteLetter = `DELETE FROM dead_letter WHERE` + stateOf + ` AND id = ?4`
	// Of letters whose replay a commit covers.
	discardLetter = `DELETE FROM dead_letter WHERE state = ? AND id = ?`
	// Answered from the index alone.
	listRetention = `SELECT id, at, size FROM dead_letter INDEXED BY dead_letter_retention
		WHERE state = (SELECT state FROM graph_head WHERE tenant = ? AND graph = ? AND shard = ?) ORDER BY id DESC`
)

func writeDeadLetters(ctx context.Context, conn *sqlconn.Conn, c *checkpoint.Commit, state int64) error {
	for i := range c.DeadLetters {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		l := &c.DeadLetters[i]
		folded := int64(0)
		if l.Folded {
			folded = 1
		}
		if _, err := conn.Exec(insertLetter, c.ID.Tenant, state, int64(len(l.Payload)),
			l.ID, rules.Nanos(l.At), l.Accumulator, l.Stage, l.Code, l.Reason, l.Epoch, l.Key, l.Position, l.Events,
			folded, l.ReplayOf, max(1, l.Attempts), l.Output, l.FiringID, rules.OrEmpty(l.Message),
			rules.OrEmpty(l.Payload)); err != nil {
			return err
		}
	}
	for _, id := range c.Discard {
		if _, err := conn.Exec(discardLetter, state, id); err != nil {
			return err
		}
	}
	return nil
}

func letterOf(r sqlconn.Row) checkpoint.DeadLetter {
	return checkpoint.DeadLetter{
		ID: r.Text(0), At: rules.FromNanos(r.Int(1)), Accumulator: r.Text(2), Stage: r.Text(3), Code: r.Text(4),
		Reason: r.Text(5),
		Epoch:  r.Int(6), Key: r.Text(7), Position: r.Text(8), Events: r.Int(9), Folded: r.Int(10) != 0,
		ReplayOf: r.Text(11), Attempts: r.Int(12), Output: r.Text(13), FiringID: r.Text(14), Message: r.Blob(15),
		Payload: r.Blob(16),
	}
}

// DeadLetters lists a graph's dead letters; see [checkpoint.DeadLetters].
func (s *Store) DeadLetters(ctx context.Context, id checkpoint.ID, q checkpoint.LetterQuery) (
	items []checkpoint.DeadLetter, next string, err error) {
	below, bounded, err := rules.DeadLetterBound(q.Before)
	if err != nil {
		return nil, "", rules.Wrap(err, "list dead letters of graph %s", id)
	}
	size := rules.PageSize(q.Query)
	text := listLetters + letterChosen
	if q.Key != "" {
		text += letterOfKey
	}
	switch {
	case q.Oldest:
		below = q.After
		text += oldestLetter
	case bounded:
		text += letterBelow + newestLetter
	default:
		text += newestLetter
	}
	from, to := rules.Between(q.Since, q.Until)
	err = s.read(ctx, func(c *sqlconn.Conn) error {
		return c.Query(ctx, text, func(r sqlconn.Row) error {
			items = append(items, letterOf(r))
			return nil
		}, id.Tenant, id.Graph, int64(id.Shard), int64(size+1), q.Key, below, q.Code, q.Stage, q.Accumulator, q.Output,
			from, to, q.UpTo)
	})
	if err != nil {
		return nil, "", rules.Wrap(err, "list dead letters of graph %s", id)
	}
	items, next = rules.Page(items, size, func(l *checkpoint.DeadLetter) string { return rules.DeadLetterCursor(l.ID) })
	return items, next, nil
}

// DeadLetter is one letter; see [checkpoint.DeadLetters].
func (s *Store) DeadLetter(ctx context.Context, id checkpoint.ID, letter string) (l checkpoint.DeadLetter, err error) {
	err = s.read(ctx, func(c *sqlconn.Conn) error {
		r, err := c.First(selectLetter, id.Tenant, id.Graph, int64(id.Shard), letter)
		if err == nil && r == nil {
			return rules.NotFound("dead letter", letter, id)
		}
		if err == nil {
			l = letterOf(r)
		}
		return err
	})
	return l, rules.Wrap(err, "read dead letter")
}

// DiscardDeadLetters removes letters; see [checkpoint.DeadLetters].
func (s *Store) DiscardDeadLetters(ctx context.Context, id checkpoint.ID, letters []string) (int64, error) {
	removed, err := s.deleteLetters(ctx, id, letters)
	return removed, rules.Wrap(err, "discard dead letters of graph %s", id)
}

// deleteLetters removes letters in steps, and says with an error too how many went.
func (s *Store) deleteLetters(ctx context.Context, id checkpoint.ID, letters []string) (removed int64, err error) {
	for len(letters) > 0 && err == nil {
		batch := letters[:min(rules.PruneBatch, len(letters))]
		letters = letters[len(batch):]
		var deleted int64
		err = s.write(ctx, 0, func(_ context.Context, c *sqlconn.Conn) error {
			deleted = 0 // a transaction may be tried twice
			for _, letter := range batch {
				n, err := c.Exec(deleteLetter, id.Tenant, id.Graph, int64(id.Shard), letter)
				if err != nil {
					return err
				}
				deleted += n
			}
			return nil
		})
		if err == nil {
			removed += deleted
		}
	}
	return removed, err
}

// PruneDeadLetters removes what is past the bounds; see [checkpoint.DeadLetters]. A zero
// time, and a max or maxBytes of 0 or less, bound nothing. It works in steps, and says
// with an error too how many went.
func (s *Store) PruneDeadLetters(ctx context.Context, id checkpoint.ID, olderThan time.Time, max int, maxBytes int64) (
	removed int64, err error) {
	rule := rules.Retention{OlderThan: olderThan, Max: max, MaxBytes: maxBytes}
	var drop []string
	err = s.read(ctx, func(c *sqlconn.Conn) error {
		return c.Query(ctx, listRetention, func(r sqlconn.Row) error {
			if rule.Removes(rules.FromNanos(r.Int(1)), r.Int(2)) {
				drop = append(drop, r.Text(0))
			}
			return nil
		}, id.Tenant, id.Graph, int64(id.Shard))
	})
	if err == nil {
		removed, err = s.deleteLetters(ctx, id, drop)
	}
	return removed, rules.Wrap(err, "prune dead letters of graph %s", id)
}
