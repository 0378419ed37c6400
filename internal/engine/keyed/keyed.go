// Package keyed is a lock for each graph. Start at [Locks].
package keyed

import (
	"sync"

	"github.com/graphd/graphd/internal/api"
)

// Locks is a lock for each graph, so that a change that takes long holds up no other
// graph's. The zero value is ready for use.
type Locks struct {
	mu   sync.Mutex
	held map[api.Ref]*keyLock
}

type keyLock struct {
	free  chan struct{} // holds one while nobody has the lock: waiting here is waiting under virtual time too
	users int           // who holds it or waits for it
}

// Lock waits for g's lock and returns what gives it back.
func (k *Locks) Lock(g api.Ref) (unlock func()) {
	k.mu.Lock()
	if k.held == nil {
		k.held = make(map[api.Ref]*keyLock)
	}
	l := k.held[g]
	if l == nil {
		l = &keyLock{free: make(chan struct{}, 1)}
		l.free <- struct{}{}
		k.held[g] = l
	}
	l.users++
	k.mu.Unlock()
	<-l.free
	return func() {
		l.free <- struct{}{}
		k.mu.Lock()
		defer k.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(k.held, g)
		}
	}
}
