package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/rules"
)

// PutDeclaration stores a document; see [checkpoint.Declarations]. Revisions go on
// counting when a graph is deleted and applied again.
func (m *Store) PutDeclaration(ctx context.Context, d checkpoint.Declaration, ifRevision int64) (int64, error) {
	id := checkpoint.ID{Tenant: d.Tenant, Graph: d.Graph}
	unlock, err := m.enter(ctx)
	if err != nil {
		return 0, rules.Wrap(err, "put declaration of graph %s", id)
	}
	defer unlock()
	return m.declare(d, ifRevision)
}

func (m *Store) declare(d checkpoint.Declaration, ifRevision int64) (int64, error) {
	id := checkpoint.ID{Tenant: d.Tenant, Graph: d.Graph}
	if err := rules.CheckRevision(id, m.declared[id].Revision, ifRevision); err != nil {
		return 0, err
	}
	if d.Most > 0 && m.declared[id].Revision == 0 {
		have := 0
		for other := range m.declared {
			if other.Tenant == d.Tenant {
				have++
			}
		}
		if err := rules.CheckMost(&d, have); err != nil {
			return 0, err
		}
	}
	numbers := m.numbersOf(id)
	numbers.revision++
	d.Revision, d.Updated = numbers.revision, rules.Instant(d.Updated)
	d.Most = 0
	all := append(m.revisions[id], d)
	m.revisions[id] = slices.Clone(all[max(0, len(all)-checkpoint.KeepRevisions):])
	d.By, d.Change = checkpoint.Author{}, ""
	m.declared[id] = d
	return d.Revision, nil
}

// Declarations lists all documents, by tenant and graph.
func (m *Store) Declarations(ctx context.Context) ([]checkpoint.Declaration, error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return nil, rules.Wrap(err, "list declarations")
	}
	defer unlock()
	var all []checkpoint.Declaration
	for _, d := range m.declared {
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b checkpoint.Declaration) int {
		return cmp.Or(strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.Graph, b.Graph))
	})
	return all, nil
}

// DeleteDeclaration removes a graph; see [checkpoint.Declarations]. With state it is
// ErrNotFound only when there is neither a document nor anything persisted.
func (m *Store) DeleteDeclaration(ctx context.Context, id checkpoint.ID, state bool) error {
	unlock, err := m.enter(ctx)
	if err != nil {
		return rules.Wrap(err, "delete graph %s", id)
	}
	defer unlock()
	_, found := m.declared[id]
	delete(m.declared, id)
	if state {
		found = found || len(m.events[id.Whole()])+len(m.revisions[id.Whole()]) > 0
		delete(m.events, id.Whole())
		delete(m.revisions, id.Whole())
		for shard := range m.graphs {
			if shard.Whole() == id.Whole() {
				found = true
				delete(m.graphs, shard)
				delete(m.letters, shard)
			}
		}
	}
	if !found {
		return rules.Wrap(checkpoint.ErrNotFound, "delete graph %s", id)
	}
	return nil
}

// Revisions lists the documents that a graph has had; see [checkpoint.Revisions].
func (m *Store) Revisions(ctx context.Context, id checkpoint.ID) ([]checkpoint.Declaration, error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return nil, rules.Wrap(err, "list revisions of graph %s", id)
	}
	defer unlock()
	var all []checkpoint.Declaration
	for _, d := range slices.Backward(m.revisions[id]) {
		d.Text = ""
		all = append(all, d)
	}
	return all, nil
}

// Revision is one of them; see [checkpoint.Revisions].
func (m *Store) Revision(ctx context.Context, id checkpoint.ID, revision int64) (checkpoint.Declaration, error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return checkpoint.Declaration{}, rules.Wrap(err, "read revision %d of graph %s", revision, id)
	}
	defer unlock()
	for _, d := range m.revisions[id] {
		if d.Revision == revision {
			return d, nil
		}
	}
	return checkpoint.Declaration{}, rules.Wrap(checkpoint.ErrNotFound, "read revision %d of graph %s", revision, id)
}
