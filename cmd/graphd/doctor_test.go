package main

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/cmd/graphd/internal/doctor"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/certificate/certtest"
	"github.com/graphd/graphd/internal/testbed"
)

// examine runs graphd doctor -o json with a file of settings, and answers with what was found by what it is of.
func examine(t *testing.T, config string) (code int, found map[string]doctor.Finding) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "graphd.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	r := command(t.Context(), newDaemon(t).Server, "", "doctor", "--config", path, "-o", "json")
	var report doctor.Report
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil {
		t.Fatalf("%v: %+v", err, r)
	}
	if report.OK != (r.code == 0) {
		t.Errorf("ok is %v and the exit code %d", report.OK, r.code)
	}
	found = map[string]doctor.Finding{}
	for _, f := range report.Findings {
		found[f.What] = f
		if (f.Verdict == doctor.Fail || f.Verdict == doctor.Warn) && f.Do == "" {
			t.Errorf("%+v does not say what to do", f)
		}
		if f.Verdict == doctor.OK && f.Do != "" {
			t.Errorf("%+v is in order, and says what to do", f)
		}
	}
	return r.code, found
}

// TestDoctorFinds: each thing that a daemon needs is told with a verdict, and what fails decides the exit code.
func TestDoctorFinds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := certtest.New(t)
	good, _ := a.Issue(t, &x509.Certificate{}).Write(t, t.TempDir())
	begun := now.Add(-48 * time.Hour)
	old, _ := a.Issue(t, &x509.Certificate{NotBefore: begun, NotAfter: now.Add(-time.Hour)}).Write(t, t.TempDir())
	soon, _ := a.Issue(t, &x509.Certificate{NotBefore: begun, NotAfter: now.Add(time.Hour)}).Write(t, t.TempDir())
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	const anything = ""
	for name, tc := range map[string]struct {
		config, what, verdict, says string
	}{
		"a new store":    {"data: " + dir, "store", doctor.OK, "the first start makes it"},
		"no memory":      {"memory_limit: 512MiB", "memory", doctor.OK, "512MiB"},
		"another's file": {"store: sqlite:" + text, "store", doctor.Fail, "not a database"},
		"in memory":      {"store: 'memory:'", "store", doctor.Warn, "lost"},
		"no database": {"store: postgres://me:hunter2@127.0.0.1:1/x", "store", doctor.Fail,
			"connection refused"},
		"no file":       {"conections: {}", "configuration", doctor.Fail, "conections"},
		"a bad setting": {"lease: 1ms", "configuration", doctor.Fail, "lease"},
		"no brokers":    {"kafka_brokers: ['127.0.0.1:1']", "kafka brokers", doctor.Fail, "connection refused"},
		"a lost cluster": {"connections: { ev: 'kafka://127.0.0.1:1' }", "connection ev", doctor.Fail,
			"connection refused"},
		"a lost database": {"connections: { db: 'postgres://a:hunter2@127.0.0.1:1/x' }", "connection db", doctor.Fail,
			"connection refused"},
		"the store":       {"connections: { store: store }", "connection store", doctor.OK, "is the store"},
		"a certificate":   {"tls_cert: " + good, "--tls-cert", doctor.OK, "lasts until"},
		"one that is old": {"tls_cert: " + old, "--tls-cert", doctor.Fail, "has ended"},
		"one that ends":   {"tls_client_ca: " + soon, "--tls-client-ca", doctor.Warn, "ends on"},
		"no certificate":  {"tls_cert: " + text, "--tls-cert", doctor.Fail, "no certificate in PEM"},
		"another release": {"data: " + dir, "version", doctor.Warn, "the daemon is v9"},
		"a member gone":   {"data: " + dir, "member lost", doctor.Warn, "expired"},
		"an old member":   {"data: " + dir, "member old", doctor.Warn, "live v8"},
		"the daemon":      {"data: " + dir, "daemon", doctor.OK, "ready"},
		// Whether that is enough is this machine's affair.
		"room":         {"data: " + dir, "disk", anything, "MiB are free for " + dir},
		"no settings":  {"conections: {}", "store", doctor.Skip, "that cannot be read"},
		"an ill graph": {"data: " + dir, "graph flights", doctor.Warn, "restarts_exhausted"},
		"graphs":       {"data: " + dir, "graphs", doctor.OK, "2 graphs, 1 of them"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := tc.config
			if !strings.Contains(config, "data:") && !strings.Contains(config, "store: ") {
				config += "\ndata: " + t.TempDir()
			}
			code, found := examine(t, config)
			f := found[tc.what]
			if tc.verdict != anything && f.Verdict != tc.verdict || !strings.Contains(f.Detail, tc.says) {
				t.Errorf("got %+v, want %s with %q", found, tc.verdict, tc.says)
			}
			if tc.verdict == doctor.Fail && code != 1 {
				t.Errorf("exit code %d", code)
			}
			if strings.Contains(f.Detail, "hunter2") {
				t.Errorf("it tells a password: %s", f.Detail)
			}
		})
	}
}

