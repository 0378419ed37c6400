package gate

import (
	"context"
	"crypto/sha256"
	"errors"
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
	// maxSessions bounds the sessions, maxSessionsTenant those of one tenant, and maxSessionsEach those of one token,
	// or of one who has none: there the oldest goes.
	maxSessions, maxSessionsTenant, maxSessionsEach = 10_000, 2_000, 20
)

// sessions are those of browsers, in this process alone. The zero value is none.
type sessions struct {
	mu    sync.Mutex
	bySum map[[sha256.Size]byte]*session // by the hash of the text, so that the time of a look tells nothing of it
	each  map[string][]*session          // by whose they are, oldest first
	of    map[string]int                 // how many there are of a tenant
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
	if until := g.until(who.Token); !until.IsZero() && until.Before(s.ends) {
		s.ends = until
	}
	if !g.sessions.add(s, now, g.ended) {
		return "", made, refuse(http.StatusTooManyRequests, api.CodeTooManySessions,
			"too many browsers of this tenant are logged in; try again when some are not any more")
	}
	return text, api.Session{Tenant: who.Tenant, Subject: who.Subject, ExpiresAt: s.ends.UTC()}, nil
}

// until is when a token ends, as far as that is known here.
func (g *Gate) until(token string) time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	if e := g.known[token]; e != nil {
		return e.token.Expires
	}
	return time.Time{}
}

// ended says whether what a session was begun with is known to have ended.
func (g *Gate) ended(s *session, now time.Time) bool {
	if s.who.Holds != nil {
		return !s.who.Holds(now)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	e := g.known[s.who.Token]
	return e != nil && !e.token.Live(now)
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
		if refused, ok := errors.AsType[*api.Error](err); ok && refused.Code == api.CodeInvalidToken {
			g.sessions.end(sum) // for good
		}
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

// add keeps a session, unless its tenant has too many. Where all have, the tenant with the most loses one.
func (l *sessions) add(s *session, now time.Time, ended func(*session, time.Time) bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bySum == nil {
		l.bySum, l.each, l.of = map[[sha256.Size]byte]*session{}, map[string][]*session{}, map[string]int{}
	}
	key, tenant := holder(&s.who), s.who.Tenant
	if own := l.each[key]; len(own) >= maxSessionsEach {
		l.remove(own[0])
	}
	full := func() bool { return len(l.bySum) >= maxSessions || l.of[tenant] >= maxSessionsTenant }
	if full() {
		l.expire(now, ended)
	}
	if l.of[tenant] >= maxSessionsTenant {
		return false
	}
	if full() {
		l.remove(l.oldest())
	}
	l.bySum[s.sum] = s
	l.each[key] = append(l.each[key], s)
	l.of[tenant]++
	return true
}

// oldest is the first session of the tenant that has the most.
func (l *sessions) oldest() (first *session) {
	for _, s := range l.bySum {
		if n := 0; first != nil {
			if n = l.of[s.who.Tenant] - l.of[first.who.Tenant]; n < 0 || n == 0 && !s.ends.Before(first.ends) {
				continue
			}
		}
		first = s
	}
	return first
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

func (l *sessions) expire(now time.Time, ended func(*session, time.Time) bool) {
	for _, s := range l.bySum {
		if !now.Before(s.ends) || ended(s, now) {
			l.remove(s)
		}
	}
}

// forget ends those of a token.
func (l *sessions) forget(token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range slices.Clone(l.each[token]) {
		l.remove(s)
	}
}

func (l *sessions) remove(s *session) {
	delete(l.bySum, s.sum)
	if l.of[s.who.Tenant]--; l.of[s.who.Tenant] == 0 {
		delete(l.of, s.who.Tenant)
	}
	key := holder(&s.who)
	l.each[key] = slices.DeleteFunc(l.each[key], func(other *session) bool { return other == s })
	if len(l.each[key]) == 0 {
		delete(l.each, key)
	}
}
