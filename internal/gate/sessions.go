package gate

import (
	"context"
	"crypto/sha256"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
)

const (
	// sessionLife is how long a browser stays logged in.
	sessionLife = 8 * time.Hour
	// maxSessions bounds the sessions, maxSessionsEach those of one token, or of one who has none: the oldest goes.
	maxSessions, maxSessionsEach = 10_000, 20
)

// sessions are those of browsers, in this process alone. The zero value is none.
type sessions struct {
	mu    sync.Mutex
	bySum map[[sha256.Size]byte]*session // by the hash of the text, so that the time of a look tells nothing of it
	each  map[string][]*session          // oldest first
}

type session struct {
	sum  [sha256.Size]byte
	who  access.Principal
	ends time.Time
}

// Login begins a session as who, which text opens until it ends, or until what who came with does. A session
// begins no other: it would outlive its time, and its logout.
func (g *Gate) Login(who *access.Principal) (text string, made api.Session, err error) {
	if !who.Vouched() {
		return "", made, refuse(http.StatusConflict, api.CodeLoginNeedless,
			"this daemon asks for no token, so that there is nothing to log in with")
	}
	if who.Session != nil {
		return "", made, refuse(http.StatusConflict, api.CodeLoginNeedless,
			"the browser is logged in; log out, or show a token to log in with that")
	}
	now := g.cfg.Now()
	text = "gds_" + access.Secret()
	s := &session{sum: sha256.Sum256([]byte(text)), who: *who, ends: now.Add(sessionLife)}
	if !g.sessions.add(s, now) {
		return "", made, refuse(http.StatusTooManyRequests, api.CodeTooManySessions,
			"too many browsers are logged in; try again when some are not any more")
	}
	return text, api.Session{Tenant: who.Tenant, Subject: who.Subject, ExpiresAt: s.ends.UTC()}, nil
}

// Logout ends the session of a text, if there is one.
func (g *Gate) Logout(text string) { g.sessions.end(sha256.Sum256([]byte(text))) }

// resume is whom a session is of.
func (g *Gate) resume(ctx context.Context, c *access.Credentials) (who access.Principal, err error) {
	sum := sha256.Sum256([]byte(c.Session))
	s := g.sessions.find(sum, g.cfg.Now())
	if s == nil && len(c.Chain) > 0 {
		return g.certified(c)
	}
	if s == nil {
		return who, loggedOut()
	}
	if c.Tenant != "" && c.Tenant != s.who.Tenant {
		return spoken(&s.who), noTenant()
	}
	if err := g.Still(ctx, &s.who); err != nil {
		return spoken(&s.who), err
	}
	who = s.who
	who.Session = func(now time.Time) bool { return g.sessions.find(sum, now) != nil }
	return who, nil
}

// spoken is who, as one that may do nothing.
func spoken(who *access.Principal) access.Principal {
	return access.Principal{Tenant: who.Tenant, Subject: who.Subject, Token: who.Token}
}

func loggedOut() *api.Error {
	return refuse(http.StatusUnauthorized, api.CodeUnauthenticated,
		"the browser's session has ended: log in again at /login")
}

func (l *sessions) add(s *session, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bySum == nil {
		l.bySum, l.each = map[[sha256.Size]byte]*session{}, map[string][]*session{}
	}
	if len(l.bySum) >= maxSessions {
		l.expire(now)
	}
	if len(l.bySum) >= maxSessions {
		return false
	}
	key := holder(&s.who)
	if own := l.each[key]; len(own) >= maxSessionsEach {
		l.remove(own[0])
	}
	l.bySum[s.sum] = s
	l.each[key] = append(l.each[key], s)
	return true
}

func (l *sessions) find(sum [sha256.Size]byte, now time.Time) *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.bySum[sum]
	if s != nil && !now.Before(s.ends) {
		l.remove(s)
		return nil
	}
	return s
}

func (l *sessions) end(sum [sha256.Size]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.bySum[sum]; s != nil {
		l.remove(s)
	}
}

func (l *sessions) expire(now time.Time) {
	for _, s := range l.bySum {
		if !now.Before(s.ends) {
			l.remove(s)
		}
	}
}

func (l *sessions) remove(s *session) {
	delete(l.bySum, s.sum)
	key := holder(&s.who)
	l.each[key] = slices.DeleteFunc(l.each[key], func(other *session) bool { return other == s })
	if len(l.each[key]) == 0 {
		delete(l.each, key)
	}
}
