package certificate

import (
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"net/url"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/access"
)

// maxSeen bounds what is remembered of clients' certificates.
const maxSeen = 10_000

// seen are certificates that were found to be of the authorities, by the hash of the certificate, and until when
// their chains are good. The zero value has seen none.
type seen struct {
	mu    sync.Mutex
	until map[[sha256.Size]byte]time.Time
}

// Whose is whom a client's certificate stands for: its SPIFFE id, if it has one, else its subject, as the
// configuration lists them. ok is false for who is given nothing, and where the authorities of today know it not.
func (k *Keeper) Whose(chain []*x509.Certificate) (who access.Identity, ok bool) {
	name, ok := nameOf(chain[0])
	if !ok || !k.good(chain, k.cfg.Now()) {
		return who, false
	}
	for _, g := range k.cfg.Clients {
		if g.Name == name {
			who.Grants = append(who.Grants, g)
		}
	}
	who.Subject = name
	for _, c := range chain {
		who.Proof.Chain = append(who.Proof.Chain, c.Raw)
	}
	who.Holds = func(now time.Time) bool { return k.good(chain, now) }
	return who, len(who.Grants) > 0
}

// good says whether the authorities that the files name now vouch for a chain. They may be others than when its
// connection began.
func (k *Keeper) good(chain []*x509.Certificate, now time.Time) bool {
	k.look()
	h := k.held.Load()
	id := sha256.Sum256(chain[0].Raw)
	h.seen.mu.Lock()
	defer h.seen.mu.Unlock()
	if until, ok := h.seen.until[id]; ok && now.Before(until) {
		return true
	}
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	chains, err := chain[0].Verify(x509.VerifyOptions{
		Roots: h.pool, Intermediates: between, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return false
	}
	until := chain[0].NotAfter
	for _, c := range chains[0] {
		if c.NotAfter.Before(until) {
			until = c.NotAfter
		}
	}
	if h.seen.until == nil || len(h.seen.until) >= maxSeen {
		h.seen.until = map[[sha256.Size]byte]time.Time{} // those in use are looked at again
	}
	h.seen.until[id] = until
	return true
}

// nameOf is what the configuration calls a certificate. One with more than one SPIFFE id, or with another URI
// beside it, has none that could be relied on.
func nameOf(c *x509.Certificate) (string, bool) {
	for _, id := range c.URIs {
		if id.Scheme == "spiffe" {
			return id.String(), len(c.URIs) == 1 && validID(id)
		}
	}
	// The subject as it was signed: what crypto/x509 makes of it keeps the last of two common names alone.
	var subject pkix.RDNSequence
	if rest, err := asn1.Unmarshal(c.RawSubject, &subject); err != nil || len(rest) > 0 || len(subject) == 0 {
		return "", false
	}
	return subject.String(), true
}

// validID says whether a URI is an id of SPIFFE, which has a host and a path and nothing else.
func validID(id *url.URL) bool {
	return id.Host != "" && id.Port() == "" && id.Path != "" && id.User == nil && id.RawQuery == "" && id.Fragment == ""
}
