package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/certificate/certtest"
	"github.com/graphd/graphd/internal/testbed/stall"
)

// TestClientCertificates: a certificate is a principal as a token is, by requests and sockets; who has none, or one
// that nothing is given to, does nothing; and one whose authority is trusted no more is good nowhere after five
// seconds.
func TestClientCertificates(t *testing.T) {
	t.Parallel()
	a, dir := certtest.New(t), t.TempDir()
	cert, key := a.Named(t, "daemon", "").Write(t, dir)
	ca := filepath.Join(dir, "ca.crt")
	certtest.Put(t, ca, a.PEM())
	const id = "spiffe://acme.example/"
	for auth, required := range map[string]bool{graphd.AuthRequired: true, graphd.AuthOptional: false} {
		d := startDaemon(t, graphd.Config{Store: "memory:", TLSCert: cert, TLSKey: key, TLSClientCA: ca,
			TLSClientAuth: auth, TLSClients: []string{id + "ops=author@default", id + "feed=pusher@default"}})
		secure := "https" + strings.TrimPrefix(d.base, "http")
		_, err := caller(t, secure, a, nil).Graphs(t.Context())
		if required && (err == nil || !strings.Contains(err.Error(), "--client-cert")) ||
			!required && !isCode(err, api.CodeUnauthenticated) {
			t.Errorf("%s: without a certificate: %v", auth, err)
		}
		for who, code := range map[string]string{"ops": "", "feed": api.CodeForbidden,
			"else": api.CodeUnauthenticated} {
			c := caller(t, secure, a, a.Named(t, "x", id+who))
			_, err := c.Apply(t.Context(), "quotes", []byte(quotes), 0, true)
			if code == "" && err != nil || code != "" && !isCode(err, code) {
				t.Errorf("%s: %s is answered with %v, want %q", auth, who, err, code)
			}
		}
	}
}

func isCode(err error, code string) bool {
	p, ok := errors.AsType[*api.Problem](err)
	return ok && p.Code == code
}

// TestAuthorityIsGone: see TestClientCertificates.
func TestAuthorityIsGone(t *testing.T) {
	t.Parallel()
	a, dir := certtest.New(t), t.TempDir()
	cert, key := a.Named(t, "daemon", "").Write(t, dir)
	ca := filepath.Join(dir, "ca.crt")
	certtest.Put(t, ca, a.PEM())
	const id = "spiffe://acme.example/ops"
	d := startDaemon(t, graphd.Config{Store: "memory:", TLSCert: cert, TLSKey: key, TLSClientCA: ca,
		TLSClients: []string{id + "=operator@default"}})
	c := caller(t, "https"+strings.TrimPrefix(d.base, "http"), a, a.Named(t, "x", id))
	if _, err := c.Graphs(t.Context()); err != nil {
		t.Fatal(err)
	}
	w, err := c.Watch(t.Context(), "", []string{"health"}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	control := stall.Begin()
	if err := os.WriteFile(ca+"-new", certtest.New(t).PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(ca+"-new", ca); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if f, err := w.Next(ctx); err == nil {
		t.Errorf("the socket goes on: %+v", f)
	}
	control.End().Within(t, "the socket ends", 5*time.Second)
	if _, err := c.Graphs(t.Context()); !isCode(err, api.CodeUnauthenticated) {
		t.Errorf("the connection that is there is answered with %v", err)
	}
}
