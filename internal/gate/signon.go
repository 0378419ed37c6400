package gate

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/issuer"
	"github.com/graphd/graphd/internal/rates"
)

// SignOn is how browsers log in at the issuer, by the errors of package issuer.
type SignOn interface {
	// Offers says whether they can.
	Offers() bool
	// Begin begins a login: at is where the browser goes, kept what it brings back from there.
	Begin(ctx context.Context, tenant string) (at, kept string, err error)
	// Finish is whom a browser stands for that comes back.
	Finish(ctx context.Context, kept string, said url.Values) (issuer.Finished, error)
}

// finished are logins that have come to their end: none does twice. Of one user there are few at one time.
const (
	finished    = "login"
	maxFinished = 100
)

// SignsOn says whether browsers can log in at the issuer.
func (g *Gate) SignsOn() bool { return g.cfg.SignOn != nil && g.cfg.SignOn.Offers() }

// Begin begins a login at the issuer: at is where the browser goes, kept what it brings back from there.
func (g *Gate) Begin(ctx context.Context, tenant string) (at, kept string, err error) {
	if !g.SignsOn() {
		return "", "", noSignOn()
	}
	at, kept, err = g.cfg.SignOn.Begin(ctx, tenant)
	return at, kept, g.unsigned(ctx, "", err)
}

// Finish begins the session of a browser that comes back from the issuer. Beside an error it is whom the issuer has
// said it is of, if anybody.
func (g *Gate) Finish(ctx context.Context, c *access.Credentials, kept string, said url.Values) (
	text string, made api.Session, who access.Principal, err error) {
	if !g.SignsOn() {
		return "", made, who, noSignOn()
	}
	from := rates.Source(c.From)
	if wait := g.cfg.Failures.Spent(from); wait > 0 {
		return "", made, who, tooMany(wait)
	}
	done, err := g.cfg.SignOn.Finish(ctx, kept, said)
	if errors.Is(err, issuer.ErrLogin) && !errors.Is(err, issuer.ErrNotBegun) { // that a foreign page can send
		g.cfg.Failures.Take(from, 1)
	}
	if err != nil {
		return "", made, who, g.unsigned(ctx, c.From, err)
	}
	who = access.Principal{Subject: done.Subject}
	if len(done.Grants) == 0 {
		return "", made, who, ungranted()
	}
	if who, err = vouched(&done.Identity, done.Tenant); err != nil {
		return "", made, who, err
	}
	if err = g.once(ctx, &done, &who); err == nil {
		text, made, err = g.Login(ctx, &who)
	}
	if err != nil {
		return "", made, spoken(&who), err
	}
	return text, made, who, nil
}

// once refuses a login that has come to its end before, at whatever daemon.
func (g *Gate) once(ctx context.Context, done *issuer.Finished, who *access.Principal) error {
	ctx, cancel := context.WithTimeout(ctx, keepWithin)
	defer cancel()
	err := g.cfg.Store.AddPass(ctx, checkpoint.Pass{Kind: finished, Sum: sha256.Sum256([]byte(done.Once)),
		Tenant: who.Tenant, Holder: finished + " " + who.Subject, Made: g.cfg.Now(), Ends: done.Until,
		Who: []byte("{}")}, checkpoint.PassBounds{Holder: maxFinished, Tenant: maxSessions, All: 2 * maxSessions})
	switch {
	case errors.Is(err, checkpoint.ErrConflict):
		return refuse(http.StatusUnauthorized, api.CodeLoginFailed,
			"the login has come to its end before: begin another one at /login")
	case errors.Is(err, checkpoint.ErrFull):
		return refuse(http.StatusTooManyRequests, api.CodeTooManySessions,
			"too many logins in a short time; try again in some minutes")
	}
	return err
}

// unsigned is the refusal of a login that something has come in the way of.
func (g *Gate) unsigned(ctx context.Context, from string, err error) error {
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case errors.Is(err, issuer.ErrBusy):
		return refuse(http.StatusServiceUnavailable, api.CodeBusy, "too many logins are under way; try again")
	case errors.Is(err, issuer.ErrUnknown):
		return refuse(http.StatusServiceUnavailable, api.CodeIssuerUnreachable,
			"the issuer does not say where to log in; try again")
	}
	what := "a login at the issuer has failed"
	if errors.Is(err, issuer.ErrNotBegun) {
		what = "a browser has come back from the issuer in vain"
	}
	g.tell(what, err, issuer.Advice(err), slog.String("from", from))
	return refuse(http.StatusUnauthorized, api.CodeLoginFailed, "the login has not come to its end: it took too long, "+
		"was begun in another browser, or the issuer has not agreed; begin another one at /login")
}

func noSignOn() *api.Error {
	return refuse(http.StatusNotFound, api.CodeNotFound,
		"browsers do not log in at an issuer here: the daemon's configuration names no oidc_client")
}

func ungranted() *api.Error {
	return refuse(http.StatusForbidden, api.CodeForbidden,
		"the token is good, and nothing is given to its claims: have the daemon's configuration list one of them")
}
