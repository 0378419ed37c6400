//go:build planted

package graphd

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor"
)

// planted spoils a store as the environment says: GRAPHD_PLANTED is "offset_first",
// "effect_first" (to GRAPHD_PLANTED_URL), or "late", which answers that it does not know the
// outcome of a commit and applies it afterwards: that must do no harm.
func planted(s checkpoint.Store) checkpoint.Store {
	return &plantedStore{Store: s, how: os.Getenv("GRAPHD_PLANTED"), url: os.Getenv("GRAPHD_PLANTED_URL")}
}

type plantedStore struct {
	checkpoint.Store
	how, url string

	mu      sync.Mutex
	head    checkpoint.Head
	extra   int64 // commits more than the owner knows of
	commits int
}

func (s *plantedStore) Acquire(ctx context.Context, id checkpoint.ID) (checkpoint.Head, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	head, err := s.Store.Acquire(ctx, id)
	if err == nil {
		s.head, s.extra = head, 0
	}
	return head, err
}

func (s *plantedStore) Commit(ctx context.Context, c *checkpoint.Commit) error {
	s.commits++
	switch s.how {
	case "offset_first":
		return s.offsetFirst(ctx, c)
	case "effect_first":
		s.send(c)
		time.Sleep(200 * time.Millisecond) // most kills come in between
	case "late":
		if s.commits%5 == 0 {
			late := *c
			go func() {
				time.Sleep(150 * time.Millisecond)
				s.mu.Lock()
				defer s.mu.Unlock()
				_ = s.Store.Commit(context.Background(), &late) // refused, if the graph was taken anew before
			}()
			return checkpoint.ErrUnknownOutcome
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Store.Commit(ctx, c)
}

// offsetFirst commits the positions, and a moment later the rest.
func (s *plantedStore) offsetFirst(ctx context.Context, c *checkpoint.Commit) error {
	first := checkpoint.Commit{ID: c.ID, Fence: c.Fence, Seq: c.Seq + s.extra, Epoch: s.head.Epoch, At: c.At,
		Meta: s.head.Meta, KeepFirings: c.KeepFirings}
	if first.Meta == nil {
		first.Meta, first.Epoch = c.Meta, c.Epoch
	}
	for _, cell := range c.Cells {
		if cell.Kind == "acc" {
			first.Cells = append(first.Cells, cell)
		}
	}
	if err := s.Store.Commit(ctx, &first); err != nil {
		return err
	}
	time.Sleep(200 * time.Millisecond)
	s.extra++
	rest := *c
	rest.Seq += s.extra
	err := s.Store.Commit(ctx, &rest)
	if err == nil {
		s.head.Epoch, s.head.Meta = c.Epoch, c.Meta
	}
	return err
}

// send delivers what is about to be committed.
func (s *plantedStore) send(c *checkpoint.Commit) {
	for i := range c.Outbox {
		e := &c.Outbox[i]
		m, err := reactor.DecodeMessage(uuid.MustParse(s.head.Instance), 0, true, e)
		if err != nil || e.Output != "hook" {
			continue
		}
		req, err := http.NewRequest(http.MethodPost, s.url, bytes.NewReader(m.Value.AppendJSON(nil)))
		if err != nil {
			continue
		}
		req.Header.Set("Graphd-Firing-Id", e.FiringID)
		req.Header.Set("Graphd-Firing-Stable", "true")
		if res, err := http.DefaultClient.Do(req); err == nil {
			_ = res.Body.Close()
		}
	}
}
