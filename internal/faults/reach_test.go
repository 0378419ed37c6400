package faults

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/testbed"
)

// A declaration from the network reaches no file, variable, secret or kind that the daemon's configuration does not
// list, in a dry run no more than else, and the answer says which setting would allow it and nothing of
// what is denied.
func TestDeclarationsFromTheNetwork(t *testing.T) {
	dir := t.TempDir()
	files, secrets, home := filepath.Join(dir, "files"), filepath.Join(dir, "secrets"), filepath.Join(dir, "home")
	for _, d := range []string{files, secrets, home} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range map[string]string{
		secrets + "/token": "hunter2", home + "/private.json": `{"type":"hunter2"}`, files + "/in.ndjson": "1\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(secrets+"/pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(home, files+"/out"); err != nil {
		t.Fatal(err)
	}
	p := startWith(t, []string{"PGPASSWORD=hunter2", "GRAPHD_VAR_WORD=hello"}, dir, "--files-dir", files,
		"--secrets-dir", secrets,
		"--allow-kinds", "source.file,source.websocket,sink.file,sink.drop,sink.http,node.expr")
	source := func(s string) string {
		return `{"graph":"g","accumulators":{"a":{"source":` + s + `}},"nodes":{"n":{"expr":"a"}},` +
			`"outputs":{"o":{"from":"n","sink":{"drop":{}}}}}`
	}
	read := func(path string) string { return source(fmt.Sprintf(`{"file":{"path":%q,"format":"ndjson"}}`, path)) }
	sink := func(s string) string {
		return `{"graph":"g","accumulators":{"a":{}},"nodes":{"n":{"expr":"a"}},` +
			`"outputs":{"o":{"from":"n","sink":` + s + `}}}`
	}
	write := func(path string) string { return sink(fmt.Sprintf(`{"file":{"path":%q}}`, path)) }
	vars := func(ref string) string {
		return fmt.Sprintf(`{"graph":"g","vars":{"x":%q},"accumulators":{"a":{}},"nodes":{"n":{"expr":"vars.x"}},`+
			`"outputs":{"o":{"from":"n","sink":{"drop":{}}}}}`, ref)
	}
	header := func(ref string) string {
		return sink(fmt.Sprintf(`{"http":{"url":"http://127.0.0.1:1/","headers":{"X":%q}}}`, ref))
	}
	for what, tc := range map[string]struct{ doc, says string }{
		"the environment of the daemon": {read("/proc/self/environ"), "--files-dir"},
		"a file elsewhere":              {read(home + "/private.json"), "--files-dir"},
		"a way out by points":           {read(files + "/../home/private.json"), "--files-dir"},
		"a relative way out":            {read("../home/private.json"), "--files-dir"},
		"a way out by a link":           {read(files + "/out/private.json"), "--files-dir"},
		"the daemon's store":            {read(dir + "/data/graphd.db"), "none of the daemon's own"},
		"a schema elsewhere": {strings.Replace(read("in.ndjson"), `"a":{`,
			`"a":{"schema":"/etc/passwd",`, 1), "--files-dir"},
		"what a shell runs":                   {write(home + "/.bashrc"), "--files-dir"},
		"what a shell runs, below the folder": {write(files + "/.bashrc"), "begins with a point"},
		"the operator's own folder":           {write(dir + "/graphs/more.yaml"), "none of the daemon's own"},
		"the daemon's folder":                 {write(dir + "/data/x"), "none of the daemon's own"},
		"a device":                            {write("/dev/full"), "--files-dir"},
		"a variable":                          {vars("${PGPASSWORD}"), "GRAPHD_VAR_"},
		"a variable with a default":           {vars("${PGPASSWORD:-none}"), "GRAPHD_VAR_"},
		"a secret elsewhere":                  {header("${file:/etc/shadow}"), "--secrets-dir"},
		"a secret without end":                {header("${file:/dev/zero}"), "--secrets-dir"},
		"a secret that is a pipe":             {header("${file:pipe}"), "not a regular file"},
		"a secret as a constant":              {vars("${file:token}"), "secret_misplaced"},
		"a secret in a URL": {sink(`{"http":{"url":"http://127.0.0.1:1/${file:token}"}}`),
			"secret_misplaced"},
		"a secret as a path": {strings.Replace(write("x"), `"x"`, `"${file:token}"`, 1), "secret_misplaced"},
		"a kind of source that is not allowed": {source(`{"generator":{"every":"1s","expr":"1"}}`),
			"--allow-kinds source.generator"},
		"a kind of sink that is not allowed": {sink(`{"stdout":{}}`), "--allow-kinds sink.stdout"},
	} {
		for _, query := range []string{"?dry_run=1", ""} {
			began := time.Now()
			err := p.do("PUT", "/v1/graphs/g"+query, tc.doc, nil)
			if err == nil || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: got %v, want it denied with a word about %s", what, err, tc.says)
			}
			if took := time.Since(began); took > stuck/2 { // a read of a pipe or a device has no end
				t.Errorf("%s: the answer took %v", what, took)
			}
		}
	}
	for what, doc := range map[string]string{
		"a file of the folder": read("in.ndjson"), "by its whole name": read(files + "/in.ndjson"),
		"a new file": write("new/../out.ndjson"), "a variable": vars("${GRAPHD_VAR_WORD}"),
		"a secret": header("${file:token}"),
	} {
		if err := p.do("PUT", "/v1/graphs/g", doc, nil); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := p.do("PUT", "/v1/graphs/g", header("Bearer ${file:token}"), nil); err != nil {
		t.Error(err)
	}
	var next struct{ Diff []string }
	err := p.do("PUT", "/v1/graphs/g?dry_run=1", header("Bearer hunter3"), &next)
	if all := strings.Join(next.Diff, " "); err != nil || strings.Contains(all, "hunter") ||
		!strings.Contains(all, "changed outputs.o.sink.http.headers.X") || strings.Contains(all, "hidden,") {
		t.Errorf("got %v, %v", next.Diff, err)
	}
	for _, path := range []string{
		"", "/plan", "/state", "/revisions", "/firings", "/recovery-events", "/dead-letters",
	} {
		var page json.RawMessage
		err := p.do("GET", "/v1/graphs/g"+path, "", &page)
		if err != nil || strings.Contains(string(page), "hunter") {
			t.Errorf("%s: got %s, %v", path, page, err)
		}
	}
	if strings.Contains(p.log.String(), "hunter") {
		t.Errorf("the log shows a secret: %s", p.log)
	}
	left := []string{}
	_ = filepath.WalkDir(home, func(path string, _ fs.DirEntry, _ error) error {
		left = append(left, path)
		return nil
	})
	if len(left) != 2 {
		t.Errorf("written outside of the folder: %v", left)
	}
}

// What was allowed when it was applied and is denied now comes up failed, with the reason.
func TestDeniedAfterARestart(t *testing.T) {
	dir := t.TempDir()
	files, fewer := filepath.Join(dir, "files"), filepath.Join(dir, "fewer")
	for _, d := range []string{files, fewer} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p := start(t, dir, "--files-dir", files)
	doc := fmt.Sprintf(`{"graph":"g","accumulators":{"a":{}},"nodes":{"n":{"expr":"a"}},`+
		`"outputs":{"o":{"from":"n","sink":{"file":{"path":"%s/out"}}}}}`, files)
	if err := p.do("PUT", "/v1/graphs/g", doc, nil); err != nil {
		t.Fatal(err)
	}
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	p = start(t, dir, "--files-dir", fewer)
	var s summary
	p.until("it has failed", stuck, func() bool {
		s = p.summary("g")
		return s.Health == "failed"
	})
	if !strings.Contains(s.HealthReason.Detail, "--files-dir") {
		t.Errorf("got %+v", s)
	}
}

// A pipe that nobody reads on keeps neither the removal of a graph nor the daemon's stop up, also where the operator
// has named it.
func TestPipesHoldNothingUp(t *testing.T) {
	dir := t.TempDir()
	pipes := []string{filepath.Join(dir, "unread"), filepath.Join(dir, "full")}
	for _, pipe := range pipes {
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	reader, err := os.OpenFile(pipes[1], os.O_RDWR, 0) // it takes what fits, and reads nothing
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := os.Mkdir(filepath.Join(dir, "graphs"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i, pipe := range pipes {
		doc := fmt.Sprintf("graph: g%d\n"+
			"accumulators: { a: { source: { generator: { every: 1ms, expr: \"'%s'\" } } } }\n"+
			"nodes: { n: { expr: a } }\noutputs: { o: { from: n, sink: { file: { path: %s } } } }\n",
			i, strings.Repeat("x", 4000), pipe)
		name := filepath.Join(dir, "graphs", fmt.Sprintf("g%d.yaml", i))
		if err := os.WriteFile(name, []byte(doc), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, by := start(t, dir), beside(t)
	var s summary
	p.until("the pipe is full", stuck, func() bool {
		if err := p.do("GET", "/v1/graphs/g1", "", &s); err != nil {
			t.Fatal(err)
		}
		return s.Epoch >= 100
	})
	by.anew()
	began := time.Now()
	if err := p.do("DELETE", "/v1/graphs/g0?state=delete", "", nil); err != nil {
		t.Error(err)
	}
	by.kept(t, "the removal", time.Since(began), 8*time.Second)
	_ = p.cmd.Process.Signal(os.Interrupt)
	select {
	case <-p.ended:
		p.ended = nil
	case <-time.After(stuck):
		t.Errorf("the daemon does not stop\n%s", p.log)
	}
}

// Every way out of a declaration from the network leads to what --allow-outbound lists, and nowhere by a redirect.
func TestCallsFromTheNetwork(t *testing.T) {
	var reached atomic.Int64
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(inside.Close)
	port := strings.TrimPrefix(inside.URL, "http://127.0.0.1:")
	elsewhere, err := net.Listen("tcp", "127.0.0.2:"+port)
	if err != nil {
		t.Skip("there is one loopback address alone")
	}
	go func() { _ = http.Serve(elsewhere, inside.Config.Handler) }()
	t.Cleanup(func() { elsewhere.Close() })
	open := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.2:"+port+"/", http.StatusTemporaryRedirect)
	}))
	t.Cleanup(open.Close)

	p := start(t, t.TempDir(), "--allow-outbound", "127.0.0.1")
	const (
		source = `{"graph":"g","accumulators":{"a":{"source":%s}},"nodes":{"n":{"expr":"a"}},` +
			`"outputs":{"o":{"from":"n","sink":{"drop":{}}}}}`
		sink = `{"graph":"g","accumulators":{"a":{}},"nodes":{"n":{"expr":"a"}},` +
			`"outputs":{"o":{"from":"n","sink":%s}}}`
	)
	for _, host := range []string{
		"169.254.169.254", "10.0.0.1", "127.0.0.2", "1.1.1.1", "[::1]", "[::ffff:10.0.0.1]", "[::ffff:0:10.0.0.1]",
		"[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]", "0.0.0.0", "203.0.113.7",
	} {
		for _, doc := range []string{
			fmt.Sprintf(source, `{"poll":{"http":"http://`+host+`/","every":"1s"}}`),
			fmt.Sprintf(source, `{"poll":{"sql":"select 1","key":"x","every":"1s",`+
				`"connection":"postgres://u@`+host+`/d"}}`),
			fmt.Sprintf(source, `{"websocket_client":{"url":"ws://`+host+`/"}}`),
			fmt.Sprintf(source, `{"kafka":{"brokers":"`+host+`:9092","topic":"t"}}`),
			fmt.Sprintf(sink, `{"http":{"url":"http://`+host+`/"}}`),
			fmt.Sprintf(sink, `{"kafka":{"brokers":"`+host+`:9092","topic":"t"}}`),
			fmt.Sprintf(sink, `{"postgres":{"dsn":"postgres://u@`+host+`/d","table":"t"}}`),
		} {
			err := p.do("PUT", "/v1/graphs/g?dry_run=1", doc, nil)
			if err == nil || !strings.Contains(err.Error(), `"denied"`) ||
				!strings.Contains(err.Error(), "--allow-outbound") {
				t.Errorf("%s: got %v", doc, err)
			}
		}
	}
	for name, url := range map[string]string{
		"by_a_name": "http://localhost6.invalid:" + port + "/", "by_a_redirect": open.URL,
	} {
		doc := fmt.Sprintf(source, `{"poll":{"http":"`+url+`","every":"20ms"}}`)
		doc = strings.Replace(doc, `"g"`, `"`+name+`"`, 1)
		if err := p.do("PUT", "/v1/graphs/"+name, doc, nil); err != nil {
			t.Fatal(err)
		}
	}
	p.until("the redirect is denied", stuck, func() bool {
		var s json.RawMessage
		return p.do("GET", "/v1/graphs/by_a_redirect", "", &s) == nil &&
			strings.Contains(string(s), "calls to 127.0.0.2 are not allowed")
	})
	if n := reached.Load(); n > 0 {
		t.Errorf("what is not listed was called %d times", n)
	}
}

// A declaration from the network neither reads nor writes the tables in which the daemon keeps its graphs, by
// whatever name it calls them or their database.
func TestTheStoresTables(t *testing.T) {
	dsn := testbed.Postgres(t)
	p := startWith(t, []string{"PGPASSWORD=hunter2"}, t.TempDir(), "--store", dsn)
	alias := strings.Replace(dsn, "127.0.0.1", "localhost", 1)
	for _, sink := range []string{
		fmt.Sprintf(`{"postgres":{"table":"graphd.graph_number","dsn":%q}}`, dsn),
		fmt.Sprintf(`{"postgres":{"table":"t","dsn":%q}}`, alias+"&search_path=graphd"),
		`{"postgres":{"table":"graphd.graph_number"}}`, `{"postgres":{"table":"pg_catalog.pg_authid"}}`,
	} {
		err := p.do("PUT", "/v1/graphs/g?dry_run=1", `{"graph":"g","accumulators":{"a":{}},"nodes":{"n":{"expr":"a"}},`+
			`"outputs":{"o":{"from":"n","sink":`+sink+`}}}`, nil)
		if err == nil || !strings.Contains(err.Error(), "graphd keeps") {
			t.Errorf("%s: got %v", sink, err)
		}
	}
	graph := func(sink string) string {
		return `{"graph":"h","accumulators":{"a":{}},"nodes":{"n":{"expr":"a"}},"outputs":{"o":{"from":"n","sink":` +
			sink + `}}}`
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for sink, says := range map[string]string{
		fmt.Sprintf(`{"postgres":{"table":"t","dsn":%q}}`, alias+"&sslrootcert="+pipe): "names files",
		`{"postgres":{"table":"t"}}`:                     "for the connection store=store",
		`{"postgres":{"table":"t","connection":"none"}}`: "unknown_name",
	} {
		err := p.do("PUT", "/v1/graphs/h?dry_run=1", graph(sink), nil)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v", sink, err)
		}
	}
	doc := fmt.Sprintf(`{"graph":"g","accumulators":{"a":{"source":{"poll":{"sql":"select * from graphd.declarations",`+
		`"key":"graph","every":"50ms","connection":%q}}}},"nodes":{"n":{"expr":"a"}},`+
		`"outputs":{"o":{"from":"n","sink":{"drop":{}}}}}`, alias)
	if err := p.do("PUT", "/v1/graphs/g", doc, nil); err != nil {
		t.Fatal(err)
	}
	p.until("the poll is refused", stuck, func() bool {
		var s json.RawMessage
		return p.do("GET", "/v1/graphs/g", "", &s) == nil && strings.Contains(string(s), "graphd keeps its graphs")
	})
	if s := p.summary("g"); s.Counters.Received > 0 {
		t.Errorf("%d rows of the store were read", s.Counters.Received)
	}
}

// What the daemon's configuration names a declaration from the network may use by its name, and never sees its
// address.
func TestNamedConnections(t *testing.T) {
	dsn, dir := testbed.Postgres(t), t.TempDir()
	address := filepath.Join(dir, "warehouse")
	secret := strings.Replace(dsn, "graphd@", "graphd:hunter2@", 1)
	if err := os.WriteFile(address, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, dir, "--store", dsn, "--allow-outbound", "none", "--connections", "store=store",
		"--connections", "warehouse=file:"+address, "--connections", "broken=kafka://u:hunter2@127.0.0.1:1")
	doc := `{"graph":"g","accumulators":{"a":{"source":{"poll":{"sql":"select 7 as x","key":"x","every":"50ms",` +
		`"connection":"warehouse"}}},"b":{"source":{"kafka":{"topic":"t","connection":"broken"}}}},` +
		`"reactor":{"when":{"any":["a"]},"warm_timeout":"10ms"},"nodes":{"n":{"expr":"a"}},` +
		`"outputs":{"o":{"from":"n","sink":{"drop":{}}}}}`
	if err := p.do("PUT", "/v1/graphs/g", doc, nil); err != nil {
		t.Fatal(err)
	}
	p.until("a row has come", stuck, func() bool { return p.summary("g").Counters.Consumed > 0 })
	for _, name := range []string{"store", "warehouse"} {
		err := p.do("PUT", "/v1/graphs/h?dry_run=1", `{"graph":"h","accumulators":{"a":{}},"nodes":{"n":{"expr":"a"}},`+
			`"outputs":{"o":{"from":"n","sink":{"postgres":{"table":"none","connection":"`+name+`"}}}}}`, nil)
		if err == nil || !strings.Contains(err.Error(), "it is not there") {
			t.Errorf("%s: got %v, want its database asked", name, err)
		}
	}
	for _, path := range []string{"/v1/graphs/g", "/v1/graphs/g/plan", "/v1/graphs/g/recovery-events", "/v1/tree"} {
		var page json.RawMessage
		if err := p.do("GET", path, "", &page); err != nil || strings.Contains(string(page), "hunter2") {
			t.Errorf("%s: got %s, %v", path, page, err)
		}
	}
	if strings.Contains(p.log.String(), "hunter2") {
		t.Errorf("the log shows a password: %s", p.log)
	}
}
