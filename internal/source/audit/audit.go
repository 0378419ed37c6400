package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	trail "github.com/graphd/graphd/internal/audit"
	"github.com/graphd/graphd/internal/boundary"
)

// Log is what a source reads.
type Log interface {
	AuditRows(ctx context.Context, q trail.Query) ([]trail.Row, error)
	AuditChains(ctx context.Context) ([]trail.Chain, error)
}

// Config is how a source is made; all of it is needed.
type Config struct {
	Log   Log
	Chain string
	// Latest begins with what comes, where there is no position yet.
	Latest bool
	Every  time.Duration
}

// Source reads one chain. It is an [accumulator.Source].
type Source struct{ cfg Config }

var (
	_ accumulator.Source = (*Source)(nil)
	_ accumulator.Seeker = (*Source)(nil)

	_ accumulator.Follower = (*Source)(nil)
)

// New makes a Source.
func New(cfg Config) *Source { return &Source{cfg} }

const (
	// within bounds one question to the store.
	within = 10 * time.Second
	// maxPause is how long a store that does not answer is left alone at most.
	maxPause = 30 * time.Second
)

// Run implements [accumulator.Source].
func (s *Source) Run(ctx context.Context, from []boundary.Position, out accumulator.Out) error {
	r := reading{s: s, out: out}
	for _, p := range from {
		if p.Stream == "" {
			r.after, r.begun = p.Offset, true
		}
	}
	for pause := s.cfg.Every; ctx.Err() == nil; {
		more, err := r.read(ctx)
		failed := new(unread)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &failed):
			r.say(accumulator.Disconnected, failed.Error())
			pause = min(2*pause, max(maxPause, s.cfg.Every))
		case err != nil:
			return err
		default:
			pause = s.cfg.Every
			accumulator.CaughtUp(out, "", !more)
		}
		if more {
			continue
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
	return nil
}

// unread says that the store has not answered.
type unread struct{ err error }

func (u *unread) Error() string { return "the audit cannot be read: " + u.err.Error() }

// reading is one run.
type reading struct {
	s      *Source
	out    accumulator.Out
	after  int64
	begun  bool // after is a position, and not where nothing was read yet
	health accumulator.Health
}

// say tells a change of health.
func (r *reading) say(h accumulator.Health, detail string) {
	if r.health != h || detail != "" {
		r.health = h
		r.out.Health(h, detail)
	}
}

// read hands over what there is, a page of it; more says that there may be more at once. A failure of the store is an
// [*unread].
func (r *reading) read(ctx context.Context) (more bool, err error) {
	cfg := &r.s.cfg
	ask, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if !r.begun && cfg.Latest {
		head, err := r.s.head(ask)
		if err != nil {
			return false, &unread{err}
		}
		r.after = head
		if err := r.out.Advance(ctx, boundary.Position{Offset: head}); err != nil {
			return false, err
		}
	}
	rows, err := cfg.Log.AuditRows(ask, trail.Query{Tenant: cfg.Chain, After: r.after, Limit: trail.MaxRows})
	if err != nil {
		return false, &unread{err}
	}
	r.say(accumulator.Live, "")
	if len(rows) > 0 && (r.begun || cfg.Latest) && rows[0].Seq > r.after+1 {
		return false, &accumulator.DataLost{Want: strconv.FormatInt(r.after+1, 10),
			Have: fmt.Sprintf("entries from %d on: those before have expired", rows[0].Seq)}
	}
	r.begun = true
	if len(rows) == 0 {
		return false, nil
	}
	batch := accumulator.NewBatch(r.out, len(rows))
	for i := range rows {
		row := &rows[i]
		raw, err := json.Marshal(row)
		if err != nil {
			return false, fmt.Errorf("encode audit entry %d: %w", row.Seq, err)
		}
		at := time.Now()
		if row.At != 0 {
			at = time.Unix(0, row.At)
		}
		batch = append(batch, boundary.Event{Raw: raw, Pos: boundary.Position{Offset: row.Seq}, At: at})
	}
	r.after = rows[len(rows)-1].Seq
	return len(rows) == trail.MaxRows, r.out.Emit(ctx, batch)
}

// Follows implements [accumulator.Follower]: a look that finds no full page has found all.
func (s *Source) Follows() bool { return true }

// head is the number of the chain's last entry, 0 where there is none.
func (s *Source) head(ctx context.Context) (int64, error) {
	chains, err := s.cfg.Log.AuditChains(ctx)
	for i := range chains {
		if chains[i].Tenant == s.cfg.Chain {
			return chains[i].Head.Seq, err
		}
	}
	return 0, err
}

// Seek implements [accumulator.Seeker].
func (s *Source) Seek(ctx context.Context, position string) ([]boundary.Position, error) {
	switch position {
	case "start":
		return nil, nil
	case "end":
		head, err := s.head(ctx)
		return []boundary.Position{{Offset: head}}, err
	}
	n, err := strconv.ParseInt(position, 10, 64)
	if err != nil || n < 0 {
		return nil, fmt.Errorf("%q is not a position in the audit: say start, end, or the number of the last entry "+
			"that is not read again", position)
	}
	return []boundary.Position{{Offset: n}}, nil
}
