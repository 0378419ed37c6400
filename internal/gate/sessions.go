package gate

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/rates"
)

const (
	// sessionLife is how long a browser stays logged in.
	sessionLife = 8 * time.Hour
	// maxSessions bounds the sessions, maxSessionsTenant those of one tenant, and maxSessionsEach those of one token,
	// or of one who has none: there the oldest goes.
	maxSessions, maxSessionsTenant, maxSessionsEach = 10_000, 2_000, 20
)

// Login begins a session as who, which text opens at every daemon on the store until it ends, or until what who came
// with does. A session begins no other: it would outlive its time, and its logout.
func (g *Gate) Login(ctx context.Context, who *access.Principal) (text string, made api.Session, err error) {
	if !who.Vouched() {
		return "", made, refuse(http.StatusConflict, api.CodeLoginNeedless,
			"this daemon asks for no token, so that there is nothing to log in with")
	}
	if who.Session != "" {
		return "", made, refuse(http.StatusConflict, api.CodeLoginNeedless,
			"the browser is logged in; log out, or show a token to log in with that")
	}
	ends := g.cfg.Now().Add(sessionLife)
	for _, until := range []time.Time{g.until(who.Token), who.Proof.Until} {
		if !until.IsZero() && until.Before(ends) {
			ends = until
		}
	}
	text, err = g.newPass(ctx, sessions, sessionPrefix, who, ends, checkpoint.PassBounds{Holder: maxSessionsEach,
		Oldest: true, Tenant: maxSessionsTenant, All: maxSessions})
	if errors.Is(err, checkpoint.ErrFull) {
		return "", made, refuse(http.StatusTooManyRequests, api.CodeTooManySessions,
			"too many browsers of this tenant are logged in; try again when some are not any more")
	}
	if err != nil {
		return "", made, err
	}
	return text, api.Session{Tenant: who.Tenant, Subject: who.Subject, ExpiresAt: ends.UTC()}, nil
}

// until is when a token ends, as far as that is known here.
func (g *Gate) until(token string) time.Time {
	t, _ := g.tokens.look(token)
	return t.Expires
}

// Logout ends the session of a text, if there is one: here at once, in other daemons within five seconds.
func (g *Gate) Logout(ctx context.Context, text string) error {
	sum := sumOf(text, sessionPrefix)
	if sum == "" {
		return nil
	}
	return g.leave(ctx, sum)
}

// leave ends a session.
func (g *Gate) leave(ctx context.Context, sum string) error {
	ctx, cancel := context.WithTimeout(ctx, keepWithin)
	defer cancel()
	_, err := g.cfg.Store.TakePass(ctx, sessions, bytesOf(sum), g.cfg.Now())
	if err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
		return err
	}
	g.spent.add(sum)
	g.sessions.forget(func(id string, _ *checkpoint.Pass) bool { return id == sum })
	return nil
}

// resume is whom a session is of.
func (g *Gate) resume(ctx context.Context, c *access.Credentials) (who access.Principal, err error) {
	sum := sumOf(c.Session, sessionPrefix)
	p, err := g.sessionOf(ctx, c, sum)
	refused, ok := errors.AsType[*api.Error](err)
	if ok && refused.Code == api.CodeUnauthenticated && len(c.Chain) > 0 {
		return g.certified(c)
	}
	if err != nil {
		return who, err
	}
	if who, err = g.revive(ctx, &p); err != nil {
		refused, ok := errors.AsType[*api.Error](err)
		if ok && refused.Code == api.CodeInvalidToken && who.Token != "" { // others may be configured to take the rest
			if err := g.leave(ctx, sum); err != nil {
				g.cfg.Log.Debug("a session that opens nothing was not removed", slog.Any("err", err))
			}
		}
		return who, err
	}
	if c.Tenant != "" && c.Tenant != who.Tenant {
		return spoken(&who), noTenant()
	}
	who.Session = sum
	return who, nil
}

// sessionOf is the session that a request shows.
func (g *Gate) sessionOf(ctx context.Context, c *access.Credentials, sum string) (p checkpoint.Pass, err error) {
	if sum == "" || g.spent.has(sum) {
		return p, loggedOut()
	}
	if _, known := g.sessions.look(sum); !known {
		if wait := g.cfg.Failures.Spent(rates.Source(c.From)); wait > 0 {
			return p, tooMany(wait)
		}
	}
	if p, err = g.session(ctx, sum); err == nil {
		return p, nil
	}
	if errors.Is(err, checkpoint.ErrNotFound) && !g.spent.add(sum) {
		return p, loggedOut() // somebody else has found so
	}
	return p, g.untold(ctx, c, err, loggedOut())
}

// session is the store's word about a session, no older than it may be; checkpoint.ErrNotFound where it has ended.
func (g *Gate) session(ctx context.Context, sum string) (checkpoint.Pass, error) {
	if g.spent.has(sum) {
		return checkpoint.Pass{}, checkpoint.ErrNotFound
	}
	p, err := g.sessions.find(ctx, sum, g.cfg.Now, func(ctx context.Context, sum string) (checkpoint.Pass, error) {
		return g.ask(ctx, askWithin, func(ctx context.Context) (checkpoint.Pass, error) {
			return g.cfg.Store.Pass(ctx, sessions, bytesOf(sum), g.cfg.Now())
		})
	})
	if err == nil && !g.cfg.Now().Before(p.Ends) {
		err = checkpoint.ErrNotFound
	}
	return p, err
}

// lasts refuses one whose session has ended.
func (g *Gate) lasts(ctx context.Context, sum string) error {
	_, err := g.session(ctx, sum)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return loggedOut()
	}
	if err != nil {
		return g.untold(ctx, &access.Credentials{}, err, loggedOut())
	}
	return nil
}

// forgetHolder ends all passes of a holder.
func (g *Gate) forgetHolder(ctx context.Context, holder string) {
	err := g.cfg.Store.DropPasses(ctx, holder)
	if err != nil { // they open nothing without what they were made with
		g.cfg.Log.Debug("the sessions of what was revoked were not removed", slog.Any("err", err))
	}
	g.sessions.forget(func(sum string, p *checkpoint.Pass) bool {
		if p.Holder != holder {
			return false
		}
		g.spent.add(sum)
		return true
	})
}

// spoken is who, as one that may do nothing.
func spoken(who *access.Principal) access.Principal {
	return access.Principal{Tenant: who.Tenant, Subject: who.Subject, Token: who.Token}
}

func loggedOut() *api.Error {
	return refuse(http.StatusUnauthorized, api.CodeUnauthenticated,
		"the browser's session has ended: log in again at /login")
}
