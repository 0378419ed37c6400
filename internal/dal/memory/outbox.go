package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/rules"
)

// checkRoom refuses a commit whose outbox entries cannot be added, before anything is changed.
func (g *graph) checkRoom(c *checkpoint.Commit) error {
	fresh := map[string]map[int64]bool{}
	for i := range c.Outbox {
		e := &c.Outbox[i]
		_, found := slices.BinarySearchFunc(g.outbox[e.Output], e.Seq, compareEntry)
		if found || fresh[e.Output][e.Seq] {
			return fmt.Errorf("entry %d of the outbox of %s is there already", e.Seq, e.Output)
		}
		if fresh[e.Output] == nil {
			fresh[e.Output] = map[int64]bool{}
		}
		fresh[e.Output][e.Seq] = true
	}
	return nil
}

func compareEntry(e checkpoint.OutboxEntry, seq int64) int { return cmp.Compare(e.Seq, seq) }

func (g *graph) applyOutbox(c *checkpoint.Commit) {
	for _, e := range c.Outbox {
		e.Data, e.At = copied(e.Data), rules.Instant(e.At)
		i, _ := slices.BinarySearchFunc(g.outbox[e.Output], e.Seq, compareEntry)
		g.outbox[e.Output] = slices.Insert(g.outbox[e.Output], i, e)
	}
	for _, d := range c.Delivered {
		i, _ := slices.BinarySearchFunc(g.outbox[d.Output], d.UpTo+1, compareEntry)
		if g.outbox[d.Output] = slices.Delete(g.outbox[d.Output], 0, i); len(g.outbox[d.Output]) == 0 {
			delete(g.outbox, d.Output)
		}
	}
	i, _ := slices.BinarySearchFunc(g.journal, c.JournalTo+1, compareJournal)
	g.journal = slices.Delete(g.journal, 0, i)
}

func compareJournal(e checkpoint.JournalEntry, seq int64) int { return cmp.Compare(e.Seq, seq) }

// Outbox lists entries; see [checkpoint.Outbox].
func (m *Store) Outbox(ctx context.Context, id checkpoint.ID, output string, after int64, limit int, maxBytes int64) (
	[]checkpoint.OutboxEntry, error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return nil, rules.Wrap(err, "read the outbox of graph %s", id)
	}
	defer unlock()
	g := m.graphs[id]
	if g == nil {
		return nil, nil
	}
	all := g.outbox[output]
	i, _ := slices.BinarySearchFunc(all, after+1, compareEntry)
	bound := rules.NewOutboxPage(limit, maxBytes)
	var page []checkpoint.OutboxEntry
	for ; i < len(all) && bound.Fits(int64(len(all[i].Data))); i++ {
		e := all[i]
		e.Data = copied(e.Data)
		page = append(page, e)
	}
	return page, nil
}

// OutboxDepths is what waits; see [checkpoint.Outbox].
func (m *Store) OutboxDepths(ctx context.Context, id checkpoint.ID) ([]checkpoint.OutboxDepth, error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return nil, rules.Wrap(err, "look at the outboxes of graph %s", id)
	}
	defer unlock()
	g := m.graphs[id]
	if g == nil {
		return nil, nil
	}
	var depths []checkpoint.OutboxDepth
	for _, output := range slices.Sorted(maps.Keys(g.outbox)) {
		all := g.outbox[output]
		d := checkpoint.OutboxDepth{
			Output: output, Entries: int64(len(all)), First: all[0].Seq, Last: all[len(all)-1].Seq, Oldest: all[0].At,
		}
		for i := range all {
			d.Bytes += int64(len(all[i].Data))
		}
		depths = append(depths, d)
	}
	return depths, nil
}

