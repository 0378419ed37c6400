package forward

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"os"
	"time"
)

const (
	// minSecret is how long a secret is at least: whoever connects is shown a certificate that follows from it,
	// by which a guess can be tried.
	minSecret = 32
	// maxSecret bounds what is read of the file.
	maxSecret = 4 << 10
	// memberName is what every member's certificate is for; which member it is stands in its subject.
	memberName = "member.graphd"
)

// readSecret reads the file, without the white space around.
func readSecret(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text := make([]byte, maxSecret+1)
	n, err := f.Read(text)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if text = bytes.TrimSpace(text[:n]); len(text) < minSecret || n > maxSecret {
		return nil, fmt.Errorf("%s has %d bytes, and must have %d to %d: head -c 32 /dev/urandom | base64 makes some",
			path, len(text), minSecret, maxSecret)
	}
	return text, nil
}

// identity is a member's end of its connections to others: a key of this process, certified by an authority that
// follows from the secret alone. It is good for as long as the process: what can be changed is the secret.
func identity(secret []byte, self string) (*tls.Config, error) {
	seed, err := hkdf.Key(sha256.New, secret, nil, "graphd members 1", ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("derive the members' authority: %w", err)
	}
	authority := ed25519.NewKeyFromSeed(seed)
	from, to := time.Unix(0, 0), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC) // whatever a clock says
	root := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "graphd members"},
		NotBefore: from, NotAfter: to, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	rootDER, err := x509.CreateCertificate(rand.Reader, root, root, authority.Public(), authority)
	if err != nil {
		return nil, fmt.Errorf("make the members' authority: %w", err)
	}
	if root, err = x509.ParseCertificate(rootDER); err != nil {
		return nil, fmt.Errorf("read the members' authority: %w", err)
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 100))
	if err != nil {
		return nil, fmt.Errorf("make a serial number: %w", err)
	}
	leaf, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: serial,
		Subject: pkix.Name{CommonName: self}, DNSNames: []string{memberName}, NotBefore: from, NotAfter: to,
		KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, root, public, authority)
	if err != nil {
		return nil, fmt.Errorf("certify a key: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(root)
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{leaf}, PrivateKey: private}},
		MinVersion:   tls.VersionTLS13, NextProtos: []string{"h2"}, SessionTicketsDisabled: true,
		RootCAs: pool, ServerName: memberName,
		ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
	}, nil
}

// errOther says that another than the member that was meant has answered.
var errOther = errors.New("another member answers there")

// isMember holds the other end of a connection to be one member.
func isMember(id string) func(tls.ConnectionState) error {
	return func(s tls.ConnectionState) error {
		if len(s.PeerCertificates) == 0 || s.PeerCertificates[0].Subject.CommonName != id {
			return errOther
		}
		return nil
	}
}
