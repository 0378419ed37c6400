// Package quota says how much of the daemon a tenant may have, and counts what it has: begin with [Book].
//
// What is a number of things (graphs, sockets) is refused beyond it; what is a rate (events) is slowed. Nothing is
// ever dropped because of a quota: who comes over the network is told so, with a code, and a source is read later.
//
// # Concurrency
//
// A Book is safe for concurrent use. It starts nothing of its own.
package quota

import (
	"errors"
	"fmt"
)

// Limits are those of a tenant. 0 is no bound.
type Limits struct {
	// Graphs bounds how many there are, Sockets the WebSocket connections at one time and Outbound the calls of
	// sources and sinks that are on the way at once.
	Graphs, Sockets, Outbound int
	// EventsPerSecond bounds what all inputs of the tenant take together. More is let in later.
	EventsPerSecond int
}

// Check refuses what nothing can be bounded by.
func (l Limits) Check() error {
	for _, n := range []int{l.Graphs, l.Sockets, l.Outbound, l.EventsPerSecond} {
		if n < 0 {
			return errors.New("a quota must not be negative; leave it out for no bound")
		}
	}
	return nil
}

// within is l, with the limits of o where it has none.
func (l Limits) within(o Limits) Limits {
	pick := func(own, other int) int {
		if own != 0 {
			return own
		}
		return other
	}
	return Limits{
		Graphs: pick(l.Graphs, o.Graphs), Sockets: pick(l.Sockets, o.Sockets), Outbound: pick(l.Outbound, o.Outbound),
		EventsPerSecond: pick(l.EventsPerSecond, o.EventsPerSecond),
	}
}

// Of is what bounds a tenant: each of its own limits, or else that of all.
func Of(tenants map[string]Limits, tenant string) Limits {
	return tenants[tenant].within(tenants[All])
}

// All in the place of a tenant's name is each that has no limit of its own.
const All = "*"

// ExceededError is what a quota does not leave room for.
type ExceededError struct {
	Quota string
	Used  int
	Limit int
}

func (e *ExceededError) Error() string {
	return fmt.Sprintf("the tenant has %d %s of the %d that its quota allows", e.Used, e.Quota, e.Limit)
}
