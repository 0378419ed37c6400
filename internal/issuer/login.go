package issuer

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/graphd/graphd/internal/access"
)

const (
	// LoginLife is how long one who has logged in is known.
	LoginLife = 8 * time.Hour
	// BeginLife is how long he may take at the issuer.
	BeginLife = 10 * time.Minute
	// callbackPath is where the issuer sends browsers back to.
	callbackPath = "/login/callback"
	// maxPending bounds what a browser keeps of a login, maxExchanges the questions to the issuer that are under way.
	maxPending, maxExchanges = 2 << 10, 16
	// minClientSecret is how long the client's secret is at least: what browsers keep is sealed by it.
	minClientSecret, maxClientSecret = 16, 4 << 10
)

// Errors of a login, beside those of a token; test with errors.Is.
var (
	// ErrLogin says that no login has come to its end: its browser has begun none, or another, or the issuer has not
	// agreed.
	ErrLogin = errors.New("the login is not good")
	// ErrNotBegun is an ErrLogin of one that the issuer was asked nothing about.
	ErrNotBegun = fmt.Errorf("%w", ErrLogin)
	// ErrBusy says that too many logins are at the issuer.
	ErrBusy = errors.New("too many logins are under way")
)

// Login is how browsers log in at the issuer, by the code flow with PKCE.
type Login struct {
	// Client is graphd's id there, SecretFile a file with its secret. Without a client nobody can.
	Client, SecretFile string
	// Base is graphd's own address, https://host[:port]: the issuer sends browsers back to Base/login/callback. Where
	// it is "" the first of Hosts is the name.
	Base  string
	Hosts []string
	// Scopes are asked for beside openid.
	Scopes []string
}

// signOn is a Login that can be used. It keeps nothing of those who are at the issuer: a browser has that itself,
// sealed.
type signOn struct {
	Login
	secret   string
	seal     cipher.AEAD
	verifier *oidc.IDTokenVerifier
	turns    chan struct{}
}

// pending is what a browser keeps while its user is at the issuer.
type pending struct {
	State, Nonce, Verifier, Tenant string
	Until                          time.Time
}

// Finished is a login that the issuer has agreed to.
type Finished struct {
	access.Identity
	// Tenant is the one that was asked for when it began, "" where none was.
	Tenant string
	// Once is a text that no other login has. Who finishes one has to see that it was not there until Until.
	Once  string
	Until time.Time
}

