package certificate

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"log/slog"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/certificate/certtest"
)

// TestWhose: a certificate stands for what its whole name is given, and for nothing where that is not listed.
func TestWhose(t *testing.T) {
	t.Parallel()
	a, stranger, dir := certtest.New(t), certtest.New(t), t.TempDir()
	cert, key := a.Named(t, "daemon", "").Write(t, dir)
	ca := filepath.Join(dir, "ca.crt")
	certtest.Put(t, ca, append(certtest.New(t).PEM(), a.PEM()...))
	const feed = "spiffe://acme.example/ns/prod/sa/feed"
	clients, err := access.ParseGrants([]string{feed + "=pusher@acme", "CN=ops,O=Acme=author@acme",
		"CN=ops,O=Acme=viewer@*", "CN=ops=viewer@other"})
	if err != nil {
		t.Fatal(err)
	}
	c, log := &clock{now: time.Now()}, &bytes.Buffer{}
	k, err := New(Config{Cert: cert, Key: key, ClientCA: ca, Clients: clients, Now: c.Now,
		Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	two, _ := url.Parse(feed + "/two")
	one, _ := url.Parse(feed)
	web, _ := url.Parse("https://acme.example")
	for what, tt := range map[string]struct {
		by     *certtest.Authority
		like   x509.Certificate
		grants int
	}{
		"a SPIFFE id":          {a, x509.Certificate{URIs: []*url.URL{one}}, 1},
		"an id beside a name":  {a, x509.Certificate{URIs: []*url.URL{one}, Subject: pkix.Name{CommonName: "x"}}, 1},
		"an id below":          {a, x509.Certificate{URIs: []*url.URL{two}}, 0},
		"two ids":              {a, x509.Certificate{URIs: []*url.URL{one, two}}, 0},
		"an id and a page":     {a, x509.Certificate{URIs: []*url.URL{web, one}}, 0},
		"an id hides the name": {a, x509.Certificate{URIs: []*url.URL{two}, Subject: pkix.Name{CommonName: "ops"}}, 0},
		"a subject": {a, x509.Certificate{Subject: pkix.Name{CommonName: "ops",
			Organization: []string{"Acme"}}}, 2},
		"a subject with more": {a, x509.Certificate{Subject: pkix.Name{CommonName: "ops",
			Organization: []string{"Acme"}, Country: []string{"FR"}}}, 0},
		"a name in a name": {a, x509.Certificate{Subject: pkix.Name{CommonName: "ops,O=Acme"}}, 0},
		"two names": {a, x509.Certificate{Subject: pkix.Name{ExtraNames: []pkix.AttributeTypeAndValue{
			{Type: []int{2, 5, 4, 3}, Value: "evil"}, {Type: []int{2, 5, 4, 3}, Value: "ops"}}}}, 0},
		"no name":                {a, x509.Certificate{}, 0},
		"of another authority":   {stranger, x509.Certificate{URIs: []*url.URL{one}}, 0},
		"for servers alone":      {a, x509.Certificate{URIs: []*url.URL{one}, ExtKeyUsage: []x509.ExtKeyUsage{1}}, 0},
		"one that has ended":     {a, x509.Certificate{URIs: []*url.URL{one}, NotAfter: c.Now().Add(-time.Second)}, 0},
		"one that has not begun": {a, x509.Certificate{URIs: []*url.URL{one}, NotBefore: c.Now().Add(time.Hour)}, 0},
	} {
		who, ok := k.Whose([]*x509.Certificate{tt.by.Issue(t, &tt.like).Cert})
		if ok != (tt.grants > 0) || len(who.Grants) != tt.grants {
			t.Errorf("%s: %+v, %v", what, who, ok)
		}
	}
	// Who has come in stays until the certificate ends, or its authority is not trusted any more.
	short := a.Issue(t, &x509.Certificate{URIs: []*url.URL{one}, NotAfter: c.Now().Add(time.Minute)})
	who, ok := k.Whose([]*x509.Certificate{short.Cert})
	long, also := k.Whose([]*x509.Certificate{a.Named(t, "", feed).Cert})
	later := c.Now().Add(time.Minute)
	if !ok || !also || !who.Holds(c.Now()) || who.Holds(later) || !long.Holds(later) {
		t.Error("a certificate does not hold until its end")
	}
	certtest.Put(t, ca, stranger.PEM())
	c.pass(lookEvery)
	if who.Holds(c.Now()) || long.Holds(c.Now()) {
		t.Error("a certificate holds although its authority is trusted no more")
	}
}
