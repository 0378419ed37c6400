package certificate

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/certificate/certtest"
)

// clock is a time that a test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (c *clock) keeper(t *testing.T, cert, key string, log *bytes.Buffer) *Keeper {
	t.Helper()
	k, err := New(Config{Cert: cert, Key: key, Log: slog.New(slog.NewTextHandler(log, nil)), Now: c.Now})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// shown is the certificate that a new connection is shown.
func shown(t *testing.T, k *Keeper, a *certtest.Authority, change func(*tls.Config)) (*x509.Certificate, error) {
	t.Helper()
	there, here := net.Pipe()
	server := tls.Server(there, k.TLS())
	done := make(chan error, 1)
	go func() { done <- server.Handshake() }()
	c := &tls.Config{RootCAs: a.Pool(), ServerName: "localhost"}
	if change != nil {
		change(c)
	}
	client := tls.Client(here, c)
	err := client.Handshake()
	if err != nil {
		_ = here.Close()
	}
	if serverErr := <-done; err == nil {
		err = serverErr
	}
	_, _ = here.Close(), there.Close()
	if err != nil {
		return nil, err
	}
	return client.ConnectionState().PeerCertificates[0], nil
}

// TestReload: a certificate that was put into the place of another is shown from the next second on; one that cannot
// be used leaves the one before, and is told of once.
func TestReload(t *testing.T) {
	t.Parallel()
	a, c, dir, log := certtest.New(t), &clock{now: time.Now()}, t.TempDir(), &bytes.Buffer{}
	first, second := a.Named(t, "first", ""), a.Named(t, "second", "")
	cert, key := first.Write(t, dir)
	k := c.keeper(t, cert, key, log)
	is := func(what string, want *certtest.Issued, trouble bool) {
		t.Helper()
		c.pass(lookEvery)
		got, err := shown(t, k, a, nil)
		if err != nil || !got.Equal(want.Cert) {
			t.Errorf("%s: got %v, %v", what, got, err)
		}
		if st := k.State(); st.Trouble != "" != trouble || !st.Ends.Equal(want.Cert.NotAfter) {
			t.Errorf("%s: %+v", what, st)
		}
	}
	is("at first", first, false)
	secondCert, secondKey := second.PEM(t)
	certtest.Put(t, cert, secondCert)
	is("a certificate with the key of another", first, true)
	is("still", first, true)
	if n := strings.Count(log.String(), "cannot be used"); n != 1 {
		t.Errorf("it was told %d times:\n%s", n, log)
	}
	certtest.Put(t, key, secondKey)
	is("with its own key", second, false)
	for what, text := range map[string][]byte{"no PEM": []byte("hello"), "nothing": nil,
		"too much": make([]byte, maxFile+1)} {
		certtest.Put(t, cert, text)
		is(what, second, true)
	}
	if err := os.Remove(cert); err != nil {
		t.Fatal(err)
	}
	is("no file", second, true)
	certtest.Put(t, cert, secondCert)
	is("the same again", second, false)
	for what, like := range map[string]*x509.Certificate{
		"ended":         {NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(-time.Hour)},
		"not yet begun": {NotBefore: time.Now().Add(24 * time.Hour), NotAfter: time.Now().AddDate(0, 1, 0)},
	} {
		a.Issue(t, like).Write(t, dir)
		is(what, second, true)
	}
	c.pass(25 * time.Hour)
	k.State()
	if st := k.State(); st.Failures == 0 {
		t.Errorf("nothing was counted: %+v", st)
	}
}

