package browser

import (
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/internal/certificate/certtest"
	"github.com/graphd/graphd/internal/issuer/issuertest"
)

// free is a port that nobody listens on, and that the kernel gives to nobody by itself.
func free(t *testing.T) string {
	t.Helper()
	for range 100 {
		port := strconv.Itoa(20_000 + rand.IntN(10_000))
		if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return ""
}

// TestLoginAtTheIssuer: in a real browser the issuer, which is another site, leads back to a page that is logged in:
// the session's cookie of SameSite=Strict goes along (A10).
func TestLoginAtTheIssuer(t *testing.T) {
	at := issuertest.Start(t)
	at.Says(map[string]any{"groups": []string{"desk"}})
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte(issuertest.Secret), 0o600); err != nil {
		t.Fatal(err)
	}
	cert, key := certtest.New(t).Named(t, "daemon", "").Write(t, dir)
	listen := "127.0.0.1:" + free(t)
	_, port, _ := strings.Cut(listen, ":")
	target := "https://graphd.example:" + port
	_, said := run(t, graphd.Config{Listen: listen, TLSCert: cert, TLSKey: key, Hosts: []string{"graphd.example"},
		OIDCIssuer: at.URL, OIDCAudience: issuertest.Audience, OIDCGrants: []string{"groups=desk=viewer@default"},
		OIDCClient: issuertest.Client, OIDCClientSecret: secret, OIDCRedirect: target})
	p := start(t).open(target + "/login")
	p.try(`document.getElementById("go").click()`)
	const inside = `new Promise(done => { let n = 0; const look = async () => {
		const title = document.querySelector("#root h1")
		if (location.pathname === "/" && title)
			done([title.textContent, (await fetch("/v1/graphs")).status, document.cookie].join("|"))
		else if (n++ < 100) setTimeout(look, 20)
		else done("") }; look() })`
	got := ""
	for got == "" && p.b.ctx.Err() == nil { // a page that is being left takes its answer with it
		got = p.try(inside)
	}
	if !strings.HasSuffix(got, "|200|") {
		t.Errorf("the browser is not logged in: %s\n%s", got, said.requests(""))
	}
}
