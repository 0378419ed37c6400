package daemon

import (
	"bytes"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/certificate/certtest"
)

// caller is a client that trusts an authority and shows a certificate, nil for none.
func caller(t *testing.T, base string, a *certtest.Authority, shows *certtest.Issued) *client.Client {
	t.Helper()
	dir := t.TempDir()
	ca, cert, key := filepath.Join(dir, "ca.crt"), "", ""
	certtest.Put(t, ca, a.PEM())
	if shows != nil {
		cert, key = shows.Write(t, dir)
	}
	conf, err := client.TLS(ca, cert, key)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Config{BaseURL: base, TLS: conf})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestTLS: a daemon with a certificate is spoken to by TLS alone, requests and sockets, and tells when that ends.
func TestTLS(t *testing.T) {
	t.Parallel()
	a := certtest.New(t)
	now := time.Now()
	issued := a.Issue(t, &x509.Certificate{NotBefore: now.Add(-10 * time.Hour), NotAfter: now.Add(time.Hour)})
	cert, key := issued.Write(t, t.TempDir())
	d := startDaemon(t, graphd.Config{Store: "memory:", TLSCert: cert, TLSKey: key})
	secure := "https" + strings.TrimPrefix(d.base, "http")
	c := caller(t, secure, a, nil)
	st, err := c.Ready(t.Context())
	if err != nil || len(st.Warnings) != 1 || st.Warnings[0].Code != api.WarnCertificateEnds {
		t.Errorf("health is %+v, %v", st, err)
	}
	metrics, err := c.Metrics(t.Context())
	if err != nil || !bytes.Contains(metrics, []byte("\ngraphd_certificate_expiry_timestamp_seconds ")) {
		t.Errorf("the metrics tell no end: %v", err)
	}
	w, err := c.Watch(t.Context(), "", []string{"health"}, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	for base, advice := range map[string]string{d.base: "write https://", secure: "with --ca"} {
		plain, err := client.New(client.Config{BaseURL: base})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := plain.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), advice) {
			t.Errorf("%s is answered with %v, want advice: %s", base, err, advice)
		}
	}
}

// TestTLSFiles: what cannot be used is told before anything listens.
func TestTLSFiles(t *testing.T) {
	t.Parallel()
	cert, key := certtest.New(t).Named(t, "x", "").Write(t, t.TempDir())
	none := filepath.Join(t.TempDir(), "none")
	if err := os.WriteFile(none, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]graphd.Config{
		"no key": {TLSCert: cert}, "no certificate": {TLSKey: key}, "an empty key": {TLSCert: cert, TLSKey: none},
		"an old version": {TLSCert: cert, TLSKey: key, TLSMin: "1.1"},
	} {
		c.Store, c.Listen = "memory:", "127.0.0.1:0"
		if _, err := graphd.New(t.Context(), c); !errors.Is(err, graphd.ErrConfig) {
			t.Errorf("%s: got %v", what, err)
		}
	}
}
