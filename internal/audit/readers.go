package audit

import (
	"net/http"
	"sync"

	"github.com/graphd/graphd/internal/api"
)

const (
	// maxReaders bounds who reads the audit at one time, each with up to 4 MiB of it in memory; maxReadersEach those
	// of one tenant.
	maxReaders, maxReadersEach = 16, 4
)

// readers are those of the audit, by tenant. The zero value is nobody.
type readers struct {
	mu      sync.Mutex
	all     int
	each    map[string]int
	refused int64
}

// Reader admits one who reads the audit, until leave is called, or refuses where too many do.
func (t *Trail) Reader(tenant string) (leave func(), err error) {
	n := &t.readers
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.all >= maxReaders || n.each[tenant] >= maxReadersEach {
		n.refused++
		return nil, &api.Error{Status: http.StatusTooManyRequests, Code: api.CodeAuditBusy,
			Detail: "too many read the audit at once; try again when they have ended"}
	}
	if n.each == nil {
		n.each = map[string]int{}
	}
	n.all++
	n.each[tenant]++
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.all--
		if n.each[tenant]--; n.each[tenant] == 0 {
			delete(n.each, tenant)
		}
	}, nil
}

func (n *readers) refusals() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.refused
}
