package guest

import "sync"

// pool are guests that stand ready.
type pool struct {
	most int

	mu     sync.Mutex
	free   []*instance
	memory []byte   // what their memory is when they have started, up to the last byte that is not zero
	size   int      // how much memory there is in all
	saved  []uint64 // what their globals are
	begun  bool     // memory, size and saved are known
	names  []string // of the functions that are called, by their number
	users  int      // functions that there are
}

// enter notes a function whose calls take from the pool.
func (p *pool) enter() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.users++
}

// leave notes that there is one less. With the last all guests go: what is kept of a module is its code.
func (p *pool) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.users--; p.users > 0 {
		return
	}
	for _, g := range p.free {
		_ = g.close() // nothing is told by what has been thrown away
	}
	p.free, p.memory, p.size, p.saved, p.begun = nil, nil, 0, nil, false
}

// hasBegun reports whether a guest has been started.
func (p *pool) hasBegun() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.begun
}

// take is a guest that stands ready; nil when there is none.
func (p *pool) take() *instance {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.free)
	if n == 0 {
		return nil
	}
	g := p.free[n-1]
	p.free[n-1] = nil
	p.free = p.free[:n-1]
	return g
}

// give takes a guest back, and says whether there is room for it.
func (p *pool) give(g *instance) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) >= p.most {
		return false
	}
	p.free = append(p.free, g)
	return true
}

// number is that of a function.
func (p *pool) number(name string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, n := range p.names {
		if n == name {
			return i
		}
	}
	p.names = append(p.names, name)
	return len(p.names) - 1
}

// begin notes what a guest is like that has started, unless that is known.
func (p *pool) begin(g *instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.begun {
		return
	}
	memory := g.bytes()
	last := len(memory)
	for last > 0 && memory[last-1] == 0 {
		last--
	}
	p.memory, p.size = append([]byte(nil), memory[:last]...), len(memory)
	for _, v := range g.globals {
		p.saved = append(p.saved, v.Get())
	}
	p.begun = true
}

func (p *pool) bytes() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int64(p.size + len(p.memory))
}
