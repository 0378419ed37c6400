package engine

import "sync"

// keyed is a lock for each graph, so that a change that takes long holds up no other
// graph's. The zero value is ready for use.
type keyed struct {
	mu   sync.Mutex
	held map[Ref]*keyLock
}

type keyLock struct {
	sync.Mutex
	users int // who holds it or waits for it
}

// lock waits for g's lock and returns what gives it back.
func (k *keyed) lock(g Ref) (unlock func()) {
	k.mu.Lock()
	if k.held == nil {
		k.held = make(map[Ref]*keyLock)
	}
	l := k.held[g]
	if l == nil {
		l = new(keyLock)
		k.held[g] = l
	}
	l.users++
	k.mu.Unlock()
	l.Lock()
	return func() {
		l.Unlock()
		k.mu.Lock()
		defer k.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(k.held, g)
		}
	}
}
