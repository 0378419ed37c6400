package issuer

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/issuer/issuertest"
	"github.com/graphd/graphd/internal/outbound"
)

const base = "https://graphd.example"

// login is how browsers log in in tests.
func login(t *testing.T, change func(*Login)) Login {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(issuertest.Secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := Login{Client: issuertest.Client, SecretFile: file, Base: base, Scopes: []string{"groups"}}
	if change != nil {
		change(&l)
	}
	return l
}

// offering runs an Issuer where browsers log in.
func offering(t *testing.T, at *issuertest.Issuer, c *clock, change func(*Login)) *Issuer {
	t.Helper()
	guard, err := outbound.New(outbound.Config{})
	if err != nil {
		t.Fatal(err)
	}
	i, err := New(Config{URL: at.URL, Audience: issuertest.Audience, Grants: []string{"groups=desk=author@acme"},
		Login: login(t, change), Now: c.Now, Guard: guard.Operators(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); i.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return i
}

// visit goes where a login leads, and gives what the issuer has the browser bring back.
func visit(t *testing.T, at string) url.Values {
	t.Helper()
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Get(at)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	to, err := res.Location()
	if err != nil || !strings.HasPrefix(to.String(), base+"/login/callback?") {
		t.Fatalf("the issuer leads to %v, %v", to, err)
	}
	return to.Query()
}

func begin(t *testing.T, i *Issuer) (said url.Values, kept string) {
	t.Helper()
	at, kept, err := i.Begin(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	return visit(t, at), kept
}

// TestLogin: who has logged in at the issuer is given what the claims of his ID token are, and no browser gets in with
// what another one has begun, nor with what the issuer has not said (A10).
func TestLogin(t *testing.T) {
	t.Parallel()
	at, c := issuertest.Start(t), &clock{}
	at.Says(map[string]any{"groups": []string{"desk"}})
	i := offering(t, at, c, nil)
	said, kept := begin(t, i)
	done, err := i.Finish(t.Context(), kept, said)
	if err != nil || done.Subject != "oidc:ada" || len(done.Grants) != 1 || done.Tenant != "acme" || done.Once == "" ||
		!done.Holds(c.Now().Add(LoginLife-time.Minute)) || done.Holds(c.Now().Add(LoginLife)) {
		t.Fatalf("got %+v, %v", done, err)
	}
	if strings.Contains(kept, done.Once) {
		t.Error("what the browser keeps can be read")
	}
	_, err = i.Finish(t.Context(), kept, said)
	if !errors.Is(err, ErrLogin) || !strings.Contains(Advice(err), "once") {
		t.Errorf("a code that was used: %v", err)
	}
	foreign := offering(t, at, c, func(l *Login) { l.Client = "other" })
	_, strange, err := foreign.Begin(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	_, other := begin(t, i)
	for what, change := range map[string]func(s url.Values, kept string) string{
		"a browser that has begun none": func(url.Values, string) string { return "" },
		"another login's":               func(url.Values, string) string { return other },
		"another daemon's":              func(url.Values, string) string { return strange },
		"one that was changed":          func(_ url.Values, k string) string { return k[:len(k)-4] + "AAAA" },
		"one that is too long":          func(_ url.Values, k string) string { return k + strings.Repeat("A", 4000) },
		"no state":                      func(s url.Values, k string) string { s.Del("state"); return k },
		"another issuer":                func(s url.Values, k string) string { s.Set("iss", "https://x"); return k },
		"a refusal":                     func(s url.Values, k string) string { s.Set("error", "x"); return k },
		"no code":                       func(s url.Values, k string) string { s.Del("code"); return k },
	} {
		said, kept := begin(t, i)
		kept = change(said, kept)
		if _, err := i.Finish(t.Context(), kept, said); !errors.Is(err, ErrNotBegun) || !errors.Is(err, ErrLogin) {
			t.Errorf("%s: %v", what, err)
		}
	}
	said, kept = begin(t, i)
	c.pass(BeginLife)
	if _, err := i.Finish(t.Context(), kept, said); !errors.Is(err, ErrNotBegun) {
		t.Errorf("after ten minutes: %v", err)
	}
}

// TestLoginIsWhatTheIssuerSays: an ID token of another login, for others, of others or without a signature opens
// nothing, and neither does a code that was got with another verifier.
func TestLoginIsWhatTheIssuerSays(t *testing.T) {
	t.Parallel()
	at, c := issuertest.Start(t), &clock{}
	i := offering(t, at, c, nil)
	for what, claims := range map[string]map[string]any{
		"another login's nonce": {"nonce": "x"}, "no nonce": {"nonce": nil},
		"another audience": {"aud": "other"}, "the audience of bearers": {"aud": issuertest.Audience},
		"another issuer": {"iss": "https://evil.example"}, "one that has ended": {"exp": time.Now().Unix() - 60},
		"another client": {"azp": "other"}, "nobody": {"sub": ""},
		"several":              {"aud": []string{issuertest.Client, "other"}, "azp": "other"},
		"another access token": {"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"},
	} {
		at.Says(claims)
		said, kept := begin(t, i)
		if _, err := i.Finish(t.Context(), kept, said); !errors.Is(err, ErrLogin) || errors.Is(err, ErrNotBegun) {
			t.Errorf("%s: %v", what, err)
		}
	}
	at.Says(nil)
	said, kept := begin(t, i)
	stolen, _ := begin(t, i) // the code of one browser, brought by another
	said.Set("code", stolen.Get("code"))
	if _, err := i.Finish(t.Context(), kept, said); !errors.Is(err, ErrLogin) {
		t.Errorf("a code of another browser: %v", err)
	}
	said, kept = begin(t, i)
	for range maxExchanges {
		i.signOn.turns <- struct{}{}
	}
	if _, err := i.Finish(t.Context(), kept, said); !errors.Is(err, ErrBusy) {
		t.Errorf("more than there may be: %v", err)
	}
	away := issuertest.Start(t)
	away.Away.Store(true)
	if _, _, err := offering(t, away, c, nil).Begin(t.Context(), ""); !errors.Is(err, ErrUnknown) {
		t.Errorf("an issuer that is away: %v", err)
	}
}

// TestLoginConfiguration: what cannot be right is told, and nothing is begun with it.
func TestLoginConfiguration(t *testing.T) {
	t.Parallel()
	short := filepath.Join(t.TempDir(), "short")
	if err := os.WriteFile(short, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Login){
		"oidc-client": func(l *Login) { l.Client = "" }, "without TLS": func(l *Login) { l.Base = "http://a.example" },
		"alone": func(l *Login) { l.Base += "/x" }, "https://host": func(l *Login) { l.Base = "" },
		"scope": func(l *Login) { l.Scopes = []string{"a b"} }, "name the file": func(l *Login) { l.SecretFile = "" },
		"16 to": func(l *Login) { l.SecretFile = short }, "no such file": func(l *Login) { l.SecretFile += "x" },
	} {
		_, err := New(Config{URL: "https://issuer.example", Audience: "x", Login: login(t, change)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	var none *Issuer
	if none.Offers() || len(none.Grants()) > 0 {
		t.Error("no issuer offers something")
	}
}