// TestDoctorPostgres: of a database the clock and the version are told, and what its schema lacks.
func TestDoctorPostgres(t *testing.T) {
	t.Parallel()
	code, found := examine(t, "store: "+testbed.Postgres(t)+"\nconnections: { db: '"+testbed.Postgres(t)+"' }")
	if code != 0 || found["clock"].Verdict != doctor.OK ||
		!strings.Contains(found["store latency"].Detail, "PostgreSQL") || found["connection db"].Verdict != doctor.OK {
		t.Errorf("exit %d, %+v", code, found)
	}
}

// TestDoctorAsksItsOwnDaemon: where no other is named, the daemon of the settings is asked.
func TestDoctorAsksItsOwnDaemon(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "graphd.yaml")
	text := "data: " + t.TempDir() + "\nlisten: " + strings.TrimPrefix(newDaemon(t).Server.URL, "http://") + "\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ server, want string }{{"", "ready"}, {"http://127.0.0.1:1", "none answers"}} {
		var out, errs bytes.Buffer
		term := terminal.New(strings.NewReader(""), &out, &errs, func(string) string { return "" })
		args := []string{"doctor", "--config", config}
		if c.server != "" {
			args = append(args, "--server", c.server)
		}
		run(t.Context(), term, args)
		if !strings.Contains(out.String(), c.want) {
			t.Errorf("%v: %s%s", args, out.String(), errs.String())
		}
	}
}

// TestDoctorIsNotLetIn: a daemon that asks for a token is no daemon that does not answer.
func TestDoctorIsNotLetIn(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusUnauthorized, "unauthenticated", "this daemon asks for a token", nil)
	}))
	defer closed.Close()
	var out, errs bytes.Buffer
	term := terminal.New(strings.NewReader(""), &out, &errs, func(string) string { return "" })
	run(t.Context(), term, []string{"doctor", "--data", t.TempDir(), "--server", closed.URL})
	if !strings.Contains(out.String(), "does not let this in") || strings.Contains(out.String(), "none answers") {
		t.Errorf("%s%s", out.String(), errs.String())
	}
}

// held is a log that may be written from any goroutine.
type held struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (h *held) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(p)
}

