package server

import (
	"context"
	"io"
	"strings"
	"sync"

	"github.com/graphd/graphd/internal/api"
)

// sub is the n-th subscription, once it is there.
func (f *fake) sub(n int) *fakeSub {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n >= len(f.subs) {
		return nil
	}
	return f.subs[n]
}

type fakeSub struct {
	api.Wanted
	frames chan *api.Frame // closed: the graph is gone
	once   sync.Once
	closed chan struct{}
}

// Places are those of a graph with shards, where the watcher came from one.
func (s *fakeSub) Places() string {
	if strings.Contains(s.Since, "/") {
		return "7:1,2/7:5"
	}
	return ""
}

func (s *fakeSub) Next(ctx context.Context) (*api.Frame, error) {
	select {
	case f, ok := <-s.frames:
		if !ok {
			return nil, io.EOF
		}
		return f, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *fakeSub) TryNext() *api.Frame {
	select {
	case f := <-s.frames:
		return f
	default:
		return nil
	}
}

func (s *fakeSub) Close() { s.once.Do(func() { close(s.closed) }) }
