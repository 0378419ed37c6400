package gate

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/checkpoint"
)

// store keeps tokens in memory, and can be away or slow.
type store struct {
	mu     sync.Mutex
	tokens map[string]access.Token
	away   error
	slow   time.Duration
	asked  atomic.Int64
	marked atomic.Int64
	// under is how many slow questions are under way, most the most of them (a little less in a race).
	under, most atomic.Int64
}

func newStore() *store { return &store{tokens: map[string]access.Token{}} }

func (s *store) enter(ctx context.Context) (func(), error) {
	s.asked.Add(1)
	if s.slow > 0 {
		if n := s.under.Add(1); n > s.most.Load() {
			s.most.Store(n)
		}
		defer s.under.Add(-1)
		select {
		case <-time.After(s.slow):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	s.mu.Lock()
	if s.away != nil {
		s.mu.Unlock()
		return nil, s.away
	}
	return s.mu.Unlock, nil
}

func (s *store) fails(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = err
}

func (s *store) AddToken(ctx context.Context, t access.Token) error {
	unlock, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	s.tokens[t.ID] = t
	return nil
}

func (s *store) Token(ctx context.Context, id string) (access.Token, error) {
	unlock, err := s.enter(ctx)
	if err != nil {
		return access.Token{}, err
	}
	defer unlock()
	t, ok := s.tokens[id]
	if !ok {
		return t, checkpoint.ErrNotFound
	}
	return t, nil
}

func (s *store) Tokens(ctx context.Context, tenant string) (all []access.Token, err error) {
	unlock, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	for _, t := range s.tokens {
		if tenant == "" || t.Tenant == tenant {
			all = append(all, t)
		}
	}
	return all, nil
}

func (s *store) MarkToken(ctx context.Context, id string, revoked, used time.Time) error {
	unlock, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	s.marked.Add(1)
	t := s.tokens[id]
	if t.Revoked.IsZero() {
		t.Revoked = revoked
	}
	if used.After(t.Used) {
		t.Used = used
	}
	s.tokens[id] = t
	return nil
}
