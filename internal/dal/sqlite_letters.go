package dal

import (
	"context"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
)

const (
	letterColumns = `id, at, accumulator, stage, code, reason, epoch, key, position, events, folded, replay_of, payload`
	insertLetter  = `INSERT OR IGNORE INTO dead_letter (tenant, graph, size, ` + letterColumns + `)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	selectLetter = `SELECT ` + letterColumns + ` FROM dead_letter WHERE tenant = ? AND graph = ? AND id = ?`
	listLetters  = `SELECT ` + letterColumns + ` FROM dead_letter WHERE tenant = ? AND graph = ?`
	letterBelow  = ` AND id < ?`
	letterOfKey  = ` AND key = ?`
	newestLetter = ` ORDER BY id DESC LIMIT ?`
	deleteLetter = `DELETE FROM dead_letter WHERE tenant = ? AND graph = ? AND id = ?`
	// Answered from the index alone.
	listRetention = `SELECT id, at, size FROM dead_letter INDEXED BY dead_letter_retention
		WHERE tenant = ? AND graph = ? ORDER BY id DESC`

	// pruneBatch is how many letters one transaction removes, so that commits get in between.
	pruneBatch = 500
)

func writeDeadLetters(ctx context.Context, conn *conn, c *checkpoint.Commit) error {
	for i := range c.DeadLetters {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		l := &c.DeadLetters[i]
		folded := int64(0)
		if l.Folded {
			folded = 1
		}
		if _, err := conn.exec(insertLetter, c.ID.Tenant, c.ID.Graph, int64(len(l.Payload)),
			l.ID, nanos(l.At), l.Accumulator, l.Stage, l.Code, l.Reason, l.Epoch, l.Key, l.Position, l.Events, folded, l.ReplayOf,
			orEmpty(l.Payload)); err != nil {
			return err
		}
	}
	return nil
}

func letterOf(r row) checkpoint.DeadLetter {
	return checkpoint.DeadLetter{
		ID: r.text(0), At: fromNanos(r.int(1)), Accumulator: r.text(2), Stage: r.text(3), Code: r.text(4), Reason: r.text(5),
		Epoch: r.int(6), Key: r.text(7), Position: r.text(8), Events: r.int(9), Folded: r.int(10) != 0, ReplayOf: r.text(11),
		Payload: r.blob(12),
	}
}

// DeadLetters lists a graph's dead letters; see [checkpoint.DeadLetters].
func (s *SQLite) DeadLetters(ctx context.Context, id checkpoint.ID, q checkpoint.Query) (items []checkpoint.DeadLetter, next string, err error) {
	below, bounded, err := letterBound(q.Before)
	if err != nil {
		return nil, "", wrap(err, "list dead letters of graph %s", id)
	}
	text, args := listLetters, []any{id.Tenant, id.Graph}
	if bounded {
		text, args = text+letterBelow, append(args, below)
	}
	if q.Key != "" {
		text, args = text+letterOfKey, append(args, q.Key)
	}
	size := pageSize(q)
	err = s.read(ctx, func(c *conn) error {
		return c.query(ctx, text+newestLetter, func(r row) error {
			items = append(items, letterOf(r))
			return nil
		}, append(args, int64(size+1))...)
	})
	if err != nil {
		return nil, "", wrap(err, "list dead letters of graph %s", id)
	}
	items, next = page(items, size, func(l *checkpoint.DeadLetter) string { return encodeCursor(cursorLetter, l.ID) })
	return items, next, nil
}

// DeadLetter is one letter; see [checkpoint.DeadLetters].
func (s *SQLite) DeadLetter(ctx context.Context, id checkpoint.ID, letter string) (l checkpoint.DeadLetter, err error) {
	err = s.read(ctx, func(c *conn) error {
		r, err := c.first(selectLetter, id.Tenant, id.Graph, letter)
		if err == nil && r == nil {
			return notFound("dead letter", letter, id)
		}
		if err == nil {
			l = letterOf(r)
		}
		return err
	})
	return l, wrap(err, "read dead letter")
}

// DiscardDeadLetter removes one letter; see [checkpoint.DeadLetters].
func (s *SQLite) DiscardDeadLetter(ctx context.Context, id checkpoint.ID, letter string) error {
	return wrap(s.write(ctx, 0, func(_ context.Context, c *conn) error {
		deleted, err := c.exec(deleteLetter, id.Tenant, id.Graph, letter)
		if err == nil && deleted == 0 {
			return notFound("dead letter", letter, id)
		}
		return err
	}), "discard dead letter")
}

// PruneDeadLetters removes what is past the bounds; see [checkpoint.DeadLetters]. A zero
// time, and a max or maxBytes of 0 or less, bound nothing. It works in steps, and says
// with an error too how many went.
func (s *SQLite) PruneDeadLetters(ctx context.Context, id checkpoint.ID, olderThan time.Time, max int, maxBytes int64) (removed int64, err error) {
	rule := retention{olderThan: olderThan, max: max, maxBytes: maxBytes}
	var drop []string
	err = s.read(ctx, func(c *conn) error {
		return c.query(ctx, listRetention, func(r row) error {
			if rule.removes(fromNanos(r.int(1)), r.int(2)) {
				drop = append(drop, r.text(0))
			}
			return nil
		}, id.Tenant, id.Graph)
	})
	for len(drop) > 0 && err == nil {
		batch := drop[:min(pruneBatch, len(drop))]
		drop = drop[len(batch):]
		var deleted int64
		err = s.write(ctx, 0, func(_ context.Context, c *conn) error {
			deleted = 0 // a transaction may be tried twice
			for _, letter := range batch {
				n, err := c.exec(deleteLetter, id.Tenant, id.Graph, letter)
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
	return removed, wrap(err, "prune dead letters of graph %s", id)
}
