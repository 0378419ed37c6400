package daemon

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/internal/issuer/issuertest"
	"github.com/graphd/graphd/internal/testbed"
)

// words is what a daemon logs.
type words struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (w *words) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.Write(p)
}

func (w *words) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

// visitor is a browser as far as the login needs one: cookies of SameSite=Strict go along where it says so.
type visitor struct {
	t       *testing.T
	cookies map[string]string
}

func (v *visitor) ask(method, at string, strict bool, headers ...string) (res *http.Response, body string) {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), method, at, http.NoBody)
	if err != nil {
		v.t.Fatal(err)
	}
	for name, value := range v.cookies {
		if strict || name == "__Host-graphd-login" {
			req.AddCookie(&http.Cookie{Name: name, Value: value})
		}
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if res, err = client.Do(req); err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	for _, c := range res.Cookies() {
		v.cookies[c.Name] = c.Value
	}
	return res, string(data)
}

// begin begins a login at a daemon, and gives the address that the issuer leads back to, at another one.
func (v *visitor) begin(d, other *daemon) string {
	v.t.Helper()
	res, body := v.ask("POST", d.base+"/v1/login/oidc", true, "Sec-Fetch-Site", "same-origin")
	_, at, _ := strings.Cut(body, `"url":"`)
	at, _, _ = strings.Cut(at, `"`)
	at = strings.ReplaceAll(at, `\u0026`, "&")
	if res.StatusCode != http.StatusCreated {
		v.t.Fatalf("got %d %s", res.StatusCode, body)
	}
	if res, body = v.ask("GET", at, false); res.StatusCode != http.StatusFound {
		v.t.Fatalf("the issuer says %d %s", res.StatusCode, body)
	}
	to, err := url.Parse(res.Header.Get("Location"))
	if err != nil {
		v.t.Fatal(err)
	}
	return other.base + to.RequestURI()
}

// TestLoginAtTheIssuer: a browser logs in at the issuer, begins at one daemon and comes back to another; nobody gets in
// with a login that is not his, or twice, and the page leads nowhere else (A10).
func TestLoginAtTheIssuer(t *testing.T) {
	t.Parallel()
	at, said := issuertest.Start(t), &words{}
	at.Says(map[string]any{"groups": []string{"desk"}})
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(issuertest.Secret), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := graphd.Config{Store: testbed.Postgres(t), OIDCIssuer: at.URL, OIDCAudience: issuertest.Audience,
		OIDCGrants: []string{"groups=desk=viewer@default"}, OIDCClient: issuertest.Client, OIDCClientSecret: secret,
		OIDCRedirect: "http://localhost", Log: slog.New(slog.NewTextHandler(said, nil))}
	a, b := startDaemon(t, cfg), startDaemon(t, cfg)
	link := []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}
	ada := &visitor{t, map[string]string{}}
	to := ada.begin(a, b)
	evil := &visitor{t, map[string]string{}} // who is led there by a page, and has begun nothing
	if res, body := evil.ask("GET", to, false, link...); res.StatusCode != http.StatusUnauthorized ||
		evil.cookies["__Host-graphd"] != "" || strings.Contains(body, "http-equiv") {
		t.Errorf("a browser that has begun nothing: %d %s", res.StatusCode, body)
	}
	begun := ada.cookies["__Host-graphd-login"]
	for _, more := range []string{"&next=https://evil.example", "&redirect_uri=//evil.example"} {
		res, body := ada.ask("GET", to+more, false, link...)
		if strings.Contains(body, "evil") || res.Header.Get("Location") != "" {
			t.Errorf("the page leads elsewhere: %s", body)
		}
	}
	if strings.Contains(ada.cookies["__Host-graphd"], " ") || !strings.HasPrefix(ada.cookies["__Host-graphd"], "gds_") {
		t.Errorf("the browser is not logged in: %v\n%s", ada.cookies, said)
	}
	if ada.cookies["__Host-graphd-login"] != "" {
		t.Error("the browser keeps the login")
	}
	for _, d := range []*daemon{a, b} {
		var res *http.Response
		var body string
		d.until("who asks is known", func() bool { // a busy store tells it too late, and the daemon says so
			res, body = ada.ask("GET", d.base+"/v1/graphs", true, "Sec-Fetch-Site", "same-origin")
			return res.StatusCode != http.StatusServiceUnavailable
		})
		if res.StatusCode != http.StatusOK {
			t.Errorf("got %d %s", res.StatusCode, body)
		}
	}
	if res, _ := ada.ask("POST", a.base+"/v1/graphs/x/pause", true, "Sec-Fetch-Site", "same-origin"); res.StatusCode !=
		http.StatusForbidden {
		t.Errorf("a viewer pauses: %d", res.StatusCode)
	}
	again := &visitor{t, map[string]string{"__Host-graphd-login": begun}}
	if res, _ := again.ask("GET", to, false, link...); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("a login that has come to its end: %d", res.StatusCode)
	}
	if res, _ := ada.ask("POST", a.base+"/v1/login/oidc", true, "Sec-Fetch-Site", "cross-site"); res.StatusCode !=
		http.StatusForbidden {
		t.Errorf("a foreign page begins a login: %d", res.StatusCode)
	}
	at.Says(nil)
	bob := &visitor{t, map[string]string{}}
	if res, body := bob.ask("GET", bob.begin(b, a), false, link...); res.StatusCode != http.StatusForbidden ||
		bob.cookies["__Host-graphd"] != "" {
		t.Errorf("who is given nothing: %d %s", res.StatusCode, body)
	}
	if _, body := ada.ask("GET", a.base+"/login", true); !strings.Contains(body, `<div id="issuer">`) {
		t.Error("the page does not offer it")
	}
	for _, want := range []string{"in vain", "a login at the issuer has failed"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("the log does not say %q: %s", want, said)
		}
	}
	code := to[strings.Index(to, "code="):][:20]
	for _, secret := range []string{issuertest.Secret, begun, ada.cookies["__Host-graphd"], code} {
		if strings.Contains(said.String(), secret) {
			t.Errorf("the log has %q", secret)
		}
	}
}
