package gate

import (
	"cmp"
	"context"
	"crypto/sha256"
	"slices"
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
	passes map[[sha256.Size]byte]checkpoint.Pass
	away   error
	slow   time.Duration
	asked  atomic.Int64
	marked atomic.Int64
	// under is how many slow questions are under way, most the most of them (a little less in a race).
	under, most atomic.Int64
}

func newStore() *store {
	return &store{tokens: map[string]access.Token{}, passes: map[[sha256.Size]byte]checkpoint.Pass{}}
}

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

// AddPass is what the stores' conformance suite asks for, without the bound of all.
func (s *store) AddPass(ctx context.Context, p checkpoint.Pass, b checkpoint.PassBounds) error {
	unlock, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	var own []checkpoint.Pass
	tenant := 0
	for sum, other := range s.passes {
		if !p.Made.Before(other.Ends) {
			delete(s.passes, sum)
		} else if other.Kind == p.Kind && other.Tenant == p.Tenant {
			if tenant++; other.Holder == p.Holder {
				own = append(own, other)
			}
		}
	}
	if _, there := s.passes[p.Sum]; there {
		return checkpoint.ErrConflict
	}
	if len(own) >= b.Holder && !b.Oldest || tenant >= b.Tenant {
		return checkpoint.ErrFull
	}
	if len(own) >= b.Holder {
		first := slices.MinFunc(own, func(a, b checkpoint.Pass) int {
			return cmp.Or(a.Made.Compare(b.Made), slices.Compare(a.Sum[:], b.Sum[:]))
		})
		delete(s.passes, first.Sum)
	}
	s.passes[p.Sum] = p
	return nil
}

func (s *store) Pass(ctx context.Context, kind string, sum [sha256.Size]byte, now time.Time) (
	checkpoint.Pass, error) {
	unlock, err := s.enter(ctx)
	if err != nil {
		return checkpoint.Pass{}, err
	}
	defer unlock()
	p, ok := s.passes[sum]
	if !ok || p.Kind != kind || !now.Before(p.Ends) {
		return checkpoint.Pass{}, checkpoint.ErrNotFound
	}
	return p, nil
}

func (s *store) TakePass(ctx context.Context, kind string, sum [sha256.Size]byte, now time.Time) (
	checkpoint.Pass, error) {
	p, err := s.Pass(ctx, kind, sum, now)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.passes[sum]; err != nil || !there {
		return checkpoint.Pass{}, cmp.Or(err, checkpoint.ErrNotFound)
	}
	delete(s.passes, sum)
	return p, nil
}

func (s *store) DropPasses(ctx context.Context, holder string) error {
	unlock, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	for sum, p := range s.passes {
		if p.Holder == holder {
			delete(s.passes, sum)
		}
	}
	return nil
}
