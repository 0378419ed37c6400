package gate

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/audit"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/issuer"
	"github.com/graphd/graphd/internal/rates"
)

// What a revoked token is good for is the sum of three: how long a word of the store is trusted while
// the store is away, how long an answer of it is waited for, and how often a socket asks, which is
// once a second. It is less than five seconds.
const (
	// trust is how old the store's word may be before it is asked again.
	trust = 2 * time.Second
	// mostTrust is how old it may be when the store does not answer.
	mostTrust = 2500 * time.Millisecond
	// askWithin bounds one question.
	askWithin = 800 * time.Millisecond
	// useEvery is how often at most the last use of a token is written.
	useEvery = 10 * time.Minute
	// maxAsking bounds the questions on their way: unknown ids must not take all of the store.
	maxAsking = 16
	// keepWithin bounds what changes something of a session or a ticket.
	keepWithin = 3 * time.Second
	// maxKnown bounds what is remembered of tokens, and of sessions.
	maxKnown = 10_000
)

// Store is where tokens, sessions and tickets are.
type Store interface {
	checkpoint.Tokens
	checkpoint.Passes
}

// Config is how a gate is made.
type Config struct {
	Store Store
	// Required closes the gate from the beginning, whatever the store has.
	Required bool
	// Shared says that others may make tokens in the store: an open gate looks for them.
	Shared bool
	// Certificates tells whom a client's certificate stands for, of those whose authority is known; nil for a
	// daemon that asks for none.
	Certificates func(chain []*x509.Certificate) (access.Identity, bool)
	// Issuer tells whom a token stands for that is not graphd's own, by the errors of package issuer; nil where
	// there is none to believe.
	Issuer func(ctx context.Context, text string) (access.Identity, error)
	// SignOn is how browsers log in at the issuer; nil where they do not.
	SignOn SignOn
	// Grants are the claims of the issuer's tokens that are given something, for sessions which were begun with one.
	Grants []access.Granted
	// Failures is how often an address may show what is no token; nil bounds nobody.
	Failures *rates.Rates
	// Trail is the audit that made and revoked tokens are written to; nil is none.
	Trail *audit.Trail
	// Log is needed; Now is the clock, nil for that of the machine.
	Log *slog.Logger
	Now func() time.Time
}

// Gate knows who may come in.
type Gate struct {
	cfg    Config
	closed atomic.Bool
	// looked is when an open gate has last looked for a first token, in nanoseconds.
	looked   atomic.Int64
	asking   chan struct{}
	tokens   words[access.Token]    // by id
	sessions words[checkpoint.Pass] // by sum
	spent    spent                  // sums of sessions and tickets
	told     teller
}

// New asks the store whether there has ever been a token; where that cannot be told there is no gate.
func New(ctx context.Context, cfg Config) (*Gate, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	g := &Gate{cfg: cfg, asking: make(chan struct{}, maxAsking)}
	g.closed.Store(cfg.Required)
	return g, g.look(ctx)
}

// Open is a gate without tokens that stays open, for tests.
func Open() *Gate {
	return &Gate{cfg: Config{Now: time.Now, Log: slog.New(slog.DiscardHandler)}, asking: make(chan struct{}, maxAsking)}
}

// Closed says whether a token is asked for.
func (g *Gate) Closed() bool { return g.closed.Load() }

// look closes the gate when there has been a token.
func (g *Gate) look(ctx context.Context) error {
	g.looked.Store(g.cfg.Now().UnixNano())
	if g.Closed() {
		return nil
	}
	all, err := g.cfg.Store.Tokens(ctx, "")
	if err == nil && len(all) > 0 {
		g.closed.Store(true)
	}
	return err
}

// lookAgain looks for a first token that another daemon has made. One caller does so at a time. A
// store that is away leaves an open gate open: it never opens a closed one.
func (g *Gate) lookAgain(ctx context.Context) {
	last := g.looked.Load()
	if now := g.cfg.Now().UnixNano(); !g.cfg.Shared || now-last < int64(trust) || !g.looked.CompareAndSwap(last, now) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	if err := g.look(ctx); err != nil {
		g.cfg.Log.Debug("the store does not tell whether there are tokens", slog.Any("err", err))
	}
}

// Enter is whom a request with these credentials acts as. Beside an error it is whom they are known to be of, if
// anybody: for the audit, and for nothing else.
func (g *Gate) Enter(ctx context.Context, c *access.Credentials) (access.Principal, error) {
	who, err := g.enter(ctx, c)
	who.Asked = c.Tenant != ""
	return who, err
}

