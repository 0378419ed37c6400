// Package issuertest is an issuer of OpenID Connect for tests: it has keys, changes them, gives tokens, and can be
// away. It may be used by any number of goroutines.
package issuertest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Audience is what tokens are for where nothing else is said.
const Audience = "graphd-test"

// Issuer is an issuer on this machine.
type Issuer struct {
	URL string
	// Asked is how often it was asked for its keys; Away has it answer nothing.
	Asked atomic.Int64
	Away  atomic.Bool

	mu     sync.Mutex
	keys   []jose.JSONWebKey // the last signs
	codes  map[string]url.Values
	claims map[string]any
}

// Start starts an issuer with one key, of RSA.
func Start(t testing.TB) *Issuer {
	t.Helper()
	i := &Issuer{codes: map[string]url.Values{}}
	m := http.NewServeMux()
	m.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		i.answer(w, map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/a",
			"token_endpoint": i.URL + "/t"})
	})
	m.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		i.Asked.Add(1)
		i.mu.Lock()
		defer i.mu.Unlock()
		var set jose.JSONWebKeySet
		for _, k := range i.keys {
			set.Keys = append(set.Keys, k.Public())
		}
		i.answer(w, set)
	})
	m.HandleFunc("GET /a", i.authorize)
	m.HandleFunc("POST /t", func(w http.ResponseWriter, r *http.Request) { i.exchange(t, w, r) })
	s := httptest.NewServer(m)
	t.Cleanup(s.Close)
	i.URL = s.URL
	i.Rotate(t, jose.RS256, true)
	return i
}

func (i *Issuer) answer(w http.ResponseWriter, what any) {
	if i.Away.Load() {
		http.Error(w, "away", http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(what) // who does not read it has gone
}

// Rotate gives the issuer a key for an algorithm, which signs from then on; alone forgets those before.
func (i *Issuer) Rotate(t testing.TB, algorithm jose.SignatureAlgorithm, alone bool) {
	t.Helper()
	var key crypto.Signer
	var err error
	if algorithm == jose.ES256 {
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	} else {
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	}
	if err != nil {
		t.Fatal(err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if alone {
		i.keys = nil
	}
	i.keys = append(i.keys, jose.JSONWebKey{Key: key, Algorithm: string(algorithm), Use: "sig",
		KeyID: fmt.Sprintf("%s-%d", algorithm, time.Now().UnixNano())})
}

// Key is the key that signs.
func (i *Issuer) Key() jose.JSONWebKey {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.keys[len(i.keys)-1]
}

// Token is a token of the issuer for an hour, with claims in the place of the usual ones.
func (i *Issuer) Token(t testing.TB, claims map[string]any) string {
	t.Helper()
	key := i.Key()
	return i.Signed(t, claims, key.Algorithm, key.KeyID, key.Key)
}

// Typed is a token whose header says of what type it is.
func (i *Issuer) Typed(t testing.TB, claims map[string]any, typ string) string {
	t.Helper()
	key := i.Key()
	return i.signed(t, claims, key.Algorithm, key.Key, (&jose.SignerOptions{}).WithHeader("kid", key.KeyID).
		WithType(jose.ContentType(typ)))
}

// Signed is a token that names an algorithm and a key, and is signed by what is given.
func (i *Issuer) Signed(t testing.TB, claims map[string]any, algorithm, id string, by any) string {
	t.Helper()
	return i.signed(t, claims, algorithm, by, (&jose.SignerOptions{}).WithHeader("kid", id))
}

func (i *Issuer) signed(t testing.TB, claims map[string]any, algorithm string, by any, o *jose.SignerOptions) string {
	t.Helper()
	all := map[string]any{"iss": i.URL, "aud": Audience, "sub": "ada", "iat": time.Now().Unix(),
		"exp": time.Now().Add(time.Hour).Unix()}
	maps.Copy(all, claims)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(algorithm), Key: by}, o)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(text)
	if err != nil {
		t.Fatal(err)
	}
	compact, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return compact
}
