package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/cmd/graphd/internal/settings"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/telemetry"
)

// TestLocalOutput holds what the verbs that need no daemon print and exit with.
func TestLocalOutput(t *testing.T) {
	t.Parallel()
	server := newDaemon(t).Server
	const inputs = " --input orderbook=testdata/orderbook.ndjson --input pricing=testdata/pricing.csv"
	for _, tc := range []struct {
		name, stdin, args string
	}{
		{name: "validate", args: "validate testdata/edge.yaml"},
		{name: "validate_broken", args: "validate testdata/edge.yaml testdata/broken.yaml"},
		{name: "validate_json", args: "validate testdata/broken.yaml -o json"},
		{name: "validate_futile", args: "validate testdata/futile.yaml"},
		{name: "validate_nothing", args: "validate"},
		{name: "validate_folder", args: "validate -f testdata/declarations"},
		{name: "validate_deep", args: "validate testdata/tests"},
		{name: "lint_folder", args: "lint testdata/tests -o json"},
		{name: "plan_folder", args: "plan -f testdata/tests"},
		{name: "plan_broken_json", args: "plan -o json testdata/broken.yaml"},
		{name: "run_two", args: "run testdata/declarations"},
		{name: "run_file_flag", args: "run -f testdata/edge.yaml --output mids=drop" + inputs},
		{name: "test_file_flag", args: "test -f testdata/tests/deep"},
		{name: "plan", args: "plan testdata/edge.yaml"},
		{name: "plan_loops", args: "plan testdata/loops.yaml"},
		{name: "plan_loops_mermaid", args: "plan testdata/loops.yaml --format mermaid"},
		{name: "plan_mermaid", args: "plan testdata/edge.yaml --format mermaid"},
		{name: "plan_broken", args: "plan testdata/broken.yaml"},
		{name: "plan_format", args: "plan testdata/edge.yaml --format dot"},
		{name: "run", args: "run testdata/edge.yaml --output mids=drop" + inputs},
		{name: "run_stdin", args: "run testdata/edge.yaml --output signals=drop --input orderbook=-",
			stdin: `{"bid":1,"ask":3}`},
		{name: "run_nothing", args: "run testdata/edge.yaml"},
		{name: "run_strict", args: "run testdata/edge.yaml --strict --input orderbook=-",
			stdin: "{\"bid\":1,\"ask\":3}\nnonsense\n{\"bid\":1}\n" + strings.Repeat("[\n", 20)},
		{name: "run_letters_twice", args: "run testdata/edge.yaml --dead-letters ./testdata/pricing.csv" + inputs},
		{name: "run_table", args: "run testdata/edge.yaml -o table" + inputs},
		{name: "run_yaml", args: "run testdata/edge.yaml -o yaml" + inputs},
		{name: "run_format", args: "run testdata/edge.yaml -o xml" + inputs},
		{name: "run_broken", args: "run testdata/broken.yaml"},
		{name: "run_unknown_input", args: "run testdata/edge.yaml --input book=testdata/orderbook.ndjson"},
		{name: "run_unknown_output", args: "run testdata/edge.yaml --output mid=drop"},
		{name: "run_no_file", args: "run testdata/edge.yaml --input orderbook=testdata/none.ndjson"},
		{name: "run_bad_binding", args: "run testdata/edge.yaml --input orderbook"},
		{name: "test", args: "test testdata/tests"},
		{name: "test_one", args: "test testdata/tests/sum_test.yaml -o json"},
		{name: "test_a_declaration", args: "test testdata/edge.yaml"},
		{name: "test_its_declaration", args: "test testdata/tests/sum.yaml"},
		{name: "set_validate", args: "validate testdata/reuse/scaled.yaml --set factor=3"},
		{name: "set_unknown", args: "validate testdata/reuse/scaled.yaml --set facter=3"},
		{name: "set_of_another_type", args: "plan testdata/reuse/scaled.yaml --set factor=much"},
		{name: "set_twice", args: "plan testdata/reuse/scaled.yaml --set factor=1 --set factor=2"},
		{name: "set_what", args: "plan testdata/reuse/scaled.yaml --set factor"},
		{name: "set_run", args: "run testdata/reuse/scaled.yaml --set factor=3 --input orderbook=-",
			stdin: `{"bid":1,"ask":3}`},
		{name: "set_test", args: "test testdata/reuse/scaled.yaml --set factor=3"},
		{name: "set_test_as_it_is", args: "test testdata/reuse/scaled.yaml"},
		{name: "set_test_unknown", args: "test testdata/reuse/scaled.yaml --set f=3"},
		{name: "set_diff", args: "diff testdata/reuse/scaled.yaml testdata/reuse/scaled.yaml --set factor=3"},
		{name: "include_lint", args: "lint testdata/reuse/scaled.yaml"},
		{name: "include_wrong", args: "validate testdata/reuse/wrong.yaml"},
		{name: "migrate_nowhere", args: "migrate --data testdata/nowhere"},
		{name: "migrate_no_file", args: "migrate --store sqlite:testdata/nowhere.db"},
		{name: "unknown_ls", args: "ls"},
		{name: "unknown_dlq", args: "dlq ls"},
		{name: "test_nothing", args: "test testdata/declarations/market_maker.yaml"},
		{name: "test_none_below", args: "test testdata/empty"},
		{name: "test_no_file", args: "test testdata/none"},
		{name: "run_fed_input", args: "run testdata/futile.yaml --input late=testdata/none.ndjson"},
		{name: "flag_number", args: "tail g --sample x"},
		{name: "flag_duration", args: "run testdata/edge.yaml --timeout x"},
		{name: "keys_of_nothing", args: "keys g --limit 0"},
		{name: "explain_path", args: "explain window.latenes"},
		{name: "run_twice", args: "run testdata/edge.yaml --input pricing=a --input pricing=b"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			args := strings.Fields(tc.args)
			golden(t, tc.name, transcript(args, command(t.Context(), server, tc.stdin, args...)))
		})
	}
}

