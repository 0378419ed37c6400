package memory

import (
	"context"

	"github.com/graphd/graphd/internal/dal/rules"
)

// StoredBytes is what a tenant has in the store; see [checkpoint.Sizes].
func (m *Store) StoredBytes(ctx context.Context, tenant string) (bytes int64, err error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return 0, rules.Wrap(err, "measure what the tenant %s has in the store", tenant)
	}
	defer unlock()
	for id, g := range m.graphs {
		if id.Tenant != tenant {
			continue
		}
		bytes += int64(len(g.head.Meta))
		for name, data := range g.cells {
			bytes += int64(len(name.key) + len(data))
		}
		for i := range g.firings {
			bytes += int64(len(g.firings[i].Data))
		}
		for i := range g.journal {
			bytes += int64(len(g.journal[i].Data))
		}
		for _, waits := range g.outbox {
			for i := range waits {
				bytes += int64(len(waits[i].Data))
			}
		}
		for name, key := range g.pushes {
			bytes += int64(len(name.key) + len(key.Outcome))
		}
		for i := range m.letters[id] {
			bytes += int64(len(m.letters[id][i].Payload))
		}
	}
	return bytes, nil
}
