package postgres

import (
	"context"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/postgres/schema"
	"github.com/graphd/graphd/internal/dal/rules"
	"github.com/jackc/pgx/v5"
)

const (
	pgListFirings = `SELECT incarnation, epoch, key, data FROM firing
		WHERE` + pgState + ` AND (incarnation, epoch) < ($4, $5) AND ($7 = '' OR key = $7)
		ORDER BY incarnation DESC, epoch DESC LIMIT $6`
	// It goes down the incarnations that are in the ring, one look each, instead of through
	// all records.
	pgFiring = `WITH RECURSIVE started (incarnation) AS (
			(SELECT incarnation FROM firing WHERE` + pgState + ` ORDER BY incarnation DESC LIMIT 1)
			UNION ALL
			SELECT (SELECT f.incarnation FROM firing f WHERE f.` + pgStateOnly + ` AND f.incarnation < s.incarnation
				ORDER BY f.incarnation DESC LIMIT 1)
			FROM started s WHERE s.incarnation IS NOT NULL)
		SELECT f.incarnation, f.epoch, f.key, f.data FROM started s
		JOIN firing f ON f.` + pgStateOnly + ` AND f.incarnation = s.incarnation AND f.epoch = $4
		ORDER BY f.incarnation DESC LIMIT 1`
	pgStateOnly = `state = (SELECT state FROM graph_head WHERE tenant = $1 AND graph = $2 AND shard = $3)`
)

// firings ends the first part of a commit, which updates the head, and adds the history.
//
// Records that follow on those in the ring, as all do that a graph makes, are counted
// without looking at the ring: the head knows how many it holds, and what is too much goes
// from its old end. Any others (ordered false) have the whole ring looked at.
func (s *statement) firings(c *checkpoint.Commit, firings []checkpoint.Firing, ordered bool) {
	keep := int64(max(c.KeepFirings, 0))
	added := int64(len(firings))
	where := func() {
		s.part(` WHERE h.tenant = %s AND h.graph = %s AND h.shard = %s AND h.fence = %s AND h.seq = %s
			AND `+schema.Readable, c.ID.Tenant, c.ID.Graph, c.ID.Shard, c.Fence, c.Seq-1)
	}
	if !ordered {
		s.shuffledFirings(firings, keep, where)
		return
	}
	if added == 0 {
		s.part(`, firings = least(o.firings, %s) FROM graph_head o`, keep)
		where()
	} else {
		first, last := &firings[0], &firings[added-1]
		s.part(`, firings = least(o.firings + %s, %s), ring_incarnation = %s, ring_epoch = %s FROM graph_head o`, added,
			keep, last.Incarnation, last.Epoch)
		where()
		s.part(` AND (h.ring_incarnation, h.ring_epoch) < (%s::bigint, %s::bigint)`, first.Incarnation, first.Epoch)
	}
	s.part(` AND o.state = h.state RETURNING h.state, o.firings + %s - %s AS over)`, added, keep)
	s.insertFirings(firings, "")
	s.part(`, trimmed AS (DELETE FROM firing WHERE ctid = ANY (ARRAY (SELECT ctid FROM firing
		WHERE state = (SELECT state FROM head) ORDER BY incarnation, epoch LIMIT greatest((SELECT over
			FROM head), 0))))`)
}

// shuffledFirings has the whole ring looked at: what is kept are the newest of old and new together.
func (s *statement) shuffledFirings(firings []checkpoint.Firing, keep int64, where func()) {
	s.part(`, (firings, ring_incarnation, ring_epoch) = (SELECT count(*), coalesce((array_agg(incarnation
		ORDER BY incarnation DESC, epoch DESC))[1], -1),
		coalesce((array_agg(epoch ORDER BY incarnation DESC, epoch DESC))[1], -1) FROM (
			SELECT incarnation, epoch FROM firing f WHERE f.state = h.state UNION SELECT *
				FROM unnest(%s::bigint[], %s::bigint[])
			ORDER BY 1 DESC, 2 DESC LIMIT %s) r)`, incarnations(firings), epochs(firings), keep)
	where()
	s.part(` RETURNING h.state), ring AS MATERIALIZED (SELECT incarnation, epoch FROM head JOIN firing f USING (state)
		UNION SELECT u.* FROM head, unnest(%s::bigint[], %s::bigint[]) u ORDER BY 1 DESC, 2 DESC
			LIMIT %s)`, incarnations(firings), epochs(firings), keep)
	s.insertFirings(firings, ` WHERE (u.incarnation, u.epoch) IN (SELECT incarnation, epoch FROM ring)`)
	s.part(`, trimmed AS (DELETE FROM firing f USING head WHERE f.state = head.state AND (f.incarnation, f.epoch) ` +
		`NOT IN (SELECT incarnation, epoch FROM ring))`)
}

