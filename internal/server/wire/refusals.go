package wire

import (
	"sync/atomic"

	"github.com/graphd/graphd/internal/api"
)

// limited are the codes with which the server's own limits refuse; the engine counts its own.
var limited = [...]string{api.CodeTooLarge, api.CodeTooDeep, api.CodeTooManyConnections, api.CodeBusy,
	api.CodeQueueFull, api.CodeAuditUnwritable, api.CodeTooManySessions, api.CodeTooManyTickets,
	api.CodeRateLimited}

// Refusals counts what limits have refused, in the order of limited.
type Refusals [len(limited)]atomic.Int64

// Count counts a refusal, when it is a limit's.
func (n *Refusals) Count(code string) {
	for i := range limited {
		if limited[i] == code {
			n[i].Add(1)
		}
	}
}

// All is the counts by code.
func (n *Refusals) All() map[string]int64 {
	m := make(map[string]int64, len(limited))
	for i := range limited {
		m[limited[i]] = n[i].Load()
	}
	return m
}
