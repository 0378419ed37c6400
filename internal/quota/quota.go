// Package quota says how much of the daemon a tenant may have, and counts what it has: begin with [Book].
//
// What is a number of things (graphs, sockets) is refused beyond it; what is a rate (events) is slowed: a source is
// read later, and who pushes waits, or is told when to come again. Nothing is ever dropped because of a quota.
//
// # Concurrency
//
// A Book and a Rate are safe for concurrent use. They start nothing of their own.
package quota

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/api"
)

// All in the place of a tenant's name is each that has no limit of its own.
const All = "*"

// Name is what a quota is of, as users see it.
type Name string

// The quotas there are.
const (
	Graphs   Name = "graphs"
	Sockets  Name = "websockets"
	Events   Name = "events_per_second"
	Outbound Name = "outbound_calls"
	Keys     Name = "keys"
	Stored   Name = "stored_bytes"
	CPU      Name = "cpu_millicores"
)

// Unit is what is counted.
func (n Name) Unit() string {
	switch n {
	case Sockets:
		return "WebSocket connections"
	case Events:
		return "events a second, used in the last one"
	case Outbound:
		return "calls at once"
	case Keys:
		return "keys here"
	case Stored:
		return "bytes in the store"
	case CPU:
		return "thousandths of a core, used in the last second"
	}
	return string(n)
}

// Limits are those of a tenant. 0 is no bound.
type Limits struct {
	// Graphs bounds how many there are, Sockets the WebSocket connections at one time and Outbound the calls of
	// sources and sinks that are on the way at once.
	Graphs, Sockets, Outbound int
	// EventsPerSecond bounds what all inputs of the tenant take together. More is let in later.
	EventsPerSecond int
	// Keys bounds the keys of all graphs together, StoredBytes what the store has of them: events of graphs that may
	// grow by them wait past it. CPU bounds how long their reactors and pools are at work together: 0.5 is half of one
	// core's time. The reactors rest for what they have worked longer.
	Keys        int
	StoredBytes int64
	CPU         float64
}

// Check refuses what nothing can be bounded by.
func (l Limits) Check() error {
	for _, q := range []struct {
		key string
		n   int64
	}{{"max_graphs", int64(l.Graphs)}, {"max_websockets", int64(l.Sockets)}, {"max_outbound", int64(l.Outbound)},
		{"events_per_second", int64(l.EventsPerSecond)}, {"max_keys", int64(l.Keys)},
		{"max_stored_bytes", l.StoredBytes}} {
		if q.n < 0 {
			return fmt.Errorf("the quota %s must not be negative; leave it out for no bound", q.key)
		}
	}
	if l.CPU != 0 && !(l.CPU >= LeastCPU && l.CPU <= MostCPU) { // not a number is neither
		return fmt.Errorf("cpu is a number of cores from %v to %v, 0.5 for half of one; leave it out for no bound",
			LeastCPU, MostCPU)
	}
	return nil
}

// LeastCPU and MostCPU are what a quota of the processor's time may be.
const (
	LeastCPU = 0.01
	MostCPU  = 1024
)

// or is l, with the limits of o where it has none.
func (l Limits) or(o Limits) Limits {
	return Limits{
		Graphs: cmp.Or(l.Graphs, o.Graphs), Sockets: cmp.Or(l.Sockets, o.Sockets),
		Outbound: cmp.Or(l.Outbound, o.Outbound), EventsPerSecond: cmp.Or(l.EventsPerSecond, o.EventsPerSecond),
		Keys: cmp.Or(l.Keys, o.Keys), StoredBytes: cmp.Or(l.StoredBytes, o.StoredBytes), CPU: cmp.Or(l.CPU, o.CPU),
	}
}

// Of is what bounds a tenant: each of its own limits, or else that of all.
func Of(tenants map[string]Limits, tenant string) Limits { return tenants[tenant].or(tenants[All]) }

// ExceededError is what a quota leaves no room for.
type ExceededError struct {
	Quota       Name
	Used, Limit int
	// After is when there will be room again; 0 where nobody knows.
	After time.Duration
	// Own says that it is a limit of the graph's own, and not its tenant's.
	Own bool
	// Memory is what the graph may hold where that is what there is no room in, and Holds about what it has; Crowded
	// says that the daemon has little left.
	Memory  int64
	Holds   Memory
	Crowded bool
}

func (e *ExceededError) Error() string {
	switch {
	case e.Crowded:
		return "the daemon has little memory left, and this graph has grown most: it holds " + e.Holds.Text()
	case e.Own && e.Memory > 0:
		return fmt.Sprintf("limits.memory of the graph is %d MiB, and it holds %s", e.Memory>>20, e.Holds.Text())
	case e.Own:
		return fmt.Sprintf("limits.events_per_second of the graph is %d, and it has taken more; there is room for the "+
			"next in %v", e.Limit, e.After.Round(time.Millisecond))
	}
	if e.Quota == Events {
		return fmt.Sprintf("the tenant may take %d events a second, and has taken more; there is room for the next "+
			"in %v", e.Limit, e.After.Round(time.Millisecond))
	}
	if e.Quota == Keys || e.Quota == Stored {
		return Use{Quota: e.Quota, Used: int64(e.Used), Limit: int64(e.Limit)}.Text() + ": " + e.Quota.Do()
	}
	noun := string(e.Quota)
	if e.Used == 1 {
		noun = strings.TrimSuffix(noun, "s")
	}
	return fmt.Sprintf("the tenant has %d %s, and its quota allows %d", e.Used, noun, e.Limit)
}

// Code is the one that it is answered with.
func (e *ExceededError) Code() string {
	switch {
	case e.Crowded:
		return "memory_slowed"
	case e.Own:
		return api.CodeLimitExceeded
	}
	return api.CodeQuotaExceeded
}