// AppendJournal adds entries; see [checkpoint.Journal].
func (m *Store) AppendJournal(ctx context.Context, id checkpoint.ID, fence int64,
	entries []checkpoint.JournalEntry) error {
	if len(entries) == 0 {
		return nil
	}
	unlock, err := m.enter(ctx)
	if err != nil {
		return rules.Wrap(err, "journal of graph %s", id)
	}
	defer unlock()
	g := m.graphs[id]
	found, have, last := g != nil, int64(0), int64(0)
	if found {
		have, last = g.head.Fence, g.head.Journal
	}
	if err := rules.CheckAppend(entries, fence, found, have, last); err != nil {
		return rules.Wrap(err, "journal of graph %s", id)
	}
	for _, e := range entries {
		e.Data, e.At, e.Keys = copied(e.Data), rules.Instant(e.At), nil
		g.journal = append(g.journal, e)
	}
	g.head.Journal = entries[len(entries)-1].Seq
	g.notePushes(entries)
	return nil
}

// ReadJournal visits entries; see [checkpoint.Journal]. visit may call the store.
func (m *Store) ReadJournal(ctx context.Context, id checkpoint.ID, after int64,
	visit func(checkpoint.JournalEntry) error) error {
	entries, last, err := m.copyJournal(ctx, id, after)
	if err != nil {
		return rules.Wrap(err, "read the journal of graph %s", id)
	}
	next := after
	for _, e := range entries {
		err := cmp.Or(context.Cause(ctx), rules.Follows(next, e.Seq))
		if err == nil {
			err = visit(e)
		}
		if err != nil {
			return rules.Wrap(err, "read the journal of graph %s", id)
		}
		next = e.Seq
	}
	return rules.Wrap(rules.JournalEnd(next, last), "read the journal of graph %s", id)
}

func (m *Store) copyJournal(ctx context.Context, id checkpoint.ID, after int64) (
	entries []checkpoint.JournalEntry, last int64, err error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer unlock()
	g := m.graphs[id]
	if g == nil {
		return nil, 0, checkpoint.ErrNotFound
	}
	i, _ := slices.BinarySearchFunc(g.journal, after+1, compareJournal)
	entries = slices.Clone(g.journal[i:])
	for i := range entries {
		entries[i].Data = copied(entries[i].Data)
	}
	return entries, g.head.Journal, nil
}

// table stands in for a table of a database: the rows that co-transactions have
// written, and which columns are unique. It serves the simulation and the tests alone: no
// declaration can name one.
type table struct {
	unique []string
	rows   []map[string]boundary.Value
}

// MakeTable makes a table; unique names the columns that no two rows may have alike.
func (m *Store) MakeTable(name string, unique ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tables[name] = &table{unique: unique}
}

// Rows are the rows of a table, in the order they came.
func (m *Store) Rows(table string) []map[string]boundary.Value {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.tables[table]; t != nil {
		return slices.Clone(t.rows)
	}
	return nil
}

// stageRows applies a commit's rows to copies of the tables, which replace them when all is well.
func (m *Store) stageRows(c *checkpoint.Commit) (map[string]*table, error) {
	staged := map[string]*table{}
	for s, rows := range c.Rows {
		name := rows.Table.Name
		t := staged[name]
		if t == nil {
			old := m.tables[name]
			if old == nil {
				return nil, fmt.Errorf("table %s: %w", name, checkpoint.ErrNoTables)
			}
			t = &table{unique: old.unique, rows: slices.Clone(old.rows)}
			staged[name] = t
		}
		for k, values := range rows.Rows {
			if err := t.add(&rows.Table, values); err != nil {
				return nil, &checkpoint.RowError{Sink: s, Row: k, Code: "row_refused", Err: err}
			}
		}
	}
	return staged, nil
}

func (t *table) add(to *checkpoint.Table, values []boundary.Value) error {
	row := make(map[string]boundary.Value, len(values))
	for i, name := range to.Columns {
		row[name] = values[i]
	}
	at := func(columns []string) int {
		return slices.IndexFunc(t.rows, func(old map[string]boundary.Value) bool {
			return len(columns) > 0 && !slices.ContainsFunc(columns, func(name string) bool {
				return !boundary.Equal(old[name], row[name])
			})
		})
	}
	if i := at(to.Conflict); to.Upsert && i >= 0 {
		t.rows[i] = row
		return nil
	}
	if at(t.unique) >= 0 {
		return fmt.Errorf("a row with the same %v is there", t.unique)
	}
	t.rows = append(t.rows, row)
	return nil
}
