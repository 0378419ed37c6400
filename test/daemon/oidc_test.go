package daemon

import (
	"net/http"
	"strings"
	"testing"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/issuer/issuertest"
)

// TestIssuer: a token of the issuer opens what its claims are given, by requests and sockets; an issuer that is away
// is told of, and holds nobody else up.
func TestIssuer(t *testing.T) {
	t.Parallel()
	at, away := issuertest.Start(t), issuertest.Start(t)
	text := at.Token(t, map[string]any{"groups": []string{"desk"}})
	d := startDaemon(t, graphd.Config{Store: "memory:", OIDCIssuer: at.URL, OIDCAudience: issuertest.Audience,
		OIDCGrants: []string{"groups=desk=viewer@default"}, AllowOutbound: []string{"none"}})
	as := func(base, token string) *client.Client {
		c, err := client.New(client.Config{BaseURL: base, Token: token})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := as(d.base, text)
	if _, err := c.Graphs(t.Context()); err != nil {
		t.Error(err)
	}
	w, err := c.Watch(t.Context(), "", []string{"health"}, "")
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	if _, err := c.Apply(t.Context(), "quotes", []byte(quotes), 0, true); !isCode(err, api.CodeForbidden) {
		t.Errorf("a viewer applies: %v", err)
	}
	_, err = as(d.base, at.Token(t, nil)).Graphs(t.Context())
	if !isCode(err, api.CodeForbidden) || !strings.Contains(err.Error(), "claims") {
		t.Errorf("claims that are given nothing: %v", err)
	}
	if _, err := as(d.base, "").Graphs(t.Context()); !isCode(err, api.CodeUnauthenticated) {
		t.Errorf("nobody: %v", err)
	}
	away.Away.Store(true)
	lost := startDaemon(t, graphd.Config{Store: "memory:", OIDCIssuer: away.URL, OIDCAudience: issuertest.Audience})
	lost.until("the warning", func() bool {
		st, err := as(lost.base, "").Ready(t.Context())
		return err == nil && len(st.Warnings) == 1 && st.Warnings[0].Code == api.WarnIssuerUnreachable
	})
	if _, err := as(lost.base, away.Token(t, nil)).Graphs(t.Context()); !isCode(err, api.CodeIssuerUnreachable) {
		t.Errorf("without keys: %v", err)
	}
	if _, err := as(lost.base, "gd_x").Graphs(t.Context()); !isCode(err, api.CodeInvalidToken) {
		t.Errorf("another's token: %v", err)
	}
	if res, err := http.Get(lost.base + "/livez"); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("the daemon: %v", err)
	} else {
		_ = res.Body.Close()
	}
}
