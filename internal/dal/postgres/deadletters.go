package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/jackc/pgx/v5"
)

const (
	deadLetterColumns = `id, at, accumulator, stage, code, reason, epoch, key, position, events, folded, replay_of, ` +
		`attempts, output, firing_id, message, payload`
	pgLetter      = `SELECT ` + deadLetterColumns + ` FROM dead_letter WHERE` + pgState + ` AND id = $4`
	pgListLetters = `SELECT ` + deadLetterColumns + ` FROM dead_letter
		WHERE` + pgState + ` AND $5 IN ('', key) AND $8 IN ('', code) AND $9 IN ('', stage)
		AND $10 IN ('', accumulator) AND $11 IN ('', output) AND at >= $12 AND at < $13 AND `
	pgNewestLetters = `(NOT $7 OR id < $6) ORDER BY id DESC LIMIT $4`
	pgOldestLetters = `id > $6 AND (NOT $7 OR id <= $14) ORDER BY id LIMIT $4`
	pgDeleteLetters = `DELETE FROM dead_letter WHERE` + pgState + ` AND id = ANY ($4)`
	pgListRetention = `SELECT id, at, size FROM dead_letter WHERE` + pgState + ` ORDER BY id DESC`
)

// deadLetters adds a commit's dead letters; one that is there already stays as it is.
func (s *statement) deadLetters(letters []checkpoint.DeadLetter, discard []string) {
	if len(discard) > 0 {
		s.part(`, replayed AS (DELETE FROM dead_letter l USING head WHERE l.state = head.state
			AND l.id = ANY (%s::text[]))`, discard)
	}
	if len(letters) == 0 {
		return
	}
	n := len(letters)
	var ids, accumulators, stages, codes, reasons, keys, positions, replays = make([]string, n), make([]string, n),
		make([]string, n),
		make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	sizes, at, epochs, events := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	folded, payloads, messages := make([]bool, n), make([][]byte, n), make([][]byte, n)
	attempts, outputs, firings := make([]int64, n), make([]string, n), make([]string, n)
	for i := range letters {
		l := &letters[i]
		ids[i], accumulators[i], stages[i], codes[i] = l.ID, storable(l.Accumulator), storable(l.Stage),
			storable(l.Code)
		reasons[i], keys[i], positions[i], replays[i] = storable(l.Reason), storable(l.Key), storable(l.Position),
			storable(l.ReplayOf)
		sizes[i], at[i], epochs[i], events[i] = int64(len(l.Payload)), rules.Nanos(l.At), l.Epoch, l.Events
		folded[i], payloads[i], messages[i] = l.Folded, rules.OrEmpty(l.Payload), rules.OrEmpty(l.Message)
		attempts[i], outputs[i], firings[i] = max(1, l.Attempts), storable(l.Output), l.FiringID
	}
	s.part(`, lettered AS (INSERT INTO dead_letter (state, size, `+deadLetterColumns+`) SELECT head.state, u.*
		FROM head,
		unnest(%s::bigint[], %s::text[], %s::bigint[], %s::text[], %s::text[], %s::text[], %s::text[], %s::bigint[],
			%s::text[], %s::text[], %s::bigint[],
			%s::boolean[], %s::text[], %s::bigint[], %s::text[], %s::text[], %s::bytea[], %s::bytea[]) u
			ON CONFLICT DO NOTHING)`,
		sizes, ids, at, accumulators, stages, codes, reasons, epochs, keys, positions, events, folded, replays,
		attempts, outputs, firings, messages, payloads)
}

func pgLetterOf(r pgx.Rows) (l checkpoint.DeadLetter, err error) {
	var at int64
	err = r.Scan(&l.ID, &at, &l.Accumulator, &l.Stage, &l.Code, &l.Reason, &l.Epoch, &l.Key, &l.Position, &l.Events,
		&l.Folded, &l.ReplayOf, &l.Attempts, &l.Output, &l.FiringID, &l.Message, &l.Payload)
	l.At = rules.FromNanos(at)
	return l, err
}

