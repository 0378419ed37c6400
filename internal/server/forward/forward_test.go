package forward

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/graphrun/parts"
)

// daemon is what a member is asked for.
type daemon struct {
	owner  *checkpoint.Member
	ask    func(ctx context.Context, call *parts.Call) *parts.Answer
	frames parts.Frames
}

func (d *daemon) Elsewhere(api.Ref) (checkpoint.Member, bool) {
	if d.owner == nil {
		return checkpoint.Member{}, false
	}
	return *d.owner, true
}

func (d *daemon) AskPart(ctx context.Context, call *parts.Call) *parts.Answer {
	return d.ask(ctx, call)
}

func (d *daemon) WatchPart(ctx context.Context, call *parts.Call) (*parts.Answer, parts.Frames) {
	return d.ask(ctx, call), d.frames
}

// member is a member that listens, and takes requests with handler.
func member(t *testing.T, id, secret string, handler http.Handler) (*Members, *checkpoint.Member) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	m, at, err := Listen(t.Context(), "127.0.0.1:0", path, "", log)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Join(id, &daemon{}); err != nil {
		t.Fatal(err)
	}
	s := m.Server(handler, log, time.Minute, time.Minute)
	ended := make(chan error, 1)
	go func() { ended <- s.ServeTLS(m.Listener(), "", "") }() // joined below
	t.Cleanup(func() {
		m.CloseIdle()
		_ = s.Close() // what is wrong with it is what Serve returns
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return m, &checkpoint.Member{ID: id, Name: "name of " + id, Peer: at}
}

var (
	secret = strings.Repeat("a secret", 4)
	who    = &access.Principal{Tenant: "acme", Subject: "ann", Role: access.Operator, Token: "tok1",
		Scope: access.Scope{Graphs: []string{"fx_*"}}}
)

func (m *Members) ask(t *testing.T, o *checkpoint.Member, r *http.Request) (*httptest.ResponseRecorder, error) {
	t.Helper()
	m.daemon.(*daemon).owner = o
	w := httptest.NewRecorder()
	g := api.Ref{Tenant: "acme", Name: "fx_eur"}
	forwarded, err := m.Forward(w, r.WithContext(t.Context()), g, who, "10.9.8.7")
	if !forwarded {
		t.Error("not forwarded")
	}
	return w, err
}

func code(err error) string {
	if refused, ok := errors.AsType[*api.Error](err); ok {
		return refused.Code
	}
	return ""
}

// M53: a request arrives as it was sent, over HTTP/2, as whom the first member has let in, and without what was for
// that one alone; what a client says of whom it acts as counts for nothing.
func TestM53RequestAsItWasSent(t *testing.T) {
	t.Parallel()
	_, o := member(t, "b", secret, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, err := Taken(r)
		if err != nil {
			t.Error(err)
			return
		}
		p, taken := Caller(got.Context())
		body, _ := io.ReadAll(r.Body)
		if !taken || p.Tenant != "acme" || p.Subject != "ann" || p.Role != access.Operator || p.Token != "tok1" ||
			!p.Sees("fx_eur") || p.Sees("other") || got.RemoteAddr != "[10.9.8.7]:0" {
			t.Errorf("%+v from %s", p, got.RemoteAddr)
		}
		if r.ProtoMajor != 2 || r.Method != http.MethodPost || r.URL.String() != "/v1/graphs/fx_eur/fire?a=b%2Fc;d" ||
			string(body) != "the body" || r.Header.Get("Idempotency-Key") != "k" ||
			r.Header.Get("Authorization") != "" || r.Header.Get("Cookie") != "" || got.Header.Get(header) != "" {
			t.Errorf("%s %s %s %q %v", r.Proto, r.Method, r.URL, body, r.Header)
		}
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write([]byte("full"))
	}))
	a, _ := member(t, "a", secret, http.NotFoundHandler())
	r := httptest.NewRequest(http.MethodPost, "/v1/graphs/fx_eur/fire?a=b%2Fc;d", strings.NewReader("the body"))
	r.Header = http.Header{"Authorization": {"Bearer x"}, "Cookie": {"x=y"}, "Idempotency-Key": {"k"},
		header: {"forged"}}
	w, err := a.ask(t, o, r)
	if err != nil || w.Code != http.StatusTooManyRequests || w.Body.String() != "full" ||
		w.Header().Get("Retry-After") != "7" {
		t.Errorf("%v, %d %s %v", err, w.Code, w.Body, w.Header())
	}
	if out, _, open := a.Stats(); out != 1 || open != 0 {
		t.Errorf("%d forwarded, %d open", out, open)
	}
}

