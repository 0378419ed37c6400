package memory

import (
	"context"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/audit"
	"github.com/graphd/graphd/internal/dal/rules"
)

// chain is a tenant's chain of the audit.
type chain struct {
	rows    []audit.Row // ascending
	removed audit.Place
}

func (c *chain) head() audit.Place {
	if n := len(c.rows); n > 0 {
		return audit.Place{Seq: c.rows[n-1].Seq, Sum: c.rows[n-1].Sum}
	}
	return c.removed
}

// AppendAudit adds an entry to the end of its tenant's chain; see [audit.Log].
func (m *Store) AppendAudit(ctx context.Context, e audit.Entry) (int64, error) {
	r, err := rules.AuditEntry(&e)
	if err != nil {
		return 0, err
	}
	unlock, err := m.enter(ctx)
	if err != nil {
		return 0, rules.Wrap(err, "append to the audit")
	}
	defer unlock()
	c := m.chains[e.Tenant]
	if c == nil {
		c = &chain{}
		m.chains[e.Tenant] = c
	}
	last := c.head()
	r.Seq, r.Prev = last.Seq+1, last.Sum
	r.Sum = audit.Link(r.Prev, r.Seq, string(r.Body))
	c.rows = append(c.rows, r)
	return r.Seq, nil
}

// AuditRows is the next of a chain's entries that q means.
func (m *Store) AuditRows(ctx context.Context, q audit.Query) (rows []audit.Row, err error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return nil, rules.Wrap(err, "read the audit")
	}
	defer unlock()
	c := m.chains[q.Tenant]
	if c == nil {
		return nil, nil
	}
	for i := range c.rows {
		if int64(len(rows)) == rules.AuditLimit(&q) {
			break
		}
		if rules.AuditMeans(&q, &c.rows[i]) {
			r := c.rows[i]
			r.Body = slices.Clone(r.Body)
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// AuditChains are all chains there are.
func (m *Store) AuditChains(ctx context.Context) (chains []audit.Chain, err error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return nil, rules.Wrap(err, "read the ends of the audit")
	}
	defer unlock()
	for tenant, c := range m.chains {
		chains = append(chains, audit.Chain{Tenant: tenant, Head: c.head(), Removed: c.removed})
	}
	slices.SortFunc(chains, func(a, b audit.Chain) int { return strings.Compare(a.Tenant, b.Tenant) })
	return chains, nil
}

// PruneAudit removes a chain's first entries.
func (m *Store) PruneAudit(ctx context.Context, tenant string, through int64) (int64, error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return 0, rules.Wrap(err, "remove old entries of the audit")
	}
	defer unlock()
	c := m.chains[tenant]
	n := 0
	for c != nil && n < len(c.rows)-1 && c.rows[n].Seq <= through {
		n++
	}
	if n > 0 {
		c.removed = audit.Place{Seq: c.rows[n-1].Seq, Sum: c.rows[n-1].Sum}
		c.rows = slices.Delete(c.rows, 0, n)
	}
	return int64(n), nil
}
