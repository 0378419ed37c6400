package kafka

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/testbed"
)

// M52: a source that lasts goes on from another position over the connections that it has, and closes them with Close.
func TestM52RunAgainOverItsConnections(t *testing.T) { runAgain(t, false) }

// M45: it does not where nothing was heard over them for a while: they may be half open.
func TestM45RunAgainOverNoSilentConnections(t *testing.T) { runAgain(t, true) }

// runAgain ends a run and has another one go on before where that was.
func runAgain(t *testing.T, wasSilent bool) {
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
		if wasSilent {
			src.kept.heard = src.kept.heard.Add(-silent)
		} else {
			src.kept.heard = time.Now().Add(time.Hour) // just now, however slow this machine is
		}
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
		if anew := dialled > first+1; anew != wasSilent || open != 0 {
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
