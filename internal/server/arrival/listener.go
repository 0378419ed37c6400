package arrival

import (
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/graphd/graphd/internal/rates"
)

// Bounds are how many connections there may be; 0 is no bound.
type Bounds struct {
	All int
	// Each bounds those of one address, but of loopback, of proxies that are believed, and of what has no address.
	Each int
	// Refusal is what one too many is told before it is closed; nothing where it is nil.
	Refusal []byte
}

// Listener admits connections within bounds. Make it with [Listen].
type Listener struct {
	net.Listener
	bounds  Bounds
	proxies Proxies
	refused atomic.Int64

	mu   sync.Mutex
	open int
	each map[string]int // by the key of the address
}

// Listen bounds what ln accepts.
func Listen(ln net.Listener, b Bounds, p Proxies) *Listener {
	return &Listener{Listener: ln, bounds: b, proxies: p, each: map[string]int{}}
}

// Open is how many connections there are, and Refused how many were one too many.
func (l *Listener) Open() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int64(l.open)
}

// Refused is how many connections were closed because there were too many.
func (l *Listener) Refused() int64 { return l.refused.Load() }

// refuseWithin bounds the word to one too many. It goes into a buffer that is empty and waits for nobody; the bound is
// long enough for a machine that does much else between setting it and writing.
const refuseWithin = time.Second

// Accept implements [net.Listener].
func (l *Listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		key := ""
		if at, ok := c.RemoteAddr().(*net.TCPAddr); ok && !l.proxies.believed(at.AddrPort().Addr()) {
			key = rates.Source(at.IP.String())
		}
		if l.enter(key) {
			return counted(c, sync.OnceFunc(func() { l.leave(key) })), nil
		}
		l.refused.Add(1)
		if l.bounds.Refusal != nil {
			_ = c.SetWriteDeadline(time.Now().Add(refuseWithin))
			_, _ = c.Write(l.bounds.Refusal) // it is closed either way
		}
		_ = c.Close()
	}
}

func (l *Listener) enter(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bounds.All > 0 && l.open >= l.bounds.All || key != "" && l.bounds.Each > 0 && l.each[key] >= l.bounds.Each {
		return false
	}
	l.open++
	if key != "" {
		l.each[key]++
	}
	return true
}

func (l *Listener) leave(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if key == "" {
		return
	}
	if l.each[key]--; l.each[key] == 0 {
		delete(l.each, key)
	}
}

// conn gives its place back when it is closed, also by whoever has taken it over.
type conn struct {
	net.Conn
	leave func()
}

// Close implements [net.Conn].
func (c *conn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// counted is c with a place to give back. What it says of the system's connection it goes on to say.
func counted(c net.Conn, leave func()) net.Conn {
	if sys, ok := c.(syscall.Conn); ok {
		return &struct {
			conn
			syscall.Conn
		}{conn{c, leave}, sys}
	}
	return &conn{c, leave}
}
