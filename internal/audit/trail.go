package audit

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/api"
)

const (
	// writeWithin bounds how long a change waits for its intent, and an answer for its result.
	writeWithin = 5 * time.Second
	// maxOwed bounds the results that wait to be written because the store did not take them.
	maxOwed = 1000
)

// Config is how a trail is made. All of it is needed, but Now.
type Config struct {
	Store Log
	Log   *slog.Logger
	// Keep is how long entries stay; 0 is for good.
	Keep time.Duration
	// Now is the clock, nil for that of the machine.
	Now func() time.Time
}

// Trail writes what happens. The nil Trail writes nothing. Safe for concurrent use.
type Trail struct {
	cfg    Config
	wake   chan struct{} // something is owed; room for one
	denied denials
	turns  turns
	// readers are those who read what it has written.
	readers readers

	mu    sync.Mutex
	owed  []Entry          // results that could not be written yet
	heads map[string]int64 // the last entries that this trail has written, by chain
	lost  int64            // results that were given up
	// unwritable counts changes that were refused because their intent could not be written.
	unwritable int64
}

// New makes a trail. It writes intents and results at once; what else there is is done by Start.
func New(cfg Config) *Trail {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Trail{cfg: cfg, wake: make(chan struct{}, 1), heads: map[string]int64{}}
}

// actorKey is what an Actor stands under in a context.
type actorKey struct{}

// As is ctx of what an actor does.
func As(ctx context.Context, a Actor) context.Context { return context.WithValue(ctx, actorKey{}, a) }

// By is who acts; the program itself where nobody is named.
func By(ctx context.Context) Actor {
	a, _ := ctx.Value(actorKey{}).(Actor)
	a.Subject = cmp.Or(a.Subject, "graphd")
	return a
}

// Action is a change that is about to be made.
type Action struct {
	// Tenant is whose the change is, and its chain: the graph's, the token's, [Daemon] for what is of no tenant;
	// where it is "", as of a graph that the actor may not know of, the actor's.
	Tenant, Operation, Graph string
	Detail                   []string
}

// Act is a change whose intent is written. The nil Act is one that nobody writes down.
type Act struct {
	t      *Trail
	intent Entry
	seq    int64
	ended  bool
}

// Begin writes the intent of a change by the context's actor. Where it cannot be written the error refuses the
// change, and nothing may be done.
func (t *Trail) Begin(ctx context.Context, a Action) (*Act, error) {
	if t == nil {
		return nil, nil
	}
	by := By(ctx)
	e := Entry{Kind: Intent, At: t.cfg.Now(), Tenant: cmp.Or(a.Tenant, by.Tenant, Daemon), Actor: by,
		Operation: a.Operation, Graph: a.Graph, Detail: a.Detail}
	within, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	seq, err := t.append(within, e, true)
	if err == nil {
		return &Act{t: t, intent: e, seq: seq}, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if _, busy := errors.AsType[*api.Error](err); busy {
		return nil, err
	}
	t.mu.Lock()
	t.unwritable++
	t.mu.Unlock()
	t.cfg.Log.Error("a change is refused, for it cannot be written to the audit", slog.Any("err", err),
		slog.String("operation", a.Operation), slog.String("graph", a.Graph), slog.String("tenant", e.Tenant))
	return nil, &api.Error{Status: http.StatusServiceUnavailable, Code: api.CodeAuditUnwritable,
		Detail: "the change cannot be written to the audit, and nothing was changed; try again, and look at the " +
			"daemon's store"}
}

// End writes what has become of the change; the first call counts. It is the answer's concern no more: what
// cannot be written now is written later.
func (a *Act) End(ctx context.Context, err error, detail ...string) {
	if a == nil || a.ended {
		return
	}
	a.ended = true
	e := a.intent
	e.Kind, e.At, e.Of, e.Detail, e.Role, e.From = Result, a.t.cfg.Now(), a.seq, detail, "", ""
	e.Outcome, e.Code = outcome(err)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeWithin)
	defer cancel()
	if _, err := a.t.append(ctx, e, false); err != nil {
		a.t.owe(e, err)
	}
}

// outcome tells what a change has come to.
func outcome(err error) (outcome, code string) {
	refused, ok := errors.AsType[*api.Error](err)
	switch {
	case err == nil:
		return OK, ""
	case ok && refused.Status < http.StatusInternalServerError:
		return Refused, refused.Code
	case ok:
		return Failed, refused.Code
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Failed, api.CodeTimeout
	}
	return Failed, api.CodeInternal
}

// Do makes a change: the intent, do, and the result, which has what told says of it, where that is not nil.
func Do[T any](ctx context.Context, t *Trail, a Action, do func(context.Context) (T, error), told func(T) []string) (
	out T, err error) {
	act, err := t.Begin(ctx, a)
	if err != nil {
		return out, err
	}
	defer act.End(ctx, ErrPanic) // where do did not come back
	out, err = do(ctx)
	var detail []string
	if err == nil && told != nil {
		detail = told(out)
	}
	act.End(ctx, err, detail...)
	return out, err
}

// ErrPanic is what a change came to that did not come back.
var ErrPanic = errors.New("panic")

// append writes an entry when it is its chain's turn; one that is bounded is refused where too many wait.
func (t *Trail) append(ctx context.Context, e Entry, bounded bool) (int64, error) {
	back, err := t.turns.take(ctx, e.Tenant, bounded)
	if err != nil {
		return 0, err
	}
	defer back()
	seq, err := t.cfg.Store.AppendAudit(ctx, e)
	if err == nil {
		t.mu.Lock()
		t.heads[e.Tenant] = max(seq, t.heads[e.Tenant])
		t.mu.Unlock()
	}
	return seq, err
}

// owe keeps a result for later.
func (t *Trail) owe(e Entry, err error) {
	t.mu.Lock()
	full := len(t.owed) >= maxOwed
	if full {
		t.lost++
	} else {
		t.owed = append(t.owed, e)
	}
	t.mu.Unlock()
	if full {
		t.cfg.Log.Error("a result was not written to the audit: its intent stays without one", slog.Int64("of", e.Of),
			slog.String("tenant", e.Tenant), slog.String("outcome", e.Outcome), slog.Any("err", err))
	} else {
		t.cfg.Log.Warn("a result cannot be written to the audit; it is tried again", slog.Int64("of", e.Of),
			slog.String("tenant", e.Tenant), slog.String("outcome", e.Outcome), slog.Any("err", err))
	}
}

// Refused is what was refused or is missing, by a name for metrics: changes and reads for which there were too many,
// and denials that are told of as others for want of the store. What [Trail.Failures] has is told apart.
func (t *Trail) Refused() map[string]int64 {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return map[string]int64{api.CodeAuditBusy: t.turns.refused.Load() + t.readers.refusals(),
		"audit_denials_merged": t.denied.merged.Load()}
}

// Failures are how many changes were refused because they could not be written, and how many results were given up.
func (t *Trail) Failures() (unwritable, lost int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.unwritable, t.lost
}

// Store is what the trail writes to.
func (t *Trail) Store() Log { return t.cfg.Store }
