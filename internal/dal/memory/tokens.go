package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/rules"
)

// AddToken keeps a new token; see [checkpoint.Tokens].
func (m *Store) AddToken(ctx context.Context, t access.Token) error {
	unlock, err := m.enter(ctx)
	if err != nil {
		return rules.Wrap(err, "add token")
	}
	defer unlock()
	if _, taken := m.tokens[t.ID]; taken {
		return rules.Wrap(checkpoint.ErrConflict, "add token %s", t.ID)
	}
	t.Scope.Graphs = slices.Clone(t.Scope.Graphs)
	t.Created, t.Expires = rules.Instant(t.Created), rules.Instant(t.Expires)
	t.Used, t.Revoked = rules.Instant(t.Used), rules.Instant(t.Revoked)
	m.tokens[t.ID] = t
	return nil
}

// Token is one by its id.
func (m *Store) Token(ctx context.Context, id string) (access.Token, error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return access.Token{}, rules.Wrap(err, "read token %s", id)
	}
	defer unlock()
	t, found := m.tokens[id]
	if !found {
		return t, rules.Wrap(checkpoint.ErrNotFound, "read token %s", id)
	}
	t.Scope.Graphs = slices.Clone(t.Scope.Graphs)
	return t, nil
}

// Tokens lists those of a tenant, or all.
func (m *Store) Tokens(ctx context.Context, tenant string) ([]access.Token, error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return nil, rules.Wrap(err, "list tokens")
	}
	defer unlock()
	var all []access.Token
	for _, t := range m.tokens {
		if tenant == "" || t.Tenant == tenant {
			t.Scope.Graphs = slices.Clone(t.Scope.Graphs)
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b access.Token) int {
		return cmp.Or(b.Created.Compare(a.Created), strings.Compare(a.ID, b.ID))
	})
	return all, nil
}

// MarkToken notes a use or the end of a token.
func (m *Store) MarkToken(ctx context.Context, id string, revoked, used time.Time) error {
	unlock, err := m.enter(ctx)
	if err != nil {
		return rules.Wrap(err, "mark token %s", id)
	}
	defer unlock()
	t, found := m.tokens[id]
	if !found {
		return rules.Wrap(checkpoint.ErrNotFound, "mark token %s", id)
	}
	if t.Revoked.IsZero() {
		t.Revoked = rules.Instant(revoked)
	}
	if used.After(t.Used) {
		t.Used = rules.Instant(used)
	}
	m.tokens[id] = t
	return nil
}
