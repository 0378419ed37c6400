package gate

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/issuer"
	"github.com/graphd/graphd/internal/rates"
)

// lax is an issuer that takes a code as often as it is shown.
type lax struct {
	done issuer.Finished
	err  error
}

func (l *lax) Offers() bool { return true }

func (l *lax) Begin(context.Context, string) (at, kept string, err error) { return "at", "kept", l.err }

func (l *lax) Finish(context.Context, string, url.Values) (issuer.Finished, error) {
	return l.done, l.err
}

// TestSignOn: a login at the issuer begins one session, at one daemon, whatever the issuer takes twice; who brings
// codes that are none is turned away after a while, and who has begun nothing costs nobody anything.
func TestSignOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, l := newStore(), &lax{}
		line := access.Granted{Name: "groups=x", Grant: access.Grant{Tenant: "*", Role: access.Viewer}}
		var said bytes.Buffer
		there := func() *Gate {
			return newGate(t, s, func(c *Config) {
				c.Required, c.SignOn, c.Grants = true, l, []access.Granted{line}
				c.Failures = rates.New(rates.Config{PerSecond: 1e-9, Burst: 2, Keys: 10})
				c.Log = slog.New(slog.NewTextHandler(&said, nil))
			})
		}
		here := there()
		finish := func(g *Gate, code string) (text string) {
			t.Helper()
			text, _, who, err := g.Finish(t.Context(), &access.Credentials{From: "192.0.2.1"}, "kept", nil)
			if codeOf(err) != code || err != nil && (text != "" || who.Role != access.NoRole) {
				t.Errorf("got %q of %+v, %v, want %q", text, who, err, code)
			}
			return text
		}
		until := time.Now().Add(issuer.LoginLife)
		l.done = issuer.Finished{Once: "state", Tenant: "acme", Until: time.Now().Add(time.Minute),
			Identity: access.Identity{Subject: "oidc:ada", Proof: access.Proof{Until: until},
				Holds: func(now time.Time) bool { return now.Before(until) }}}
		finish(here, api.CodeForbidden)
		l.done.Grants = []access.Granted{line}
		text := finish(here, "")
		finish(here, api.CodeLoginFailed)
		finish(there(), api.CodeLoginFailed)
		if got := enter(t, there(), access.Credentials{Session: text}, ""); got.Tenant != "acme" ||
			got.Subject != "oidc:ada" || got.Role != access.Viewer {
			t.Errorf("got %+v", got)
		}
		l.err = issuer.ErrUnknown
		finish(here, api.CodeIssuerUnreachable)
		l.err = issuer.ErrBusy
		finish(here, api.CodeBusy)
		l.err = issuer.ErrNotBegun
		for range 10 {
			finish(here, api.CodeLoginFailed)
		}
		if said := said.String(); strings.Count(said, "in vain") != 1 {
			t.Errorf("the log is flooded: %s", said)
		}
		time.Sleep(tellEvery)
		l.err = fmt.Errorf("%w: %q", issuer.ErrLogin, "invalid_client")
		finish(here, api.CodeLoginFailed)
		finish(here, api.CodeLoginFailed)
		finish(here, api.CodeRateLimited)
		if said := said.String(); !strings.Contains(said, "oidc-client-secret") {
			t.Errorf("the log says nothing to do: %s", said)
		}
		none := newGate(t, s, nil)
		if _, _, err := none.Begin(t.Context(), ""); codeOf(err) != api.CodeNotFound || none.SignsOn() {
			t.Errorf("where there is no issuer: %v", err)
		}
	})
}
