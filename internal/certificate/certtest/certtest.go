// Package certtest makes certificates for tests: an [Authority], and what it issues, written into files. An
// Authority may be used by any number of goroutines.
package certtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority issues certificates.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// New makes an authority.
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{}
	now := time.Now()
	a.cert, a.key = issue(t, nil, &x509.Certificate{
		Subject:   pkix.Name{CommonName: "test authority"},
		NotBefore: now.Add(-24 * time.Hour), NotAfter: now.AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	return a
}

// Issue makes a certificate like the template, for servers on this machine and for clients, good from an hour ago
// and for a year where the template says nothing.
func (a *Authority) Issue(t testing.TB, like *x509.Certificate) *Issued {
	t.Helper()
	one := *like
	if one.NotAfter.IsZero() {
		one.NotAfter = time.Now().AddDate(0, 6, 0)
	}
	if one.NotBefore.IsZero() {
		one.NotBefore = time.Now().Add(-time.Hour)
	}
	one.DNSNames = append(one.DNSNames, "localhost")
	one.IPAddresses = append(one.IPAddresses, net.IPv4(127, 0, 0, 1), net.IPv6loopback)
	if one.ExtKeyUsage == nil {
		one.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	}
	one.KeyUsage = x509.KeyUsageDigitalSignature
	cert, key := issue(t, a, &one)
	return &Issued{cert, key}
}

// Named is Issue for a client of a name, and with an id of SPIFFE unless that is "".
func (a *Authority) Named(t testing.TB, name, spiffe string) *Issued {
	t.Helper()
	like := &x509.Certificate{Subject: pkix.Name{CommonName: name}}
	if spiffe != "" {
		id, err := url.Parse(spiffe)
		if err != nil {
			t.Fatal(err)
		}
		like.URIs = []*url.URL{id}
	}
	return a.Issue(t, like)
}

// PEM is the authority's own certificate.
func (a *Authority) PEM() []byte { return certPEM(a.cert) }

// Pool trusts the authority alone.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// Client is the configuration of a client that trusts the authority alone.
func (a *Authority) Client() *tls.Config {
	return &tls.Config{RootCAs: a.Pool(), MinVersion: tls.VersionTLS13}
}

// Issued is a certificate with its key.
type Issued struct {
	Cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Pair is what a client shows.
func (i *Issued) Pair() tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{i.Cert.Raw}, PrivateKey: i.key, Leaf: i.Cert}
}

// PEM is the certificate and its key.
func (i *Issued) PEM(t testing.TB) (cert, key []byte) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(i.key)
	if err != nil {
		t.Fatal(err)
	}
	return certPEM(i.Cert), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// Write puts the certificate and the key into tls.crt and tls.key of a folder.
func (i *Issued) Write(t testing.TB, dir string) (cert, key string) {
	t.Helper()
	c, k := i.PEM(t)
	cert, key = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	Put(t, cert, c)
	Put(t, key, k)
	return cert, key
}

// Put writes a file.
func Put(t testing.TB, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func certPEM(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

// issue signs by an authority, nil for a certificate that signs itself.
func issue(t testing.TB, by *Authority, like *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if like.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62)); err != nil {
		t.Fatal(err)
	}
	parent, signer := like, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, like, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}
