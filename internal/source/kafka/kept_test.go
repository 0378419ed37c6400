package kafka

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/graphd/graphd/internal/testbed"
)

// M52: a source that lasts goes on from another position over the connections that it has, and closes them with Close.
func TestM52RunAgainOverItsConnections(t *testing.T) {
	each(t, func(t *testing.T, addrs []string) {
		topic := testbed.Topic(t, addrs, 1)
		c := client(t, addrs)
		put(t, c, topic, 0, numbers(0, 10)...)
		var mu sync.Mutex
		dialled, open := 0, 0
		cfg := config(addrs, topic)
		cfg.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				dialled, open = dialled+1, open+1
				conn = &counted{Conn: conn, closed: sync.OnceFunc(func() { mu.Lock(); open--; mu.Unlock() })}
			}
			return conn, err
		}
		src := newSource(t, cfg)
		src.Last()
		f := readSource(t, src, &receiver{})
		f.count(t, 10)
		if err := f.end(); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		first := dialled
		mu.Unlock()
		back := f.Items()[3].Pos
		put(t, c, topic, 0, numbers(10, 12)...)
		f = readSource(t, src, &receiver{}, back)
		f.count(t, 8)
		wantTexts(t, f.texts(), numbers(4, 12)...)
		if err := f.end(); err != nil {
			t.Fatal(err)
		}
		src.Close()
		mu.Lock()
		defer mu.Unlock()
		// One may wait still for the answer to what was asked last.
		if dialled > first+1 || open != 0 {
			t.Errorf("%d connections were opened, %d more for the second run, and %d are open", first, dialled-first,
				open)
		}
	})
}

// counted is a connection that tells of its end, once.
type counted struct {
	net.Conn
	closed func()
}

func (c *counted) Close() error {
	c.closed()
	return c.Conn.Close()
}
