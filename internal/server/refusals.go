package server

import (
	"sync/atomic"

	"github.com/graphd/graphd/internal/api"
)

// limited are the codes with which the server's own limits refuse; the engine counts its own.
var limited = [...]string{api.CodeTooLarge, api.CodeTooDeep, api.CodeTooManyConnections, api.CodeBusy,
	api.CodeQueueFull}

// refusals counts what limits have refused, in the order of limited.
type refusals [len(limited)]atomic.Int64

// count counts a refusal, when it is a limit's.
func (n *refusals) count(code string) {
	for i := range limited {
		if limited[i] == code {
			n[i].Add(1)
		}
	}
}

// all is the counts by code.
func (n *refusals) all() map[string]int64 {
	m := make(map[string]int64, len(limited))
	for i := range limited {
		m[limited[i]] = n[i].Load()
	}
	return m
}
