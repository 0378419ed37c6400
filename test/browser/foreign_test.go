package browser

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/certificate/certtest"
)

const quotes = `graph: quotes
accumulators: { book: {} }
nodes: { n: { expr: book } }
outputs: { o: { from: n, sink: { drop: {} } } }
`

// log is what the daemon says, for whoever asks in between.
type log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// requests are the lines of requests that were answered with a status, "" for all.
func (l *log) requests(status string) (list []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.buf.String()) {
		if strings.Contains(line, "msg=request ") && strings.Contains(line, "status="+status) {
			list = append(list, line)
		}
	}
	return list
}

// run runs a daemon until the test ends, and says its port.
func run(t *testing.T, cfg graphd.Config) (port string, said *log) {
	t.Helper()
	said = &log{}
	cfg.Store, cfg.Listen, cfg.Stdout = "memory:", cmp.Or(cfg.Listen, "127.0.0.1:0"), io.Discard
	cfg.Log = slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if cfg.Declarations == nil {
		cfg.Declarations = map[string][]byte{"quotes": []byte(quotes)}
	}
	ctx, cancel := context.WithCancel(context.Background())
	d, err := graphd.New(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	_, port, _ = strings.Cut(d.Addr(), ":")
	return port, said
}

// attack is what the page of a foreign origin tries; it tells what has come of it. An answer that the page may not
// read is "sent": whether the daemon has done anything is looked at there.
const attack = `(async target => {
	const pause = target + "/v1/graphs/quotes/pause", events = target + "/v1/graphs/quotes/accumulators/book/events"
	const tell = async what => { try { return String(await what()) } catch (error) { return "refused" } }
	const read = async (url, more) => (await fetch(url, more)).status
	const results = {
		pause: await tell(async () => (await fetch(pause, { method: "POST", mode: "no-cors" })).type),
		push: await tell(async () => (await fetch(events, { method: "POST", mode: "no-cors", body: "1",
			credentials: "include" })).type),
		read: await tell(() => read(target + "/v1/graphs")),
		readAsOne: await tell(() => read(target + "/v1/graphs", { credentials: "include" })),
		change: await tell(() => read(pause, { method: "POST", credentials: "include",
			headers: { "Content-Type": "application/json" } })),
		token: await tell(() => read(target + "/v1/graphs", { headers: { Authorization: "Bearer gd_x" } })),
		login: await tell(async () => (await fetch(target + "/v1/login", { method: "POST", mode: "no-cors" })).type),
		socket: await new Promise(done => {
			const ws = new WebSocket(target.replace("http", "ws") + "/v1/ws/events", "graphd.v1+json")
			ws.onopen = () => done("open")
			ws.onerror = () => done("refused")
		}),
		picture: await new Promise(done => {
			const img = new Image()
			img.onload = () => done("shown")
			img.onerror = () => done("refused")
			img.src = target + "/v1/graphs"
		}),
		form: await new Promise(done => {
			const frame = document.body.appendChild(document.createElement("iframe"))
			frame.name = "frame"
			const form = document.body.appendChild(document.createElement("form"))
			form.action = pause
			form.method = "post"
			form.target = "frame"
			form.submit()
			frame.onload = () => { try { frame.contentDocument.body; done("sent") } catch { done("sent") } }
			setTimeout(() => done("sent"), 2000)
		}),
	}
	return JSON.stringify(results)
})("%s")`

// TestForeignPages: a page of another origin does nothing and reads nothing, whatever it tries and whatever the
// browser sends along: on the default of a laptop, with tokens, and in a browser that is logged in.
func TestForeignPages(t *testing.T) {
	a := certtest.New(t)
	cert, key := a.Named(t, "daemon", "").Write(t, t.TempDir())
	for name, cfg := range map[string]graphd.Config{
		"default": {}, "tokens": {Auth: graphd.AuthRequired}, "logged in": {},
		"logged in over TLS": {TLSCert: cert, TLSKey: key},
	} {
		t.Run(name, func(t *testing.T) {
			port, said := run(t, cfg)
			target := "http://localhost:" + port
			if cfg.TLSCert != "" {
				target = "https://localhost:" + port
			}
			b := start(t)
			if strings.HasPrefix(name, "logged in") {
				logIn(t, b, a, target)
			}
			evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				_, _ = io.WriteString(w, "<!doctype html><body>evil")
			}))
			defer evil.Close()
			_, evilPort, _ := strings.Cut(evil.Listener.Addr().String(), ":")
			// A foreign site, and a page of the same site on another port, to which cookies of SameSite go.
			for _, from := range []string{"http://evil.example:" + evilPort + "/",
				"http://localhost:" + evilPort + "/"} {
				before := len(said.requests("2"))
				got := b.open(from).try(fmt.Sprintf(attack, target))
				if got == "" || strings.Contains(got, "200") || strings.Contains(got, "open\"") ||
					strings.Contains(got, "shown") {
					t.Errorf("a page of %s was let in: %s", from, got)
				}
				if done := said.requests("2"); len(done) != before {
					t.Errorf("the daemon has done what a page of %s wanted: %s", from, done[before:])
				}
			}
			if refused := said.requests("403"); len(refused) < 6 {
				t.Errorf("the daemon has refused %d requests alone: the browser did not send them, and the test shows "+
					"nothing\n%s", len(refused), said.requests(""))
			}
			rebound(t, b, strings.Replace(target, "localhost", "rebound.example", 1))
		})
	}
}