// The JSON is the plan's own bytes: tools compare them.
func TestPlanJSON(t *testing.T) {
	t.Parallel()
	d, err := graphd.ReadDeclaration("testdata/edge.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want, err := d.PlanJSON()
	if err != nil {
		t.Fatal(err)
	}
	server := newDaemon(t).Server
	for _, flag := range []string{"--format", "-o"} {
		r := command(t.Context(), server, "", "plan", "testdata/edge.yaml", flag, "json")
		if r.code != 0 || r.stdout != string(want)+"\n" {
			t.Errorf("%s json: got exit %d, %s", flag, r.code, r.stdout)
		}
	}
	if r := command(t.Context(), server, "", "plan", "testdata/edge.yaml", "-o", "yaml"); r.code != 2 {
		t.Errorf("a plan is not printed as YAML, and not as something else: exit %d, %s", r.code, r.stdout)
	}
}

func TestSchemaIsJSON(t *testing.T) {
	t.Parallel()
	r := command(t.Context(), newDaemon(t).Server, "", "schema")
	if !json.Valid([]byte(r.stdout)) || r.code != 0 {
		t.Errorf("got exit %d, %.100s", r.code, r.stdout)
	}
}

func TestRunStats(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "signals.ndjson")
	r := command(t.Context(), newDaemon(t).Server, "", "run", "testdata/edge.yaml", "--stats", "--output", "mids=drop",
		"--output", "signals="+out,
		"--input", "orderbook=testdata/orderbook.ndjson", "--input", "pricing=testdata/pricing.csv")
	var s runStats
	if err := json.Unmarshal([]byte(r.stderr), &s); err != nil || r.code != 0 || r.stdout != "" {
		t.Fatalf("got %+v, %v", r, err)
	}
	if s.Events != 4 || s.Epochs != 4 || s.DeadLetters != 0 || s.Seconds <= 0 {
		t.Errorf("got %+v", s)
	}
	text, err := os.ReadFile(out)
	if err != nil || strings.Count(string(text), "\n") != 3 {
		t.Errorf("got %q, %v, want three lines", text, err)
	}
}