func (g *Gate) enter(ctx context.Context, c *access.Credentials) (access.Principal, error) {
	if c.Ticket != "" {
		return g.redeem(ctx, c)
	}
	if !g.Closed() {
		g.lookAgain(ctx)
	}
	if !g.Closed() {
		return access.Principal{
			Tenant: cmp.Or(c.Tenant, checkpoint.DefaultTenant), Subject: anonymous(c.From), Role: access.PlatformAdmin,
		}, nil
	}
	if !c.Given && c.Session != "" {
		return g.resume(ctx, c)
	}
	if !c.Given {
		return g.certified(c)
	}
	if g.cfg.Issuer != nil && issuer.Form(c.Bearer) {
		return g.issued(ctx, c)
	}
	t, err := g.tried(ctx, c)
	if err != nil {
		return known(&t), err
	}
	tenant := c.Tenant
	if tenant == "" {
		if tenant = t.Tenant; tenant == access.AllTenants {
			tenant = checkpoint.DefaultTenant
		}
	}
	if !t.Admits(tenant) {
		return known(&t), noTenant()
	}
	return t.Principal(tenant), nil
}

// known is whose a token is that opens nothing here. It may do nothing; the zero token is nobody's.
func known(t *access.Token) access.Principal {
	return access.Principal{Tenant: t.Tenant, Subject: t.Name, Token: t.ID}
}

// noTenant is the same whether there is such a tenant or not.
func noTenant() *api.Error {
	return refuse(http.StatusNotFound, api.CodeTenantNotFound, "there is no tenant of that name for this caller")
}

// certified is whom a request acts as that shows nothing but a certificate.
func (g *Gate) certified(c *access.Credentials) (access.Principal, error) {
	if len(c.Chain) == 0 || g.cfg.Certificates == nil {
		return access.Principal{}, refuse(http.StatusUnauthorized, api.CodeUnauthenticated,
			"this daemon asks for a token: send Authorization: Bearer TOKEN")
	}
	is, ok := g.cfg.Certificates(c.Chain)
	if !ok {
		name := cmp.Or(is.Subject, c.Chain[0].Subject.String())
		g.tell("a client's certificate is given nothing", fmt.Errorf("tls_clients does not list %.200q", name),
			"list that name in --tls-clients, as NAME=ROLE@TENANT, if it is to come in", slog.String("from", c.From))
		return access.Principal{}, refuse(http.StatusUnauthorized, api.CodeUnauthenticated,
			"nothing is given to the certificate that was shown, and there was no token: have the daemon's "+
				"configuration list it, or send Authorization: Bearer TOKEN")
	}
	return vouched(&is, c.Tenant)
}

// issued is whom a request acts as that shows a token of the issuer.
func (g *Gate) issued(ctx context.Context, c *access.Credentials) (access.Principal, error) {
	is, err := g.cfg.Issuer(ctx, c.Bearer)
	switch {
	case ctx.Err() != nil:
		return access.Principal{}, ctx.Err()
	case errors.Is(err, issuer.ErrUnknown):
		return access.Principal{}, refuse(http.StatusServiceUnavailable, api.CodeIssuerUnreachable,
			"the issuer of the token does not give its keys, and nobody can tell whether the token is good; try again")
	case err != nil:
		g.tell("a token of the issuer was refused", err, issuer.Advice(err), slog.String("from", c.From))
		return access.Principal{}, invalid()
	case len(is.Grants) == 0:
		return access.Principal{Subject: is.Subject}, ungranted()
	}
	return vouched(&is, c.Tenant)
}

// vouched is whom an identity acts as in a tenant.
func vouched(is *access.Identity, tenant string) (access.Principal, error) {
	who, ok := is.Principal(tenant)
	if !ok {
		return access.Principal{Tenant: is.Grants[0].Tenant, Subject: is.Subject}, noTenant()
	}
	return who, nil
}

func anonymous(from string) string {
	if from == "" {
		return "anonymous"
	}
	return "anonymous@" + from
}