func (s *statement) insertFirings(firings []checkpoint.Firing, where string) {
	if len(firings) == 0 {
		return
	}
	keys, data := make([]string, len(firings)), make([][]byte, len(firings))
	for i := range firings {
		keys[i], data[i] = storable(firings[i].Key), rules.OrEmpty(firings[i].Data)
	}
	s.part(`, fired AS (INSERT INTO firing (state, incarnation, epoch, key, data)
		SELECT head.state, u.* FROM head, unnest(%s::bigint[], %s::bigint[], %s::text[], %s::bytea[]) u (incarnation,
			epoch, key, data)`+where+` ON CONFLICT DO NOTHING)`,
		incarnations(firings), epochs(firings), keys, data)
}

func incarnations(firings []checkpoint.Firing) []int64 {
	list := make([]int64, len(firings))
	for i := range firings {
		list[i] = firings[i].Incarnation
	}
	return list
}

func epochs(firings []checkpoint.Firing) []int64 {
	list := make([]int64, len(firings))
	for i := range firings {
		list[i] = firings[i].Epoch
	}
	return list
}

// ascending says that every record comes after the one before it.
func ascending(firings []checkpoint.Firing) bool {
	for i := 1; i < len(firings); i++ {
		if !rules.PlaceOf(&firings[i-1]).Before(rules.PlaceOf(&firings[i])) {
			return false
		}
	}
	return true
}

// unique keeps the first record of each place.
func unique(firings []checkpoint.Firing) []checkpoint.Firing {
	seen := make(map[rules.Place]bool, len(firings))
	var kept []checkpoint.Firing
	for _, f := range firings {
		if at := rules.PlaceOf(&f); !seen[at] {
			seen[at] = true
			kept = append(kept, f)
		}
	}
	return kept
}

// Firings lists the history; see [checkpoint.History].
func (p *Store) Firings(ctx context.Context, id checkpoint.ID, q checkpoint.Query) (
	items []checkpoint.Firing, next string, err error) {
	below, err := rules.FiringPlace(id, q.Before)
	if err != nil {
		return nil, "", rules.Wrap(err, "list firings of graph %s", id)
	}
	if namesNothing(q.Key) {
		return nil, "", nil
	}
	size := rules.PageSize(q)
	err = p.rows(ctx, pgListFirings, []any{id.Tenant, id.Graph, id.Shard, below.Incarnation, below.Epoch, size + 1,
		q.Key}, func(r pgx.Rows) error {
		f, err := pgFiringOf(r)
		items = append(items, f)
		return err
	})
	if err != nil {
		return nil, "", rules.Wrap(err, "list firings of graph %s", id)
	}
	items, next = rules.Page(items, size, func(f *checkpoint.Firing) string {
		return rules.FiringCursor(id, rules.PlaceOf(f))
	})
	return items, next, nil
}

// Firing is one record of the history; see [checkpoint.History].
func (p *Store) Firing(ctx context.Context, id checkpoint.ID, epoch int64) (f checkpoint.Firing, err error) {
	found := false
	err = p.rows(ctx, pgFiring, []any{id.Tenant, id.Graph, id.Shard, epoch}, func(r pgx.Rows) (err error) {
		found = true
		f, err = pgFiringOf(r)
		return err
	})
	if err == nil && !found {
		err = rules.NotFound("firing of epoch", epoch, id)
	}
	return f, rules.Wrap(err, "read firing")
}

func pgFiringOf(r pgx.Rows) (f checkpoint.Firing, err error) {
	err = r.Scan(&f.Incarnation, &f.Epoch, &f.Key, &f.Data)
	return f, err
}
