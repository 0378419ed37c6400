package issuertest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"testing"
)

const (
	// Client is the one client whom the issuer gives ID tokens to.
	Client = "graphd-browsers"
	// Secret is the client's.
	Secret = "a secret of the client's own"
)

// Says has ID tokens bear claims in the place of the usual ones from now on.
func (i *Issuer) Says(claims map[string]any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.claims = claims
}

// authorize lets everybody in at once, and sends him back with a code.
func (i *Issuer) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	to, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || q.Get("client_id") != Client || q.Get("response_type") != "code" ||
		q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" || q.Get("nonce") == "" {
		http.Error(w, "no such request: "+r.URL.RawQuery, http.StatusBadRequest)
		return
	}
	code := rand.Text()
	i.mu.Lock()
	i.codes[code] = q
	i.mu.Unlock()
	to.RawQuery = url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {i.URL}}.Encode()
	http.Redirect(w, r, to.String(), http.StatusFound)
}

// exchange gives the tokens for a code, once.
func (i *Issuer) exchange(t testing.TB, w http.ResponseWriter, r *http.Request) {
	t.Helper()
	user, secret, _ := r.BasicAuth()
	id, _ := url.QueryUnescape(user)
	said, _ := url.QueryUnescape(secret)
	i.mu.Lock()
	q := i.codes[r.FormValue("code")]
	delete(i.codes, r.FormValue("code"))
	claims := maps.Clone(i.claims)
	i.mu.Unlock()
	challenge := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	problem := ""
	switch {
	case id != Client || said != Secret:
		problem = "invalid_client"
	case q == nil || r.FormValue("redirect_uri") != q.Get("redirect_uri") ||
		base64.RawURLEncoding.EncodeToString(challenge[:]) != q.Get("code_challenge"):
		problem = "invalid_grant"
	}
	w.Header().Set("Content-Type", "application/json")
	if problem != "" {
		w.WriteHeader(http.StatusBadRequest)
		i.answer(w, map[string]any{"error": problem})
		return
	}
	all := map[string]any{"aud": Client, "nonce": q.Get("nonce"), "azp": Client}
	maps.Copy(all, claims)
	i.answer(w, map[string]any{"access_token": rand.Text(), "token_type": "Bearer", "id_token": i.Token(t, all)})
}