// M53: who does not know the secret, and a member that was not meant, are told nothing and asked nothing.
func TestM53WhoAnswersIsWhoWasMeant(t *testing.T) {
	t.Parallel()
	asked := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("asked for %s", r.URL) })
	a, _ := member(t, "a", secret, asked)
	_, other := member(t, "b", strings.Repeat("othersecret", 4), asked)
	_, b := member(t, "b", secret, asked)
	c := *b
	c.ID = "c"
	for _, o := range []*checkpoint.Member{other, &c} {
		_, err := a.ask(t, o, httptest.NewRequest(http.MethodGet, "/x", nil))
		if code(err) != api.CodeOwnerUnreachable || !strings.Contains(err.Error(), "nothing was sent") {
			t.Errorf("%s: %v", o.ID, err)
		}
	}
	plain := &http.Client{Timeout: time.Minute}
	defer plain.CloseIdleConnections()
	if resp, err := plain.Get("http://" + b.Peer + "/v1/graphs"); err == nil {
		if resp.Body.Close(); resp.StatusCode < 400 {
			t.Errorf("answered in the clear: %s", resp.Status)
		}
	}
}

// M53: an owner that hangs is found out, and not waited for; one that takes its time over an answer is.
func TestM53HangingOwner(t *testing.T) {
	t.Parallel()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close() // it takes connections, and says nothing
	a, _ := member(t, "a", secret, http.NotFoundHandler())
	began := time.Now()
	o := &checkpoint.Member{ID: "b", Peer: ln.Addr().String()}
	_, err = a.ask(t, o, httptest.NewRequest(http.MethodGet, "/x", nil))
	if took := time.Since(began); code(err) != api.CodeOwnerUnreachable || took > 30*time.Second {
		t.Errorf("%v after %v", err, took)
	}
}

// M53: as many requests as may be are under way to a member, and no more.
func TestM53RoomAtAMember(t *testing.T) {
	t.Parallel()
	a, _ := member(t, "a", secret, http.NotFoundHandler())
	o := &checkpoint.Member{ID: "b", Peer: "127.0.0.1:1"}
	for range maxStreams {
		a.to(o).room <- struct{}{}
	}
	if _, err := a.ask(t, o, httptest.NewRequest(http.MethodGet, "/x", nil)); code(err) != api.CodeMemberBusy {
		t.Error(err)
	}
}

// The two settings take each other; a secret is long enough to be none that is guessed.
func TestSettings(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(strings.Repeat("x", minSecret-1)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][3]string{{"127.0.0.1:0", ""}, {"", path}, {"127.0.0.1:0", path}, {"127.0.0.1:0", path + "x"}} {
		if m, _, err := Listen(context.Background(), c[0], c[1], "", nil); err == nil || m != nil {
			t.Errorf("%v is taken", c)
		}
	}
	if err := os.WriteFile(path, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Listen(context.Background(), ":0", path, "", nil); err == nil {
		t.Error("an address without a host is taken")
	}
	m, at, err := Listen(context.Background(), ":0", path, "10.0.0.7:8080", nil)
	if err != nil || !strings.HasPrefix(at, "10.0.0.7:") {
		t.Errorf("%s, %v", at, err)
	}
	_ = m.Close() // nothing came
}
