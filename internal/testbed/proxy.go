package testbed

import (
	"errors"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// Proxy stands between a client and a server on loopback, and can be made to fail as a
// network does. Safe for concurrent use.
type Proxy struct {
	target string
	ln     net.Listener
	wg     sync.WaitGroup

	mu    sync.Mutex
	mode  proxyMode
	conns map[net.Conn]*atomic.Bool // all that are open, of both sides: whether they swallow
}

type proxyMode int

const (
	passing    proxyMode = iota
	swallowing           // bytes are taken and acknowledged, and none is handed on
	refusing             // connections are closed
)

// NewProxy stands before an address, host:port. It ends with the test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{target: target, ln: ln, conns: map[net.Conn]*atomic.Bool{}}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		_ = ln.Close() // nothing more is accepted
		p.set(refusing)
		p.wg.Wait()
	})
	return p
}

// PostgresProxy stands before a database, and answers the connection string that goes
// through it.
func PostgresProxy(t testing.TB, dsn string) (p *Proxy, through string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	p = NewProxy(t, u.Host)
	u.Host = p.Addr()
	return p, u.String()
}

// Addr is where clients connect to.
func (p *Proxy) Addr() string { return p.ln.Addr().String() }

// Swallow makes all connections half open: what is sent on them is taken and acknowledged,
// and nothing comes back. New ones are accepted and are the same.
func (p *Proxy) Swallow() { p.set(swallowing) }

// Strand makes the connections that there are half open, and lets new ones through: as
// after a gateway has forgotten its connections.
func (p *Proxy) Strand() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = passing
	p.swallow()
}

// Refuse breaks all connections, and every new one at once.
func (p *Proxy) Refuse() { p.set(refusing) }

// Pass lets new connections through. All that there are are broken: what was sent on half
// open ones is gone.
func (p *Proxy) Pass() { p.set(passing) }

func (p *Proxy) set(mode proxyMode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = mode
	if mode == swallowing {
		p.swallow()
		return
	}
	for c := range p.conns {
		_ = c.Close() // its pumps end
	}
	clear(p.conns)
}

func (p *Proxy) swallow() {
	for _, stranded := range p.conns {
		stranded.Store(true)
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.ln.Accept()
		if err != nil {
			return
		}
		stranded := &atomic.Bool{}
		if !p.keep(client, stranded) {
			continue
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil || !p.keep(server, stranded) {
			p.drop(client)
			continue
		}
		p.wg.Go(func() { p.pump(server, client, stranded) })
		p.wg.Go(func() { p.pump(client, server, stranded) })
	}
}

// keep takes a connection in, or closes it.
func (p *Proxy) keep(c net.Conn, stranded *atomic.Bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mode == refusing {
		_ = c.Close()
		return false
	}
	if p.mode == swallowing {
		stranded.Store(true)
	}
	p.conns[c] = stranded
	return true
}

func (p *Proxy) drop(c net.Conn) {
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
	_ = c.Close() // twice does nothing
}

// pump hands bytes on, until the connection is stranded.
func (p *Proxy) pump(to, from net.Conn, stranded *atomic.Bool) {
	defer p.drop(to)
	defer p.drop(from)
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && !stranded.Load() {
			_, werr := to.Write(buf[:n])
			err = errors.Join(err, werr)
		}
		if err != nil {
			return
		}
	}
}