func (h *held) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// TestBundleHasNoSecrets: what is planted in the configuration, the environment, addresses, headers, answers and events
// stands in no file of a bundle, in nothing that doctor prints, and in no line of the daemon's log (A2).
func TestBundleHasNoSecrets(t *testing.T) {
	dir := t.TempDir()
	planted := map[string]string{}
	plant := func(where string) string {
		planted[where] = "planted-" + strings.ReplaceAll(where, " ", "-") + "-7f3a"
		return planted[where]
	}
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, plantedAnswer)
	}))
	defer hook.Close()
	defer http.DefaultClient.CloseIdleConnections()
	planted["answer"] = plantedAnswer
	t.Setenv("GRAPHD_VAR_HOOK", plant("variable"))
	t.Setenv("PGPASSWORD", plant("password of the environment"))
	member := filepath.Join(dir, "member")
	address := filepath.Join(dir, "address")
	for path, text := range map[string]string{member: plant("member secret") + strings.Repeat("x", 32),
		address: "postgres://u:" + plant("password in a file") + "@127.0.0.1:1/x"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	graphs := filepath.Join(dir, "graphs")
	if err := os.Mkdir(graphs, 0o700); err != nil {
		t.Fatal(err)
	}
	doc := "graph: payments\naccumulators: { cards: { strategy: sequential } }\n" +
		"nodes: { sum: { expr: cards.amount + 1 } }\noutputs:\n  hook:\n    from: sum\n    on_error: dead_letter\n" +
		"    sink: { http: { url: '" + strings.Replace(hook.URL, "://", "://u:"+plant("userinfo")+"@", 1) + "/?key=" +
		plant("query") + "', headers: { Authorization: '" + plant("header") + "', X-Token: '${GRAPHD_VAR_HOOK}' } } }\n"
	if err := os.WriteFile(filepath.Join(graphs, "payments.yaml"), []byte(doc), 0o600); err != nil {
		t.Fatal(err)
	}
	var log held
	ctx, cancel := context.WithCancel(t.Context())
	connections := []string{"db=postgres://u:" + plant("password of a connection") + "@127.0.0.1:1/x",
		"ev=kafka://u:" + plant("password of a cluster") + "@127.0.0.1:1", "filed=file:" + address}
	d, err := graphd.New(ctx, graphd.Config{Data: dir, Graphs: graphs, Listen: "127.0.0.1:0", Stdout: io.Discard,
		Connections: connections, AllowOutbound: []string{"loopback"},
		Log: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	base := "http://" + d.Addr()
	for _, event := range []string{`{"amount":7,"card":"` + plant("event") + `"}`,
		`{"amount":"` + plant("bad event") + `"}`} {
		push(t, base+"/v1/graphs/payments/accumulators/cards/events", event)
	}
	until(t, func() bool { return strings.Contains(get(t, base+"/v1/graphs/payments/dead-letters"), "http_418") })
	config := "data: " + dir + "\nconnections:\n"
	for _, c := range connections {
		name, address, _ := strings.Cut(c, "=")
		config += "  " + name + ": '" + address + "'\n"
	}
	config += "member_secret: " + member + "\noidc_audience: " + plant("setting") + "\n" +
		"kafka_brokers: ['u:" + plant("password of a broker") + "@127.0.0.1:9']\n" +
		"advertise: 'u:" + plant("password of an address") + "@h:1'\n" +
		"hosts: ['u:" + plant("password of a host") + "@h']\n" +
		"origins: ['https://u:" + plant("password of an origin") + "@h']\nallow_outbound: ['u:" +
		plant("password of a way out") + "@h']\n"
	path := filepath.Join(dir, "graphd.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"GRAPHD_SERVER": base, "GRAPHD_STORE": "", "GRAPHD_LOG_LEVEL": "debug"}
	var out, errs bytes.Buffer
	term := terminal.New(strings.NewReader(""), &out, &errs, func(name string) string { return env[name] })
	file := filepath.Join(dir, "bundle.zip")
	run(t.Context(), term, []string{"doctor", "--config", path, "--bundle", file})
	texts := map[string]string{"stdout": out.String(), "stderr": errs.String(), "the daemon's log": log.String()}
	unzip(t, file, texts)
	for _, name := range []string{"doctor.json", "configuration.json", "graphs.json", "metrics.txt", "health.json",
		"members.json", "version.json", "limits.json", "tree.json", "host.json"} {
		if texts[name] == "" || strings.Contains(texts[name], "not_told") {
			t.Errorf("%s has nothing: %s", name, texts[name])
		}
		if strings.HasSuffix(name, ".json") && !json.Valid([]byte(texts[name])) {
			t.Errorf("%s is not JSON: %s", name, texts[name])
		}
	}
	for where, secret := range planted {
		for name, text := range texts {
			if strings.Contains(text, secret) {
				t.Errorf("%s tells the %s", name, where)
			}
		}
	}
	for name, want := range map[string]string{"graphs.json": `"payments"`, "metrics.txt": "go_goroutines",
		"configuration.json": `"connections"`, "doctor.json": `"connection db"`} {
		if !strings.Contains(texts[name], want) {
			t.Errorf("%s does not tell of %s", name, want)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read the bundle: %v, %v", info, err)
	}
	if code := run(t.Context(), term, []string{"doctor", "--config", path, "--bundle", file}); code != 4 {
		t.Errorf("a bundle that is there is written over: exit %d", code)
	}
}

const plantedAnswer = "planted-answer-7f3a"

func unzip(t *testing.T, file string, into map[string]string) {
	t.Helper()
	archive, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		into[f.Name] = string(text)
	}
}

func push(t *testing.T, url, event string) {
	t.Helper()
	res, err := http.Post(url, "application/json", strings.NewReader(event))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("push: %s", res.Status)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// until asks again and again for what comes about on another goroutine.
func until(t *testing.T, cond func() bool) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(time.Minute); !cond(); <-ticker.C {
		if time.Now().After(deadline) {
			t.Fatal("it did not come about in time")
		}
	}
}
