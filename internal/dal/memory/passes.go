package memory

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/dal/rules"
)

// AddPass keeps a new pass; see [checkpoint.Passes].
func (m *Store) AddPass(ctx context.Context, p checkpoint.Pass, b checkpoint.PassBounds) error {
	unlock, err := m.enter(ctx)
	if err != nil {
		return rules.Wrap(err, "add a %s", p.Kind)
	}
	defer unlock()
	var held rules.PassesHeld
	of := map[string]int{}
	for sum, other := range m.passes {
		switch {
		case !p.Made.Before(other.Ends):
			delete(m.passes, sum)
			continue
		case sum == p.Sum:
			held.There = true
		}
		if other.Kind != p.Kind {
			continue
		}
		held.All++
		of[other.Tenant]++
		if other.Holder == p.Holder {
			held.Holder++
		}
	}
	held.Tenant = of[p.Tenant]
	ofHolder, ofMost, err := held.Admit(&b)
	if err != nil {
		return rules.Wrap(err, "add a %s", p.Kind)
	}
	m.evict(ofHolder, func(q *checkpoint.Pass) bool { return q.Kind == p.Kind && q.Holder == p.Holder })
	most := ""
	for tenant, n := range of {
		if n > of[most] || n == of[most] && tenant < most {
			most = tenant
		}
	}
	m.evict(ofMost, func(q *checkpoint.Pass) bool { return q.Kind == p.Kind && q.Tenant == most })
	p.Made, p.Ends, p.Who = rules.Instant(p.Made), rules.Instant(p.Ends), bytes.Clone(p.Who)
	m.passes[p.Sum] = p
	return nil
}

// evict removes the n oldest of those that are chosen.
func (m *Store) evict(n int, chosen func(*checkpoint.Pass) bool) {
	var all []checkpoint.Pass
	for _, p := range m.passes {
		if n > 0 && chosen(&p) {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b checkpoint.Pass) int {
		return cmp.Or(a.Made.Compare(b.Made), bytes.Compare(a.Sum[:], b.Sum[:]))
	})
	for i := range all[:min(n, len(all))] {
		delete(m.passes, all[i].Sum)
	}
}

// Pass is one that has not ended.
func (m *Store) Pass(ctx context.Context, kind string, sum [sha256.Size]byte, now time.Time) (
	p checkpoint.Pass, err error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return p, rules.Wrap(err, "read a %s", kind)
	}
	defer unlock()
	p, found := m.passes[sum]
	if !found || p.Kind != kind || !now.Before(p.Ends) {
		return checkpoint.Pass{}, rules.Wrap(checkpoint.ErrNotFound, "read a %s", kind)
	}
	p.Who = bytes.Clone(p.Who)
	return p, nil
}

// TakePass removes one and gives it.
func (m *Store) TakePass(ctx context.Context, kind string, sum [sha256.Size]byte, now time.Time) (
	p checkpoint.Pass, err error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return p, rules.Wrap(err, "take a %s", kind)
	}
	defer unlock()
	p, found := m.passes[sum]
	if !found || p.Kind != kind || !now.Before(p.Ends) {
		return checkpoint.Pass{}, rules.Wrap(checkpoint.ErrNotFound, "take a %s", kind)
	}
	delete(m.passes, sum)
	return p, nil
}

// DropPasses removes all of a holder.
func (m *Store) DropPasses(ctx context.Context, holder string) error {
	unlock, err := m.enter(ctx)
	if err != nil {
		return rules.Wrap(err, "drop the passes of %s", holder)
	}
	defer unlock()
	for sum, p := range m.passes {
		if p.Holder == holder {
			delete(m.passes, sum)
		}
	}
	return nil
}