// DeadLetters lists a graph's dead letters; see [checkpoint.DeadLetters].
func (p *Store) DeadLetters(ctx context.Context, id checkpoint.ID, q checkpoint.LetterQuery) (
	items []checkpoint.DeadLetter, next string, err error) {
	below, bounded, err := rules.DeadLetterBound(q.Before)
	if err == nil && namesNothing(below) {
		err = rules.BadCursor(q.Before)
	}
	if err != nil {
		return nil, "", rules.Wrap(err, "list dead letters of graph %s", id)
	}
	if namesNothing(q.Key + q.Code + q.Stage + q.Accumulator + q.Output + q.After + q.UpTo) {
		return nil, "", nil
	}
	size := rules.PageSize(q.Query)
	from, to := rules.Between(q.Since, q.Until)
	text, args := pgListLetters+pgNewestLetters, []any{id.Tenant, id.Graph, id.Shard, size + 1, q.Key, below, bounded,
		q.Code, q.Stage, q.Accumulator, q.Output, from, to}
	if q.Oldest {
		text, args[5], args[6] = pgListLetters+pgOldestLetters, q.After, q.UpTo != ""
		args = append(args, q.UpTo)
	}
	err = p.rows(ctx, text, args,
		func(r pgx.Rows) error {
			l, err := pgLetterOf(r)
			items = append(items, l)
			return err
		})
	if err != nil {
		return nil, "", rules.Wrap(err, "list dead letters of graph %s", id)
	}
	items, next = rules.Page(items, size, func(l *checkpoint.DeadLetter) string { return rules.DeadLetterCursor(l.ID) })
	return items, next, nil
}

// DeadLetter is one letter; see [checkpoint.DeadLetters].
func (p *Store) DeadLetter(ctx context.Context, id checkpoint.ID, letter string) (l checkpoint.DeadLetter, err error) {
	found := false
	if !namesNothing(letter) {
		err = p.rows(ctx, pgLetter, []any{id.Tenant, id.Graph, id.Shard, letter}, func(r pgx.Rows) (err error) {
			found = true
			l, err = pgLetterOf(r)
			return err
		})
	}
	if err == nil && !found {
		err = rules.NotFound("dead letter", letter, id)
	}
	return l, rules.Wrap(err, "read dead letter")
}

// DiscardDeadLetters removes letters; see [checkpoint.DeadLetters].
func (p *Store) DiscardDeadLetters(ctx context.Context, id checkpoint.ID, letters []string) (int64, error) {
	letters = slices.DeleteFunc(slices.Clone(letters), namesNothing)
	removed, err := p.deleteLetters(ctx, id, letters)
	return removed, rules.Wrap(err, "discard dead letters of graph %s", id)
}

// deleteLetters removes letters in steps, and says with an error too how many went.
func (p *Store) deleteLetters(ctx context.Context, id checkpoint.ID, letters []string) (removed int64, err error) {
	for len(letters) > 0 && err == nil {
		batch := letters[:min(rules.PruneBatch, len(letters))]
		letters = letters[len(batch):]
		var deleted int64
		deleted, err = p.execFor(ctx, p.bulk, longTimeout, pgDeleteLetters, id.Tenant, id.Graph, id.Shard, batch)
		removed += deleted
	}
	return removed, err
}

// PruneDeadLetters removes what is past the bounds; see [checkpoint.DeadLetters]. A zero
// time, and a max or maxBytes of 0 or less, bound nothing. It works in steps, and says
// with an error too how many went.
func (p *Store) PruneDeadLetters(ctx context.Context, id checkpoint.ID, olderThan time.Time, max int, maxBytes int64) (
	removed int64, err error) {
	rule := rules.Retention{OlderThan: olderThan, Max: max, MaxBytes: maxBytes}
	var drop []string
	err = p.rows(ctx, pgListRetention, []any{id.Tenant, id.Graph, id.Shard}, func(r pgx.Rows) error {
		var letter string
		var at, size int64
		if err := r.Scan(&letter, &at, &size); err != nil {
			return err
		}
		if rule.Removes(rules.FromNanos(at), size) {
			drop = append(drop, letter)
		}
		return nil
	})
	if err == nil {
		removed, err = p.deleteLetters(ctx, id, drop)
	}
	return removed, rules.Wrap(err, "prune dead letters of graph %s", id)
}