// Refusal is the error as a request is answered with it.
func (e *ExceededError) Refusal() *api.Error {
	refusal := &api.Error{Status: http.StatusConflict, Code: api.CodeQuotaExceeded,
		Detail: e.Error() + "; " + e.Quota.Do(),
		Extra:  map[string]any{"quota": e.Quota, "limit": e.Limit, "used": e.Used}}
	if e.Quota == Sockets { // it ends by itself
		refusal.Status = http.StatusTooManyRequests
	}
	return refusal
}

// Use is how much of one quota a tenant has.
type Use struct {
	Tenant      string
	Quota       Name
	Used, Limit int64
	// Refused is how often there was no room, and Waited how long it has held something back.
	Refused int64
	Waited  time.Duration
	// Since is since when it has held something back all the time, for some seconds at least; zero while it does not.
	Since time.Time
}

// Book keeps what all tenants have.
type Book struct {
	limits map[string]Limits

	mu      sync.Mutex
	tenants map[string]*tenant
	meters  map[[2]string]*Meter // by tenant and graph

	crowd crowd
}

type tenant struct {
	limits  Limits
	used    map[Name]int
	refused map[Name]int64
	rate    *Rate
	sums    *sums // nil where nothing bounds them
	watched map[Name]func() Use
	told    telling
}

// NewBook has the limits of each tenant, and under [All] those of the others.
func NewBook(limits map[string]Limits) *Book {
	return &Book{limits: limits, tenants: map[string]*tenant{}, meters: map[[2]string]*Meter{}}
}

// of is a tenant's page. b.mu is held.
func (b *Book) of(name string) *tenant {
	t := b.tenants[name]
	if t == nil {
		t = &tenant{limits: Of(b.limits, name), used: map[Name]int{}, refused: map[Name]int64{}}
		if n := t.limits.EventsPerSecond; n > 0 {
			t.rate = NewRate(n)
		}
		t.sums = newSums(t.limits)
		b.tenants[name] = t
	}
	return t
}

// Add counts something that is there whatever the quota says; a negative n takes it off again.
func (b *Book) Add(tenant string, of Name, n int) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.of(tenant)
	if t.used[of] += n; t.empty() {
		delete(b.tenants, tenant)
	}
}

// empty says that nothing is lost with the page. A tenant that nobody has anything of is not remembered.
func (t *tenant) empty() bool {
	if t.rate != nil || t.sums.needed() || len(t.refused) > 0 || len(t.watched) > 0 {
		return false
	}
	for _, n := range t.used {
		if n != 0 {
			return false
		}
	}
	return true
}

// Take counts something more, if there is room for it; free gives it back, once.
func (b *Book) Take(tenant string, of Name) (free func(), err error) {
	if b == nil {
		return func() {}, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.of(tenant)
	limit := map[Name]int{Graphs: t.limits.Graphs, Sockets: t.limits.Sockets}[of]
	if used := t.used[of]; limit > 0 && used >= limit {
		return nil, t.refuse(of, used, limit)
	}
	t.used[of]++
	return func() { b.Add(tenant, of, -1) }, nil
}

// Refuse counts what there was no room for, as another has found that has counted, and answers it.
func (b *Book) Refuse(tenant string, of Name, used, limit int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.of(tenant).refuse(of, used, limit)
}

func (t *tenant) refuse(of Name, used, limit int) error {
	t.refused[of]++
	return (&ExceededError{Quota: of, Used: used, Limit: limit}).Refusal()
}

// Limits are those of a tenant.
func (b *Book) Limits(tenant string) Limits {
	if b == nil {
		return Limits{}
	}
	return Of(b.limits, tenant)
}

// Watch has the use of a quota told that others keep. It is called with the book locked, and asks it for nothing.
func (b *Book) Watch(tenant string, of Name, use func() Use) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.of(tenant)
	if t.watched == nil {
		t.watched = map[Name]func() Use{}
	}
	t.watched[of] = use
}

// Rate is that of a tenant's events; nil where it has none.
func (b *Book) Rate(tenant string) *Rate {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.of(tenant).rate
}

// Uses are those of one tenant that has a limit, or with "" of all, in the order of their names.
func (b *Book) Uses(tenant string) (all []Use) {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	held := b.held()
	names := slices.Sorted(maps.Keys(b.tenants))
	if tenant != "" {
		b.of(tenant)
		names = []string{tenant}
	}
	for _, name := range names {
		t := b.tenants[name]
		for _, u := range t.uses(name) {
			if h := held[name][u.Quota]; h != nil {
				u.Since = h.since
			}
			all = append(all, u)
		}
		if t.empty() {
			delete(b.tenants, name)
		}
	}
	return all
}

// uses are those of the quotas that a tenant has.
func (t *tenant) uses(name string) (all []Use) {
	for _, q := range []struct {
		of    Name
		limit int
	}{{Graphs, t.limits.Graphs}, {Sockets, t.limits.Sockets}, {Events, t.limits.EventsPerSecond}} {
		if q.limit == 0 {
			continue
		}
		u := Use{Tenant: name, Quota: q.of, Used: int64(t.used[q.of]), Limit: int64(q.limit),
			Refused: t.refused[q.of]}
		if q.of == Events {
			u.Used, u.Refused, u.Waited = t.rate.use()
		}
		all = append(all, u)
	}
	all = append(all, t.sums.uses(name)...)
	for _, of := range slices.Sorted(maps.Keys(t.watched)) {
		u := t.watched[of]()
		u.Tenant, u.Quota = name, of
		all = append(all, u)
	}
	return all
}