// On a terminal a bar shows how far a long run is, and at the end stand the books.
func TestRunOnATerminal(t *testing.T) {
	t.Parallel()
	var in bytes.Buffer
	for range 20_000 {
		in.WriteString("{\"bid\":1,\"ask\":3}\n")
	}
	path := filepath.Join(t.TempDir(), "book.ndjson")
	if err := os.WriteFile(path, in.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	term := terminal.New(strings.NewReader(""), &out, &errs, func(string) string { return "" })
	term.Screen = func(w io.Writer) bool { return w == &errs }
	clock := now
	term.Now = func() time.Time { clock = clock.Add(600 * time.Millisecond); return clock }
	args := []string{"run", "testdata/edge.yaml", "--input", "orderbook=" + path}
	if code := run(t.Context(), term, args); code != 0 {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	screen := errs.String()
	if !strings.Contains(screen, "[=") || !strings.Contains(screen, "% ") || !strings.Contains(screen, " left") ||
		!strings.Contains(screen, "\r\x1b[KINPUT ") || strings.Contains(out.String(), "[=") {
		t.Errorf("got %q", screen)
	}
	for _, line := range []string{"orderbook      20000          0 ", "20000 events, 20000 epochs, "} {
		if !strings.Contains(screen, line) {
			t.Errorf("no %q in %q", line, screen)
		}
	}
}

// flagsOfServe is a serve command whose settings can be looked at.
func flagsOfServe(t *testing.T, args ...string) (*cobra.Command, *graphd.Config, *telemetry.LogConfig) {
	t.Helper()
	cmd := &cobra.Command{}
	var c graphd.Config
	var log telemetry.LogConfig
	serveFlags(cmd, &c, &log)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return cmd, &c, &log
}

// A flag goes before the environment, and that before the file.
func TestSettle(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "graphd.yaml")
	text := "listen: 127.0.0.1:1\ndata: from-file\nstore: \"memory:\"\nlog_level: debug\norigins: " +
		"[https://a.example, https://b.example]\npush_timeout: 7s\ninsecure: true\n" +
		"hosts: [gw.internal]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"GRAPHD_CONFIG": file, "GRAPHD_DATA": "from-env", "GRAPHD_LISTEN": "127.0.0.1:2"}
	cmd, c, log := flagsOfServe(t, "--listen", "127.0.0.1:3")
	if err := settings.Fill(cmd.Flags(), func(name string) string { return env[name] }); err != nil {
		t.Fatal(err)
	}
	want := graphd.Config{
		Listen: "127.0.0.1:3", Data: "from-env", Store: "memory:", Insecure: true, Auth: "auto", MaxBody: 8 << 20,
		Origins: []string{"https://a.example", "https://b.example"}, PushTimeout: 7 * time.Second,
		Hosts: []string{"gw.internal"}, TLSMin: "1.3", Capacity: 1, TLSClientAuth: "required",
		TraceRatio: 0.01, TraceSlow: time.Second, MCP: "read",
	}
	if d := cmp.Diff(want, *c); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if log.Level != "debug" || log.Format != "auto" {
		t.Errorf("got log %+v", *log)
	}
}

func TestSettleMistakes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, file string
		env        map[string]string
		want       string
	}{
		{
			name: "unknown setting", file: "listn: x\n",
			want: `graphd.yaml:1:1: unknown_setting: there is no setting "listn"; did you mean listen?`,
		},
		{
			name: "wrong type", file: "push_timeout: soon\n",
			want: "graphd.yaml:1:15: setting_form: push_timeout must be a duration",
		},
		{
			name: "a mapping", file: "listen: { host: x }\n",
			want: "graphd.yaml:1:9: setting_form: listen must be one value",
		},
		{name: "not YAML", file: "a: [", want: "graphd.yaml:1: not_yaml: not YAML: "},
		{name: "a file in a file", file: "config: other.yaml\n", want: `there is no setting "config"`},
		{
			name: "environment", env: map[string]string{"GRAPHD_MAX_BODY": "much"},
			want: "GRAPHD_MAX_BODY: setting_form: max_body must be a whole number, and is",
		},
		{
			name: "no file", env: map[string]string{"GRAPHD_CONFIG": "testdata/none.yaml"},
			want: "read the configuration",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			env := map[string]string{}
			if tc.file != "" {
				env["GRAPHD_CONFIG"] = filepath.Join(t.TempDir(), "graphd.yaml")
				if err := os.WriteFile(env["GRAPHD_CONFIG"], []byte(tc.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for k, v := range tc.env {
				env[k] = v
			}
			cmd, _, _ := flagsOfServe(t)
			err := settings.Fill(cmd.Flags(), func(name string) string { return env[name] })
			term := &terminal.Terminal{Err: io.Discard}
			if code := term.Report(err); code != terminal.ExitFormat || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %d %v, want 78 and %q", code, err, tc.want)
			}
		})
	}
}