// newSignOn checks how browsers log in; nil where they do not.
func (i *Issuer) newSignOn(l *Login) (*signOn, error) {
	if l.Client == "" {
		if l.SecretFile != "" || l.Base != "" || len(l.Scopes) > 0 {
			return nil, errors.New("what is said of logins takes the client: --oidc-client")
		}
		return nil, nil //nolint:nilnil // none is asked for
	}
	if l.Base == "" && len(l.Hosts) > 0 {
		l.Base = "https://" + l.Hosts[0]
	}
	if err := secure(l.Base); err != nil {
		return nil, fmt.Errorf("the address that browsers come back to, --oidc-redirect %q: %w", l.Base, err)
	}
	l.Base = strings.TrimSuffix(l.Base, "/")
	if u, err := url.Parse(l.Base); err != nil || u.Path != "" || u.RawQuery != "" {
		return nil, fmt.Errorf("the address that browsers come back to, --oidc-redirect %q: write https://host[:port] "+
			"alone", l.Base)
	}
	for _, scope := range l.Scopes {
		if scope == "" || strings.ContainsAny(scope, " \"\\") {
			return nil, fmt.Errorf("%q is no scope", scope)
		}
	}
	secret, err := readSecret(l.SecretFile)
	if err != nil {
		return nil, fmt.Errorf("the client's secret, --oidc-client-secret: %w", err)
	}
	key, err := hkdf.Key(sha256.New, []byte(secret), nil, "graphd logins 1 "+l.Client, 32)
	if err != nil {
		return nil, fmt.Errorf("derive the key of logins: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	s := &signOn{Login: *l, secret: secret, turns: make(chan struct{}, maxExchanges)}
	if s.seal, err = cipher.NewGCMWithRandomNonce(block); err != nil {
		return nil, err
	}
	s.verifier = oidc.NewVerifier(i.cfg.URL, i, &oidc.Config{ClientID: l.Client, SupportedSigningAlgs: algorithms(),
		Now: func() time.Time { return i.cfg.Now().Add(-Skew) }})
	return s, nil
}

// readSecret reads the file, without the white space around.
func readSecret(path string) (string, error) {
	if path == "" {
		return "", errors.New("name the file that holds it")
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxClientSecret+1))
	if err != nil {
		return "", err
	}
	if trimmed := bytes.TrimSpace(text); len(trimmed) >= minClientSecret && len(text) <= maxClientSecret {
		return string(trimmed), nil
	}
	return "", fmt.Errorf("%s has %d bytes, and must have %d to %d", path, len(bytes.TrimSpace(text)), minClientSecret,
		maxClientSecret)
}

// Offers says whether browsers can log in at the issuer.
func (i *Issuer) Offers() bool { return i != nil && i.signOn != nil }

// Begin begins a login for a tenant, "" for that of the first grant: at is where the browser goes, and kept what it
// brings back from there.
func (i *Issuer) Begin(ctx context.Context, tenant string) (at, kept string, err error) {
	flow, err := i.flow(ctx)
	if err != nil {
		return "", "", err
	}
	p := pending{State: access.Secret(), Nonce: access.Secret(), Verifier: oauth2.GenerateVerifier(), Tenant: tenant,
		Until: i.cfg.Now().Add(BeginLife)}
	text, err := json.Marshal(p)
	if err != nil {
		return "", "", fmt.Errorf("encode a login: %w", err)
	}
	kept = base64.RawURLEncoding.EncodeToString(i.signOn.seal.Seal(nil, nil, text, nil))
	return flow.AuthCodeURL(p.State, oidc.Nonce(p.Nonce), oauth2.S256ChallengeOption(p.Verifier)), kept, nil
}

// flow is the code flow, with what the issuer has last said of it.
func (i *Issuer) flow(ctx context.Context) (*oauth2.Config, error) {
	ends := i.ends.Load()
	if ends == nil {
		i.ask(ctx)
		ends = i.ends.Load()
	}
	if ends == nil {
		return nil, ErrUnknown
	}
	return &oauth2.Config{ClientID: i.signOn.Client, ClientSecret: i.signOn.secret, Endpoint: *ends,
		RedirectURL: i.signOn.Base + callbackPath, Scopes: append([]string{oidc.ScopeOpenID}, i.signOn.Scopes...)}, nil
}

// Finish is whom a browser stands for that comes back from the issuer: kept is what it was given when it began, said
// what the issuer has it bring. Every error but ErrUnknown, ErrBusy and that of a ctx that is done is an ErrLogin.
func (i *Issuer) Finish(ctx context.Context, kept string, said url.Values) (done Finished, err error) {
	p, err := i.begun(kept, said)
	if err != nil {
		return done, err
	}
	flow, err := i.flow(ctx)
	if err != nil {
		return done, err
	}
	select {
	case i.signOn.turns <- struct{}{}:
		defer func() { <-i.signOn.turns }()
	default:
		return done, ErrBusy
	}
	within, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	client := *i.client
	client.Transport = &bounded{client.Transport}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	token, err := flow.Exchange(context.WithValue(within, oauth2.HTTPClient, &client), said.Get("code"),
		oauth2.VerifierOption(p.Verifier))
	if err != nil {
		return done, i.failed(ctx, "the issuer gives nothing for the code", told(err))
	}
	text, _ := token.Extra("id_token").(string)
	if done.Identity, err = i.user(ctx, text, token.AccessToken, p.Nonce); err != nil {
		return done, i.failed(ctx, "the issuer's ID token", err)
	}
	done.Tenant, done.Once, done.Until = p.Tenant, p.State, p.Until
	return done, nil
}

// failed is the error of a login that something has come in the way of.
func (i *Issuer) failed(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w: %s: %w", ErrLogin, what, err)
}

// told is what an issuer says of a code, without what else was in its answer.
func told(err error) error {
	if said, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		if said.ErrorCode != "" {
			return fmt.Errorf("%.100q", said.ErrorCode)
		}
		return errors.New(said.Response.Status)
	}
	return err
}

// begun is the login that a browser has begun which brings these words of the issuer.
func (i *Issuer) begun(kept string, said url.Values) (p pending, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(kept)
	if err != nil || len(kept) > maxPending || kept == "" {
		return p, fmt.Errorf("%w: this browser has begun none", ErrNotBegun)
	}
	text, err := i.signOn.seal.Open(nil, nil, raw, nil)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	switch {
	case err != nil:
		return p, fmt.Errorf("%w: what the browser has kept of it was not given by this daemon", ErrNotBegun)
	case !i.cfg.Now().Before(p.Until):
		return p, fmt.Errorf("%w: it was begun more than %v ago", ErrNotBegun, BeginLife)
	case subtle.ConstantTimeCompare([]byte(said.Get("state")), []byte(p.State)) != 1:
		return p, fmt.Errorf("%w: this browser has begun another one", ErrNotBegun)
	case said.Has("iss") && said.Get("iss") != i.cfg.URL: // RFC 9207
		return p, fmt.Errorf("%w: another issuer has sent the browser", ErrNotBegun)
	case said.Has("error"):
		return p, fmt.Errorf("%w: the issuer says %.100q", ErrNotBegun, said.Get("error"))
	case said.Get("code") == "":
		return p, fmt.Errorf("%w: the issuer has sent no code", ErrNotBegun)
	}
	return p, nil
}

// user is whom an ID token stands for that the issuer has given for a code.
func (i *Issuer) user(ctx context.Context, text, accessToken, nonce string) (who access.Identity, err error) {
	if !Form(text) {
		return who, errors.New("there is none")
	}
	token, err := i.signOn.verifier.Verify(ctx, text)
	if err != nil {
		return who, err
	}
	var all map[string]any
	if err := token.Claims(&all); err != nil {
		return who, err
	}
	azp, given := all["azp"]
	switch {
	case token.Subject == "":
		return who, errors.New("it names nobody")
	case subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(nonce)) != 1:
		return who, errors.New("it is of another login")
	case given && azp != any(i.signOn.Client), !given && len(token.Audience) > 1:
		return who, errors.New("it was given to another client")
	}
	if token.AccessTokenHash != "" {
		if err := token.VerifyAccessToken(accessToken); err != nil {
			return who, err
		}
	}
	who = i.identity(token.Subject, all, i.cfg.Now().Add(LoginLife))
	return who, nil
}