// TestKubernetes: a secret is swapped there by a link to a folder, while the paths stay.
func TestKubernetes(t *testing.T) {
	t.Parallel()
	a, c, dir := certtest.New(t), &clock{now: time.Now()}, t.TempDir()
	one, two := a.Named(t, "one", ""), a.Named(t, "two", "")
	for name, issued := range map[string]*certtest.Issued{"..1": one, "..2": two} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		issued.Write(t, filepath.Join(dir, name))
	}
	link := func(to, name string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	link("..1", "..data")
	link("..data/tls.crt", "tls.crt")
	link("..data/tls.key", "tls.key")
	k := c.keeper(t, filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), &bytes.Buffer{})
	link("..2", "..data_tmp")
	if err := os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
	if got, err := shown(t, k, a, nil); err != nil || !got.Equal(one.Cert) {
		t.Errorf("the files were read twice in a second: %v, %v", got, err)
	}
	c.pass(lookEvery)
	if got, err := shown(t, k, a, nil); err != nil || !got.Equal(two.Cert) {
		t.Errorf("the swap was not seen: %v, %v", got, err)
	}
}

// TestEndIsNear: two weeks before the end, or in the last tenth of a short life, the end is told, once.
func TestEndIsNear(t *testing.T) {
	t.Parallel()
	a, now := certtest.New(t), time.Now().Truncate(time.Second)
	for _, tt := range []struct{ life, before time.Duration }{
		{365 * 24 * time.Hour, 14 * 24 * time.Hour}, {10 * time.Hour, time.Hour},
	} {
		c, dir, log := &clock{now: now}, t.TempDir(), &bytes.Buffer{}
		cert, key := a.Issue(t, &x509.Certificate{NotBefore: now, NotAfter: now.Add(tt.life)}).Write(t, dir)
		k := c.keeper(t, cert, key, log)
		c.pass(tt.life - tt.before - time.Second)
		if k.State().Near {
			t.Errorf("%v: it is told too soon", tt.life)
		}
		c.pass(time.Second)
		for range 3 {
			if !k.State().Near || strings.Count(log.String(), "ends soon") != 1 {
				t.Errorf("%v: it is not told once: %+v\n%s", tt.life, k.State(), log)
			}
			c.pass(lookEvery)
		}
	}
}

// TestVersions: nothing older than TLS 1.3 is spoken, unless 1.2 was asked for.
func TestVersions(t *testing.T) {
	t.Parallel()
	a := certtest.New(t)
	cert, key := a.Named(t, "x", "").Write(t, t.TempDir())
	for least, works := range map[uint16]bool{0: false, tls.VersionTLS12: true} {
		k, err := New(Config{Cert: cert, Key: key, Min: least, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		for most, works := range map[uint16]bool{tls.VersionTLS11: false, tls.VersionTLS12: works,
			tls.VersionTLS13: true} {
			_, err := shown(t, k, a, func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, most })
			if (err == nil) != works {
				t.Errorf("at least %x: %x: %v", least, most, err)
			}
		}
	}
}

// TestNotNow: a certificate that has ended or has not begun is refused at the start.
func TestNotNow(t *testing.T) {
	t.Parallel()
	a := certtest.New(t)
	cert, key := a.Named(t, "x", "").Write(t, t.TempDir())
	const long = 30 * 365 * 24 * time.Hour
	for name, by := range map[string]time.Duration{"ended": long, "not begun": -long} {
		c := Config{Cert: cert, Key: key, Log: slog.New(slog.DiscardHandler),
			Now: func() time.Time { return time.Now().Add(by) }}
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), "and not now") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	a, dir := certtest.New(t), t.TempDir()
	cert, key := a.Named(t, "x", "").Write(t, dir)
	empty := filepath.Join(dir, "empty")
	certtest.Put(t, empty, nil)
	for what, c := range map[string]Config{
		"no file": {Cert: filepath.Join(dir, "none"), Key: key}, "no key": {Cert: cert, Key: empty},
		"a folder": {Cert: dir, Key: key}, "no authority": {Cert: cert, Key: key, ClientCA: empty},
	} {
		c.Log = slog.New(slog.DiscardHandler)
		if _, err := New(c); err == nil {
			t.Errorf("%s is taken", what)
		}
	}
}
