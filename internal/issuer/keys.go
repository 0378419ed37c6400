package issuer

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"golang.org/x/oauth2"
)

const (
	// maxAnswer bounds an answer of the issuer, maxKeys the keys in it, minRSA the bits of one of RSA.
	maxAnswer, maxKeys, minRSA = 1 << 20, 100, 2048
)

// keys are an issuer's as it last told them.
type keys struct {
	list []jose.JSONWebKey
	at   time.Time
}

// find is the keys that can have signed with an algorithm what names a key. Where there are several it has to.
func (k *keys) find(id, algorithm string) (fit []jose.JSONWebKey) {
	for _, one := range k.list {
		if (one.KeyID == id || id == "" && len(k.list) == 1) && (one.Algorithm == "" || one.Algorithm == algorithm) {
			fit = append(fit, one)
		}
	}
	return fit
}

// VerifySignature implements oidc.KeySet: it gives what a token says when one of the issuer's keys has signed it.
func (i *Issuer) VerifySignature(ctx context.Context, text string) ([]byte, error) {
	var algs []jose.SignatureAlgorithm
	for _, name := range algorithms() {
		algs = append(algs, jose.SignatureAlgorithm(name))
	}
	signed, err := jose.ParseSignedCompact(text, algs)
	if err != nil {
		return nil, err
	}
	fit, err := i.candidates(ctx, signed.Signatures[0].Header.KeyID, signed.Signatures[0].Header.Algorithm)
	if err != nil {
		return nil, err
	}
	for n := range fit {
		if payload, err := signed.Verify(fit[n].Key); err == nil {
			return payload, nil
		}
	}
	return nil, errors.New("no key of the issuer has signed it")
}

// candidates are the keys that can have signed something. Where there is none the issuer is asked, if it was not
// just now.
func (i *Issuer) candidates(ctx context.Context, id, algorithm string) ([]jose.JSONWebKey, error) {
	for again := false; ; again = true {
		if known := i.known(); known != nil {
			if fit := known.find(id, algorithm); len(fit) > 0 {
				return fit, nil
			}
		}
		if again {
			return nil, errors.New("the issuer has no such key")
		}
		i.ask(ctx)
	}
}

// known is the issuer's keys, nil where there are none that are young enough.
func (i *Issuer) known() *keys {
	k := i.keys.Load()
	if k == nil || i.cfg.Now().Sub(k.at) > maxAge {
		return nil
	}
	return k
}

// ask has Run ask the issuer, if it has not just now, and waits for what comes of it. Whatever was not known before is
// to be looked for again afterwards, also where nothing was asked: it may have come in between.
func (i *Issuer) ask(ctx context.Context) {
	i.mu.Lock()
	round, asking := i.round, i.asking
	i.mu.Unlock()
	if !asking && !i.due() {
		return
	}
	select {
	case i.poke <- struct{}{}:
	default: // somebody else has
	}
	wait := time.NewTimer(askWithin)
	defer wait.Stop()
	select {
	case <-round:
	case <-wait.C:
	case <-ctx.Done():
	}
}

// due says whether the issuer may be asked.
func (i *Issuer) due() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.cfg.Now().Sub(i.asked) >= askEvery
}

// Run asks the issuer for its keys: at once, now and then, soon again where that has failed, and when somebody shows
// a key that is not known; never more often than there is a reason to, whatever is shown. It ends with ctx.
func (i *Issuer) Run(ctx context.Context) {
	defer i.client.CloseIdleConnections()
	for {
		i.mu.Lock()
		i.asked, i.asking = i.cfg.Now(), true
		i.mu.Unlock()
		err := i.fetch(ctx)
		if ctx.Err() != nil {
			return
		}
		i.tell(err)
		i.mu.Lock()
		close(i.round)
		i.round, i.asking = make(chan struct{}), false
		i.mu.Unlock()
		next := refresh
		if err != nil {
			next = askEvery
		}
		if !i.wait(ctx, next) {
			return
		}
	}
}

// wait returns when it is time to ask again, or false when ctx is done.
func (i *Issuer) wait(ctx context.Context, next time.Duration) bool {
	timer := time.NewTimer(next)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return true
		case <-i.poke:
			if i.due() {
				return true
			}
		}
	}
}

// tell notes how it stands, and logs what is new.
func (i *Issuer) tell(err error) {
	if err == nil {
		if i.trouble.Swap(nil) != nil {
			i.cfg.Log.Info("the issuer of tokens answers again", slog.String("issuer", i.cfg.URL))
		}
		return
	}
	why := err.Error()
	if i.trouble.Swap(&why) == nil {
		i.cfg.Log.Warn("the issuer of tokens does not give its keys: those known are taken for a day",
			slog.String("issuer", i.cfg.URL), slog.Any("err", err))
	}
}

// fetch asks for the issuer's keys, and takes them.
func (i *Issuer) fetch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	client := *i.client
	client.Transport = &bounded{client.Transport}
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, &client), i.cfg.URL)
	if err != nil {
		return err
	}
	var says struct {
		Keys    string   `json:"jwks_uri"`
		Methods []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := provider.Claims(&says); err != nil {
		return err
	}
	if err := secure(says.Keys); err != nil {
		return fmt.Errorf("its keys are at %q: %w", says.Keys, err)
	}
	if i.signOn != nil {
		if err := i.setEnds(provider.Endpoint(), says.Methods); err != nil {
			return err
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, says.Keys, nil)
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(res.Body)
	if err = errors.Join(err, res.Body.Close()); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("its keys: %s", res.Status)
	}
	list, err := parseKeys(text)
	if err == nil {
		i.keys.Store(&keys{list, i.cfg.Now()})
	}
	return err
}

// setEnds takes where browsers log in and codes are taken. How the client shows its secret follows from what the issuer
// says: trying it would show a code twice.
func (i *Issuer) setEnds(ends oauth2.Endpoint, methods []string) error {
	for _, at := range []string{ends.AuthURL, ends.TokenURL} {
		if err := secure(at); err != nil {
			return fmt.Errorf("browsers log in at %q: %w", at, err)
		}
	}
	ends.AuthStyle = oauth2.AuthStyleInHeader
	if len(methods) > 0 && !slices.Contains(methods, "client_secret_basic") {
		ends.AuthStyle = oauth2.AuthStyleInParams
	}
	i.ends.Store(&ends)
	return nil
}

// parseKeys reads a set of keys, and leaves out what cannot check a signature well: secrets, keys that are too
// short, those that are for something else, and what is of no known form.
func parseKeys(text []byte) (list []jose.JSONWebKey, err error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("its keys: %w", err)
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("it has %d keys, and can have %d at most", len(set.Keys), maxKeys)
	}
	for _, raw := range set.Keys {
		var key jose.JSONWebKey
		if json.Unmarshal(raw, &key) != nil || !key.Valid() || !key.IsPublic() || key.Use != "" && key.Use != "sig" {
			continue
		}
		if modulus, ok := key.Key.(*rsa.PublicKey); ok && modulus.N.BitLen() < minRSA {
			continue
		}
		list = append(list, key)
	}
	if len(list) == 0 {
		return nil, errors.New("it has no key that a signature could be checked with")
	}
	return list, nil
}

// bounded cuts answers that are too long.
type bounded struct{ under http.RoundTripper }

func (b *bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := b.under.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	res.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(res.Body, maxAnswer), res.Body}
	return res, nil
}
