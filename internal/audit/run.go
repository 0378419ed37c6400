package audit

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"
)

const (
	// lookEvery is how often what is owed is tried again.
	lookEvery = time.Second
	// tellEvery is how often the ends of the chains are logged, as far as they have moved.
	tellEvery = time.Hour
	// pruneEvery is how often what has become too old is removed.
	pruneEvery = 10 * time.Minute
	// pruneAtOnce is about how many entries of a chain are removed at once at most.
	pruneAtOnce = 5000
	// roundWithin bounds one round of all that.
	roundWithin = 5 * time.Second
)

// Start has the trail do what it does by itself: write denials and what is owed, remove what has become too old, and
// log the ends of the chains. stop ends that, and writes what is still owed, until ctx is done. It is called once.
func (t *Trail) Start() (stop func(ctx context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { // joined by stop
		defer close(done)
		t.run(ctx)
	}()
	return func(end context.Context) {
		cancel()
		select {
		case <-done:
			t.Close(end)
		case <-end.Done(): // a store that hangs
		}
	}
}

func (t *Trail) run(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	told, pruned := t.cfg.Now(), time.Time{}
	for {
		select {
		case <-ticker.C:
		case <-t.wake:
		case <-ctx.Done():
			return
		}
		t.settle(ctx, false)
		now := t.cfg.Now()
		if now.Sub(told) >= tellEvery {
			t.tell(ctx)
			told = now
		}
		if t.cfg.Keep > 0 && now.Sub(pruned) >= pruneEvery {
			t.prune(ctx, now)
			pruned = now
		}
	}
}

// Close writes what is still owed, and logs the ends of the chains, of a trail that was not started, or is stopped.
func (t *Trail) Close(ctx context.Context) {
	t.settle(ctx, true)
	t.tell(ctx)
}

// Settle writes what is owed now.
func (t *Trail) Settle(ctx context.Context) { t.settle(ctx, false) }

func (t *Trail) wakeUp() {
	select {
	case t.wake <- struct{}{}:
	default: // it is awake
	}
}

// settle writes denials that are due and results that are owed. What the store does not take waits for the next time.
func (t *Trail) settle(ctx context.Context, end bool) {
	ctx, cancel := context.WithTimeout(ctx, roundWithin)
	defer cancel()
	left, err := t.write(ctx, t.denied.due(t.cfg.Now(), end))
	t.denied.putBack(left)
	switch {
	case err == nil:
	case end:
		for i := range left {
			e := &left[i]
			t.cfg.Log.Error("a denial was not written to the audit", slog.String("tenant", e.Tenant),
				slog.String("subject", e.Subject), slog.String("operation", e.Operation),
				slog.Int64("count", e.Count), slog.Any("err", err))
		}
	default:
		t.cfg.Log.Warn("denials cannot be written to the audit; they are tried again", slog.Int("entries", len(left)),
			slog.Any("err", err))
	}
	t.mu.Lock()
	owed := t.owed
	t.owed = nil
	t.mu.Unlock()
	left, _ = t.write(ctx, owed)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.owed = append(left, t.owed...)
}

// write appends entries, each chain's until the first that fails, and answers with those that are left.
func (t *Trail) write(ctx context.Context, entries []Entry) (left []Entry, err error) {
	failed := map[string]bool{}
	for i := range entries {
		e := &entries[i]
		if !failed[e.Tenant] && ctx.Err() == nil {
			_, wrong := t.append(ctx, *e, false)
			if wrong == nil {
				continue
			}
			failed[e.Tenant], err = true, wrong
		}
		left = append(left, *e)
	}
	if err == nil && len(left) > 0 {
		err = ctx.Err()
	}
	return left, err
}

// tell logs where the chains end that this trail has written to since it told so last.
func (t *Trail) tell(ctx context.Context) {
	t.mu.Lock()
	moved := t.heads
	t.heads = map[string]int64{}
	t.mu.Unlock()
	if len(moved) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, roundWithin)
	defer cancel()
	chains, err := t.cfg.Store.AuditChains(ctx)
	if err != nil {
		t.cfg.Log.Warn("the ends of the audit's chains cannot be read", slog.Any("err", err),
			slog.Any("tenants", slices.Sorted(maps.Keys(moved))))
		return
	}
	for i := range chains {
		c := &chains[i]
		if moved[c.Tenant] > 0 {
			t.cfg.Log.Info("audit", slog.String("tenant", c.Tenant), slog.Int64("entries", c.Head.Seq),
				slog.String("sum", c.Head.Sum.String()))
		}
	}
}

// prune writes down what has become too old, and removes it. So a chain that has lost its beginning and does not say
// so was not pruned by a daemon; one that says so and has it still is pruned the next time.
func (t *Trail) prune(ctx context.Context, now time.Time) {
	ctx, cancel := context.WithTimeout(ctx, roundWithin)
	defer cancel()
	chains, err := t.cfg.Store.AuditChains(ctx)
	for i := range chains {
		c := &chains[i]
		var last int64
		if last, err = t.old(ctx, c, now.Add(-t.cfg.Keep)); err == nil && last > c.Removed.Seq {
			_, err = t.append(ctx, Entry{Kind: Expired, At: now, Tenant: c.Tenant, Actor: By(ctx), Operation: "expire",
				Count: last - c.Removed.Seq, Through: last,
				Detail: []string{"older than " + t.cfg.Keep.String()}}, false)
			if err == nil {
				_, err = t.cfg.Store.PruneAudit(ctx, c.Tenant, last)
			}
		}
		if err != nil {
			break
		}
	}
	if err != nil && ctx.Err() == nil {
		t.cfg.Log.Warn("old entries of the audit could not be removed; they are tried again", slog.Any("err", err))
	}
}

// old is the number of the last of a chain's first entries that are all older, or of the last that was removed. It
// reads so much at a time, and no more than is removed at once.
func (t *Trail) old(ctx context.Context, c *Chain, before time.Time) (last int64, err error) {
	last = c.Removed.Seq
	for most := 1; last-c.Removed.Seq < pruneAtOnce; most = MaxRows {
		rows, err := t.cfg.Store.AuditRows(ctx, Query{Tenant: c.Tenant, After: last, Limit: most})
		if err != nil {
			return 0, err
		}
		for i := range rows {
			if rows[i].At >= before.UnixNano() || rows[i].Seq >= c.Head.Seq {
				return last, nil
			}
			last = rows[i].Seq
		}
		if len(rows) < most {
			return last, nil
		}
	}
	return last, nil
}
