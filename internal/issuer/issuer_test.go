package issuer

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/graphd/graphd/internal/issuer/issuertest"
	"github.com/graphd/graphd/internal/outbound"
	"github.com/graphd/graphd/internal/testbed/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// clock is a time that a test moves.
type clock struct {
	mu    sync.Mutex
	ahead time.Duration
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// believe runs an Issuer for a test issuer, until the test ends, and returns when it has asked once.
func believe(t *testing.T, at *issuertest.Issuer, c *clock, grants ...string) *Issuer {
	t.Helper()
	guard, err := outbound.New(outbound.Config{})
	if err != nil {
		t.Fatal(err)
	}
	i, err := New(Config{URL: at.URL, Audience: issuertest.Audience, Grants: grants, Now: c.Now,
		Guard: guard.Operators(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	first, done := i.round, make(chan struct{})
	go func() { defer close(done); i.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	<-first
	return i
}

// TestTokens: a token that the issuer has signed for graphd opens what its claims are given, and no other does.
func TestTokens(t *testing.T) {
	t.Parallel()
	at, c := issuertest.Start(t), &clock{}
	i := believe(t, at, c, "groups=desk=author@acme", "groups=all=viewer@*", "realm.roles=ops=operator@acme",
		"https://acme.example/role=x=viewer@acme", "email=ada@acme.example=viewer@acme")
	for what, tt := range map[string]struct {
		claims map[string]any
		grants int
	}{
		"one of a list":    {map[string]any{"groups": []string{"x", "desk"}}, 1},
		"two of a list":    {map[string]any{"groups": []string{"all", "desk"}}, 2},
		"a text":           {map[string]any{"groups": "desk"}, 1},
		"a part of a text": {map[string]any{"groups": "desk all"}, 0},
		"within another":   {map[string]any{"realm": map[string]any{"roles": []string{"ops"}}}, 1},
		"a number":         {map[string]any{"groups": 7, "realm": 7}, 0},
		"a URL":            {map[string]any{"https://acme.example/role": "x"}, 1},
		"nothing":          {nil, 0},
		"an email":         {map[string]any{"email": "ada@acme.example"}, 0},
		"a verified email": {map[string]any{"email": "ada@acme.example", "email_verified": true}, 1},
		"for others too":   {map[string]any{"aud": []string{"x", issuertest.Audience}}, 0},
		"of Keycloak":      {map[string]any{"typ": "Bearer"}, 0},
		"just ended":       {map[string]any{"exp": time.Now().Add(-Skew / 2).Unix()}, 0},
	} {
		who, err := i.Whose(t.Context(), at.Token(t, tt.claims))
		if err != nil || len(who.Grants) != tt.grants || who.Subject != "oidc:ada" || !who.Holds(time.Now()) {
			t.Errorf("%s: %+v, %v", what, who, err)
		}
	}
	key, desk := at.Key(), map[string]any{"groups": "desk"}
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public().Key)
	if err != nil {
		t.Fatal(err)
	}
	with := func(name string, value any) string {
		return at.Token(t, map[string]any{"groups": "desk", name: value})
	}
	marked := at.Typed(t, map[string]any{"groups": "desk", "nonce": "n"}, "at+jwt")
	if who, err := i.Whose(t.Context(), marked); err != nil || len(who.Grants) != 1 {
		t.Errorf("an access token by RFC 9068: %+v, %v", who, err)
	}
	good := strings.Split(at.Token(t, desk), ".")
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","kid":"` + key.KeyID + `"}`))
	for what, text := range map[string]string{
		"for others":           with("aud", "others"),
		"for nobody":           with("aud", nil),
		"of another":           with("iss", "https://evil.example"),
		"ended":                with("exp", time.Now().Add(-time.Minute).Unix()),
		"without an end":       with("exp", nil),
		"not begun":            with("nbf", time.Now().Add(time.Hour).Unix()),
		"of nobody":            with("sub", ""),
		"by another key":       at.Signed(t, desk, "RS256", key.KeyID, other),
		"by the public key":    at.Signed(t, desk, "HS256", key.KeyID, public),
		"another algorithm":    at.Signed(t, desk, "PS256", key.KeyID, key.Key),
		"unsigned":             none + "." + good[1] + ".",
		"unsigned, with a sum": none + "." + good[1] + "." + good[2],
		"of two":               good[0] + "." + strings.Split(with("sub", "root"), ".")[1] + "." + good[2],
		"of a browser's login": with("nonce", "n"),
		"with an access token": with("at_hash", "h"),
		"an ID of Keycloak":    with("typ", "ID"),
		"to refresh":           with("typ", "Refresh"),
		"of a logout":          at.Typed(t, desk, "logout+jwt"),
		"too long":             good[0] + "." + strings.Repeat("A", maxToken) + "." + good[2],
		"no token":             "gd_x", "dots": "..", "no JSON": "a.b.c",
	} {
		if who, err := i.Whose(t.Context(), text); !errors.Is(err, ErrInvalid) || len(who.Grants) > 0 {
			t.Errorf("%s: %+v, %v", what, who, err)
		}
	}
}

// TestRotation: a new key is found when somebody shows it, of another kind too; one that is gone opens nothing.
func TestRotation(t *testing.T) {
	t.Parallel()
	at, c := issuertest.Start(t), &clock{}
	i := believe(t, at, c, "sub=ada=viewer@acme")
	old := at.Token(t, nil)
	at.Rotate(t, jose.ES256, false)
	c.pass(askEvery)
	for _, text := range []string{at.Token(t, nil), old} {
		if _, err := i.Whose(t.Context(), text); err != nil {
			t.Error(err)
		}
	}
	at.Rotate(t, jose.RS256, true)
	c.pass(askEvery)
	if _, err := i.Whose(t.Context(), at.Token(t, nil)); err != nil {
		t.Error(err)
	}
	if _, err := i.Whose(t.Context(), old); !errors.Is(err, ErrInvalid) {
		t.Errorf("a key that is gone: %v", err)
	}
}

// TestFlood: whatever keys are shown, the issuer is asked once in ten seconds.
func TestFlood(t *testing.T) {
	t.Parallel()
	at, c := issuertest.Start(t), &clock{}
	i := believe(t, at, c, "sub=ada=viewer@acme")
	good, key := at.Token(t, nil), at.Key()
	strange := at.Signed(t, nil, "RS256", "strange", key.Key)
	for round := range 3 {
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				if _, err := i.Whose(t.Context(), strange); !errors.Is(err, ErrInvalid) {
					t.Errorf("got %v", err)
				}
				if _, err := i.Whose(t.Context(), good); err != nil {
					t.Errorf("one whose key is known is turned away: %v", err)
				}
			})
		}
		wg.Wait()
		if n := at.Asked.Load(); n != int64(1+round) {
			t.Errorf("the issuer was asked %d times, want %d", n, 1+round)
		}
		c.pass(askEvery)
	}
}

// TestAway: an issuer that is away is told of; known keys are good for a day, and without any nobody is let in.
func TestAway(t *testing.T) {
	t.Parallel()
	at, c := issuertest.Start(t), &clock{}
	long := at.Token(t, map[string]any{"exp": time.Now().Add(72 * time.Hour).Unix()})
	at.Away.Store(true)
	i := believe(t, at, c, "sub=ada=viewer@acme")
	if _, err := i.Whose(t.Context(), long); !errors.Is(err, ErrUnknown) || i.Trouble() == "" {
		t.Errorf("without keys: %v, %q", err, i.Trouble())
	}
	at.Away.Store(false)
	c.pass(askEvery)
	if _, err := i.Whose(t.Context(), long); err != nil || i.Trouble() != "" {
		t.Errorf("back: %v, %q", err, i.Trouble())
	}
	at.Away.Store(true)
	c.pass(maxAge - time.Minute)
	if _, err := i.Whose(t.Context(), long); err != nil {
		t.Errorf("away for less than a day: %v", err)
	}
	c.pass(2 * time.Minute)
	if _, err := i.Whose(t.Context(), long); !errors.Is(err, ErrUnknown) {
		t.Errorf("away for a day: %v", err)
	}
}

// TestKeys: what cannot check a signature well is left out.
func TestKeys(t *testing.T) {
	t.Parallel()
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Skip("this Go makes no short keys:", err)
	}
	set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: []byte("a secret that both know, of 32 b"), KeyID: "s"},
		{Key: short.Public(), KeyID: "short"}}}
	text, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	if list, err := parseKeys(text); err == nil {
		t.Errorf("got %+v", list)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]Config{
		"no TLS": {URL: "http://login.example", Audience: "x"}, "no audience": {URL: "https://login.example"},
		"no URL":     {URL: "login.example", Audience: "x"},
		"a password": {URL: "https://a:b@login.example", Audience: "x"},
		"no claim":   {URL: "https://login.example", Audience: "x", Grants: []string{"desk=viewer@acme"}},
	} {
		if _, err := New(c); err == nil {
			t.Errorf("%s is taken", what)
		}
	}
}

// TestKeysThatComeMeanwhile: who looks for keys just before they come, and may not have them asked for just after, has
// them all the same.
func TestKeysThatComeMeanwhile(t *testing.T) {
	at := issuertest.Start(t)
	had := believe(t, at, &clock{}, "role=viewer=viewer@acme")
	text := at.Token(t, map[string]any{"role": "viewer"})
	if _, err := had.Whose(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	var i *Issuer
	comes := func() time.Time { // the clock is looked at between the two
		i.keys.CompareAndSwap(nil, had.keys.Load())
		return time.Now()
	}
	guard, err := outbound.New(outbound.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if i, err = New(Config{URL: at.URL, Audience: issuertest.Audience, Grants: []string{"role=viewer=viewer@acme"},
		Now: comes, Guard: guard.Operators(), Log: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	i.asked = time.Now()
	if _, err := i.Whose(t.Context(), text); err != nil {
		t.Error(err)
	}
}