// rebound opens the daemon under a name of somebody else's that resolves to it.
func rebound(t *testing.T, b *chromium, url string) {
	t.Helper()
	p := b.open(url + "/v1/graphs")
	got := p.try(`(async () => document.body.textContent + (await (await fetch("/v1/graphs")).text()) +
		await new Promise(done => {
			const ws = new WebSocket("/v1/ws/events", "graphd.v1+json")
			ws.onopen = () => done("OPEN")
			ws.onerror = () => done("")
		}))()`)
	if strings.Count(got, "\"misdirected_request\"") != 2 || strings.Contains(got, "quotes\"") ||
		strings.Contains(got, "OPEN") {
		t.Errorf("a name that was bound to the daemon is answered: %s", got)
	}
}

// logIn makes the daemon's first token, and logs the browser in with it by the daemon's own page.
func logIn(t *testing.T, b *chromium, a *certtest.Authority, target string) {
	t.Helper()
	conf := client.Config{BaseURL: target}
	if strings.HasPrefix(target, "https") {
		conf.TLS = a.Client()
	}
	c, err := client.New(conf)
	if err != nil {
		t.Fatal(err)
	}
	made, err := c.CreateToken(t.Context(), api.TokenRequest{Name: "root", Role: "platform-admin"})
	if err != nil {
		t.Fatal(err)
	}
	p := b.open(target + "/login")
	p.now(fmt.Sprintf(`(document.getElementById("token").value = %q, document.querySelector("#in button").click())`,
		made.Text))
	const known = `!document.getElementById("out").hidden`
	p.until("that it is logged in", known)
	got := p.try(`(async () => {
		const sent = await fetch("/v1/graphs")
		const socket = await new Promise(done => {
			const ws = new WebSocket("/v1/ws/events", "graphd.v1+json")
			ws.onopen = () => done("open")
			ws.onerror = () => done("refused")
		})
		return [document.getElementById("told").textContent, sent.status, socket, document.cookie].join("|")
	})()`)
	if !strings.HasPrefix(got, "root is logged in") || !strings.HasSuffix(got, "|200|open|") {
		t.Fatalf("the browser is not logged in: %s", got)
	}
	again := b.open(target + "/login")
	again.until("that it knows a browser that is logged in", known)
	if again.now(`document.getElementById("told").textContent`) == "" {
		t.Error("the page does not say who is logged in")
	}
}

// TestLogout: what the page does when it is left, and that nothing but its own script runs in it.
func TestLogout(t *testing.T) {
	port, said := run(t, graphd.Config{})
	target := "http://localhost:" + port
	b := start(t)
	logIn(t, b, nil, target)
	p := b.open(target + "/login")
	p.now(`(script => {
		script.textContent = "window.ran = true"
		document.body.append(script)
		document.getElementById("leave").click()
	})(document.createElement("script"))`)
	p.until("that it is logged out", `document.getElementById("told").textContent === "logged out"`)
	got := p.try(`(async () => [(await fetch("/v1/graphs")).status, String(window.ran)].join())()`)
	if got != "401,undefined" {
		t.Errorf("after the logout: %s\n%s", got, said.requests(""))
	}
}
