package socket

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// maxHeld is how many bytes a cork holds back at most: more than a few full
// segments make a write no cheaper.
const maxHeld = 64 << 10

// cork is a connection whose writes can be held back for a moment, so that many
// small frames leave in one write. Every write has a deadline. Safe for concurrent use.
type cork struct {
	net.Conn
	timeout time.Duration
	under   atomic.Pointer[net.Conn] // Conn for who must not wait until a write has ended, which holds mu

	mu    sync.Mutex
	held  bool
	buf   []byte
	err   error // the first failed write; nothing is written after it
	timer *time.Timer
}

// attach gives the cork its connection, once, before anything is written.
func (c *cork) attach(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Conn = conn
	c.under.Store(&conn)
}

// cut closes the connection under whoever reads or writes it.
func (c *cork) cut() {
	if conn := c.under.Load(); conn != nil {
		_ = (*conn).Close() // it may be closed already
	}
}

// hungUp says whether the client has closed the connection.
func (c *cork) hungUp() bool {
	conn := c.under.Load()
	return conn != nil && hungUp(*conn)
}

// hold keeps what is written from now on back until uncork, or until limit has passed; where something is held back
// already, since that began.
func (c *cork) hold(limit time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held {
		return
	}
	c.held = true
	if c.timer == nil {
		c.timer = time.AfterFunc(limit, c.expired)
	} else {
		c.timer.Reset(limit)
	}
}

func (c *cork) expired() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = false
	_ = c.flush() // kept in err, for uncork
}

// uncork writes what was held back.
func (c *cork) uncork() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
	c.held = false
	return c.flush()
}

func (c *cork) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held && len(c.buf)+len(p) <= maxHeld {
		c.buf = append(c.buf, p...)
		return len(p), c.err
	}
	if err := c.flush(); err != nil {
		return 0, err
	}
	if err := c.write(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (c *cork) flush() error {
	if len(c.buf) == 0 {
		return c.err
	}
	err := c.write(c.buf)
	c.buf = c.buf[:0]
	return err
}

func (c *cork) write(p []byte) error {
	if c.err != nil {
		return c.err
	}
	if c.err = c.Conn.SetWriteDeadline(time.Now().Add(c.timeout)); c.err == nil {
		_, c.err = c.Conn.Write(p)
	}
	return c.err
}
