// Package wires is what the Postgres store knows of its connections as such: when the kernel
// gives one up, and which are open.
package wires

import (
	"net"
	"sync"
)

// Lines are the open connections of a store, so that its Close can end those that take no
// farewell. The zero value is ready for use.
type Lines struct {
	mu   sync.Mutex
	open map[*line]struct{}
}

type line struct {
	net.Conn
	of   *Lines
	once sync.Once
}

// Add notes a connection until it is closed.
func (l *Lines) Add(c net.Conn) net.Conn {
	n := &line{Conn: c, of: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = map[*line]struct{}{}
	}
	l.open[n] = struct{}{}
	return n
}

// Close closes the connection, once.
func (n *line) Close() (err error) {
	n.once.Do(func() {
		n.of.mu.Lock()
		delete(n.of.open, n)
		n.of.mu.Unlock()
		err = n.Conn.Close()
	})
	return err
}

// Cut closes all that are open.
func (l *Lines) Cut() {
	l.mu.Lock()
	var all []*line
	for n := range l.open {
		all = append(all, n)
	}
	l.mu.Unlock()
	for _, n := range all {
		_ = n.Close()
	}
}