// tried is open for one who has not failed too often. Who has is let in with a token that is in use here, for many
// may come from one address, and is asked nothing else of the store.
func (g *Gate) tried(ctx context.Context, c *access.Credentials) (access.Token, error) {
	from := rates.Source(c.From)
	if wait := g.cfg.Failures.Spent(from); wait > 0 && !g.inUse(c.Bearer) {
		return access.Token{}, tooMany(wait)
	}
	t, err := g.open(ctx, c.Bearer)
	if refused, ok := errors.AsType[*api.Error](err); ok && refused.Code == api.CodeInvalidToken && t.ID == "" {
		g.cfg.Failures.Take(from, 1)
	}
	return t, err
}

func tooMany(wait time.Duration) *api.Error {
	return &api.Error{Status: http.StatusTooManyRequests, Code: api.CodeRateLimited, After: wait,
		Detail: "too much that is no token was shown from this address; mend what sends it, and try again later"}
}

// inUse says whether a text is that of a token that was looked up already.
func (g *Gate) inUse(text string) bool {
	id, ok := access.IDOf(text)
	t, known := g.tokens.look(id)
	return ok && known && t.Opens(text)
}

// open finds the token that a text opens. Whatever is wrong with it, the refusal is one; the token of one that
// has ended is told beside it.
func (g *Gate) open(ctx context.Context, text string) (access.Token, error) {
	id, ok := access.IDOf(text)
	if !ok {
		return access.Token{}, invalid()
	}
	t, err := g.find(ctx, id)
	if err != nil {
		return access.Token{}, err
	}
	if !t.Opens(text) {
		return access.Token{}, invalid()
	}
	if !t.Live(g.cfg.Now()) {
		return t, invalid()
	}
	g.used(ctx, id)
	return t, nil
}

// Still refuses one who has entered and may not stay.
func (g *Gate) Still(ctx context.Context, who *access.Principal) error {
	if who.Session != "" {
		if err := g.lasts(ctx, who.Session); err != nil {
			return err
		}
	}
	if who.Holds != nil {
		if !who.Holds(g.cfg.Now()) {
			return invalid()
		}
		return nil
	}
	if who.Token == "" {
		if g.lookAgain(ctx); g.Closed() {
			return invalid()
		}
		return nil
	}
	t, err := g.find(ctx, who.Token)
	if err == nil && !t.Live(g.cfg.Now()) {
		err = invalid()
	}
	return err
}

// find is the store's word about a token, no older than it may be.
func (g *Gate) find(ctx context.Context, id string) (access.Token, error) {
	t, err := g.tokens.find(ctx, id, g.cfg.Now, func(ctx context.Context, id string) (access.Token, error) {
		ctx, cancel := context.WithTimeout(ctx, askWithin)
		defer cancel()
		leave, err := g.turn(ctx)
		if err != nil {
			return access.Token{}, err
		}
		defer leave()
		return g.cfg.Store.Token(ctx, id)
	})
	switch {
	case err == nil:
		return t, nil
	case errors.Is(err, checkpoint.ErrNotFound):
		return t, invalid()
	case ctx.Err() != nil:
		return t, ctx.Err()
	}
	g.cfg.Log.Warn("a token cannot be looked up, and who shows one is turned away", slog.Any("err", err))
	return access.Token{}, refuse(http.StatusServiceUnavailable, api.CodeTokensUnreadable,
		"the store does not tell whether the token is good; try again")
}

// turn waits until the store may be asked by one more.
func (g *Gate) turn(ctx context.Context) (leave func(), err error) {
	select {
	case g.asking <- struct{}{}:
		leave = func() { <-g.asking }
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := ctx.Err(); err != nil { // also of one who has waited until others gave up
		leave()
		return nil, err
	}
	return leave, nil
}

// used notes that a token is in use, now and then. That it cannot be noted turns nobody away.
func (g *Gate) used(ctx context.Context, id string) {
	now := g.cfg.Now()
	if !g.tokens.change(id, func(t *access.Token) bool {
		due := now.Sub(t.Used) >= useEvery
		if due {
			t.Used = now
		}
		return due
	}) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	if err := g.cfg.Store.MarkToken(ctx, id, time.Time{}, now); err != nil {
		g.cfg.Log.Debug("the use of a token was not noted", slog.String("token", id), slog.Any("err", err))
	}
}

func refuse(status int, code, detail string) *api.Error {
	return &api.Error{Status: status, Code: code, Detail: detail}
}

// invalid is the one refusal of every token that opens nothing: unknown, mistyped, expired, revoked.
func invalid() *api.Error {
	return refuse(http.StatusUnauthorized, api.CodeInvalidToken,
		"the token opens nothing: it is mistyped, has expired or was revoked; ask for a new one")
}