// serve says when it is ready, answers, and stops when it is told to.
func TestServe(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, in := io.Pipe()
	term := terminal.New(strings.NewReader(""), in, io.Discard, func(string) string { return "" })
	exit := make(chan int, 1)
	go func() {
		exit <- run(ctx, term, []string{"serve", "--store", "memory:", "--listen", "127.0.0.1:0"})
		_ = in.Close() // a pipe's Close never fails
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var ready struct {
		Ready  bool
		Listen string
	}
	if err := json.Unmarshal([]byte(line), &ready); err != nil || !ready.Ready {
		t.Fatalf("got %q, %v", line, err)
	}
	if r := command(ctx, newDaemon(t).Server, "", "get", "--server", "http://"+ready.Listen, "-o",
		"json"); r.code != 0 || !strings.Contains(r.stdout, `"items": []`) {
		t.Errorf("got %+v", r)
	}
	// The port is taken: another daemon says so and what to do.
	if r := command(ctx, newDaemon(t).Server, "", "serve", "--store", "memory:", "--listen",
		ready.Listen); r.code != 69 || !strings.Contains(r.stderr, "is another daemon running?") {
		t.Errorf("got %+v", r)
	}
	cancel()
	if code := <-exit; code != 0 {
		t.Errorf("serve exits with %d, want 0", code)
	}
}

// startDemo starts a demo with further flags, and says where it listens; talk is to be read when it has ended.
func startDemo(ctx context.Context, t *testing.T, flags ...string) (listen string, talk *bytes.Buffer, exit chan int) {
	t.Helper()
	out, in := io.Pipe()
	talk, exit = new(bytes.Buffer), make(chan int, 1)
	term := terminal.New(strings.NewReader(""), in, talk, func(string) string { return "" })
	go func() {
		exit <- run(ctx, term, append([]string{"demo", "--listen", "127.0.0.1:0"}, flags...))
		_ = in.Close() // a pipe's Close never fails
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var ready struct{ Listen string }
	if err := json.Unmarshal([]byte(line), &ready); err != nil {
		t.Fatal(err)
	}
	return ready.Listen, talk, exit
}

// The demo fires by itself, on the built-in example.
func TestDemo(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	listen, talk, exit := startDemo(ctx, t)
	// The last of a few frames comes only if it fires again and again.
	r := command(ctx, newDaemon(t).Server, "", "tail", "market_maker", "--topics", "firings", "-n", "3", "--server",
		"http://"+listen)
	if r.code != 0 || strings.Count(r.stdout, "criteria") != 3 {
		t.Errorf("got %+v", r)
	}
	cancel()
	if code := <-exit; code != 0 {
		t.Errorf("demo exits with %d, want 0", code)
	}
	if want := "graphd --server http://" + listen + " firings market_maker"; !strings.Contains(talk.String(),
		want) {
		t.Errorf("got %q, want %q in it", talk.String(), want)
	}
}

func TestServeRefusals(t *testing.T) {
	t.Parallel()
	server := newDaemon(t).Server
	for _, tc := range []struct {
		args string
		code int
		want string
	}{
		{"serve --listen 0.0.0.0:0 --store memory:", 78, "--insecure"},
		{"serve --store redis:x --listen 127.0.0.1:0", 78, "sqlite:PATH or memory:"},
		{"serve --log-level loud", 78, "log level"},
		{"serve now", 2, "graphd serve"},
	} {
		if r := command(t.Context(), server, "", strings.Fields(tc.args)...); r.code != tc.code ||
			!strings.Contains(r.stderr, tc.want) {
			t.Errorf("%s: got %+v, want %d and %q", tc.args, r, tc.code, tc.want)
		}
	}
}

// The schema as YAML says the same as the one that is JSON.
func TestSchemaYAML(t *testing.T) {
	t.Parallel()
	r := command(t.Context(), newDaemon(t).Server, "", "schema", "-o", "yaml")
	var got, want any
	if err := yaml.Unmarshal([]byte(r.stdout), &got); err != nil || r.code != 0 || strings.HasPrefix(r.stdout, "{") {
		t.Fatalf("exit %d, %v: %.80s", r.code, err, r.stdout)
	}
	if err := yaml.Unmarshal(graphd.Schema(), &want); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-json +yaml):\n%s", d)
	}
}
