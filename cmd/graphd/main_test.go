package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/testbed/leaks"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) { leaks.Main(m) }

// now is the time in all tests.
var now = time.Date(2026, 11, 20, 10, 0, 10, 0, time.UTC)

// result is what a command line left behind.
type result struct {
	code           int
	stdout, stderr string
}

// command carries out a command line against a daemon.
func command(ctx context.Context, server *httptest.Server, stdin string, args ...string) result {
	var out, errs bytes.Buffer
	env := map[string]string{"GRAPHD_SERVER": server.URL}
	term := terminal.New(strings.NewReader(stdin), &out, &errs, func(name string) string { return env[name] })
	term.Now, term.Soon = func() time.Time { return now }, time.Minute // this machine may be slow
	code := run(ctx, term, args)
	hide := strings.NewReplacer(server.URL, "http://daemon")
	return result{code, hide.Replace(out.String()), hide.Replace(errs.String())}
}

// transcript is a command line with all it left behind, as a golden file has it.
func transcript(args []string, r result) string {
	var s strings.Builder
	fmt.Fprintf(&s, "$ graphd %s\n[exit %d]\n", strings.Join(args, " "), r.code)
	for _, stream := range []struct{ name, text string }{{"stdout", r.stdout}, {"stderr", r.stderr}} {
		if stream.text != "" {
			fmt.Fprintf(&s, "--- %s\n%s", stream.name, stream.text)
		}
	}
	return s.String()
}

// golden compares got with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; make it with -update", err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", path, d)
	}
}

// TestOutput holds what every verb prints and exits with.
func TestOutput(t *testing.T) {
	t.Parallel()
	server := newDaemon(t).Server
	dir := filepath.Join("testdata", "declarations")
	for _, tc := range []struct {
		name, stdin string
		args        string
	}{
		{name: "help", args: "--help"},
		{name: "fire_help", args: "fire --help"},
		{name: "get", args: "get"},
		{name: "get_one", args: "get market_maker"},
		{name: "get_yaml", args: "get market_maker -o yaml"},
		{name: "history", args: "history market_maker"},
		{name: "history_json", args: "history market_maker -o json"},
		{name: "history_one", args: "history market_maker 2"},
		{name: "history_bad", args: "history market_maker x"},
		{name: "rollback", args: "rollback market_maker"},
		{name: "rollback_dry", args: "rollback market_maker 2 --dry-run -o json"},
		{name: "rollback_unknown", args: "rollback market_maker 1"},
		{name: "get_none", args: "get --tenant empty"},
		{name: "get_json", args: "get -o json --tenant empty"},
		{name: "get_unknown", args: "get market_makr"},
		{name: "get_wide", args: "get -o wide"},
		{name: "get_unknown_json", args: "get market_makr -o json"},
		{name: "get_unknown_yaml", args: "get market_makr -o yaml"},
		{name: "usage_json", args: "get --frmat x -o json"},
		{name: "apply_argument", args: "apply " + filepath.Join(dir, "market_maker.yaml")},
		{name: "apply_invalid_json", args: "apply -o json -f -", stdin: "graph: broken\n"},
		{name: "push_file", args: "push market_maker orderbook -f testdata/orderbook.ndjson"},
		{name: "dead_letters_wide", args: "dead-letters market_maker -o wide"},
		{name: "describe_wide", args: "describe market_maker -o wide"},
		{name: "get_far", args: "get zzz"},
		{name: "describe", args: "describe market_maker"},
		{name: "describe_dealt", args: "describe dealt"},
		{name: "describe_dealt_wide", args: "describe dealt -o wide"},
		{name: "describe_shard", args: "describe dealt --shard 17"},
		{name: "get_dealt", args: "get dealt -o wide"},
		{name: "state_shard", args: "state dealt --shard 17"},
		{name: "firings_shard", args: "firings dealt --shard 17"},
		{name: "firings_shard_key", args: "firings dealt --shard 17 --key x"},
		{name: "pause_dealt", args: "pause dealt"},
		{name: "pause_dealt_json", args: "pause dealt -o json"},
		{name: "describe_failed", args: "describe flights"},
		{name: "delete", args: "delete market_maker --state keep"},
		{name: "delete_unsaid", args: "delete market_maker"},
		{name: "apply", args: "apply -f " + filepath.Join(dir, "market_maker.yaml")},
		{name: "apply_dry", args: "apply --dry-run -f " + filepath.Join(dir, "market_maker.yaml")},
		{name: "apply_stdin", args: "apply -f -", stdin: "graph: market_maker\n"},
		{name: "apply_trouble", args: "apply -f -", stdin: "graph: fileless\n"},
		{name: "apply_invalid", args: "apply -f -", stdin: "graph: broken\n"},
		{name: "apply_folder", args: "apply -f " + dir},
		{name: "apply_conflict", args: "apply -f - --revision 2", stdin: "graph: market_maker\n"},
		{name: "apply_nameless", args: "apply -f -", stdin: "nodes: {}\n"},
		{name: "apply_set", args: "apply testdata/reuse/scaled.yaml --set factor=3"},
		{name: "apply_included_invalid", args: "apply testdata/reuse/broken.yaml"},
		{name: "apply_set_unknown", args: "apply testdata/reuse/scaled.yaml --set facter=3"},
		{name: "diff_set", args: "diff testdata/reuse/scaled.yaml --set facter=3"},
		{name: "lint", args: "lint testdata/lint.yaml"},
		{name: "lint_broken", args: "lint testdata/broken.yaml testdata/lint.yaml testdata/lint_clean.yaml"},
		{name: "lint_clean", args: "lint testdata/lint_clean.yaml"},
		{name: "diff", args: "diff testdata/lint.yaml testdata/lint_clean.yaml"}, {name: "diff_none", args: "diff"},
		{name: "diff_same", args: "diff testdata/lint.yaml testdata/lint.yaml"},
		{name: "diff_live", args: "diff " + filepath.Join(dir, "market_maker.yaml")},
		{name: "explain_field", args: "explain reactor.rate_limit"},
		{name: "explain_code", args: "explain unknown_field"},
		{name: "explain_lint", args: "explain mixed_strategies -o json"},
		{name: "explain_near", args: "explain unknow_field"},
		{name: "apply_not_yaml", args: "apply -f -", stdin: "graph: [a\nnodes: }\n"},
		{name: "apply_no_fields", args: "apply -f -", stdin: "just words\n"},
		{name: "apply_no_file", args: "apply -f testdata/none.yaml"}, {name: "apply_nothing", args: "apply"},
		{name: "push", args: "push market_maker orderbook", stdin: `{"bid":1}` + "\n" + `{"bid":2}`},
		{name: "push_no_input", args: "push market_maker testdata/orderbook.ndjson"},
		{name: "push_array", args: "push market_maker orderbook - -o json", stdin: ` [{"bid":1},{"bid":2}] `},
		{name: "push_rejected", args: "push market_maker orderbook", stdin: `{"bid":1} "bad" {"bid":2} "bad"`},
		{name: "push_all_rejected", args: "push market_maker orderbook", stdin: `"bad"`},
		{name: "push_lines", args: "push market_maker orderbook", stdin: "{\"bid\":1}\n\nnonsense\n{\"bid\":2}"},
		{name: "push_open_array", args: "push market_maker orderbook", stdin: `[1, 2`},
		{name: "push_behind_array", args: "push market_maker orderbook", stdin: `[1, 2] 3`},
		{name: "push_not_json", args: "push market_maker orderbook", stdin: `{"bid":1} nonsense`},
		{name: "push_empty", args: "push market_maker orderbook", stdin: " \n"},
		{name: "push_full", args: "push market_maker full --no-wait", stdin: `1 2 3`},
		{name: "fire", args: "fire market_maker"},
		{name: "fire_with", args: "fire market_maker --with - --no-replace --key AAPL -o json",
			stdin: "pricing: { fair: 101 }\n"},
		{name: "fire_failed", args: "fire flights"},
		{name: "fire_aside_alone", args: "fire market_maker --no-replace"},
		{name: "pause", args: "pause market_maker"},
		{name: "resume", args: "resume market_maker"},
		{name: "step", args: "step market_maker 3"},
		{name: "step_bad", args: "step market_maker x"},
		{name: "step_conflict", args: "step flights"},
		{name: "checkpoint", args: "checkpoint market_maker"},
		{name: "drain", args: "drain market_maker"},
		{name: "restart", args: "restart market_maker orderbook"},
		{name: "restart_unknown", args: "restart market_maker ordrbook"},
		{name: "stop_input", args: "stop market_maker orderbook"},
		{name: "stop_unknown", args: "stop market_maker ordrbook"},
		{name: "stop_both", args: "stop market_maker orderbook --input --output-name"},
		{name: "start_output", args: "start market_maker signals"},
		{name: "skip_lost", args: "skip-lost market_maker orderbook"},
		{name: "reset_unsaid", args: "reset market_maker"},
		{name: "rewind_unsaid", args: "rewind market_maker orderbook start"},
		{name: "backup_there", args: "backup testdata/pricing.csv"},
		{name: "state", args: "state market_maker"},
		{name: "state_row", args: "state market_maker --row merchants=m1"},
		{name: "state_row_none", args: "state market_maker --row merchants=m2"},
		{name: "state_row_unsaid", args: "state market_maker --row merchants"},
		{name: "state_json", args: "state market_maker -o json"},
		{name: "firings", args: "firings market_maker"}, {name: "firing", args: "firings market_maker 1042"},
		{name: "keys", args: "keys market_maker --search EU --sort waiting --before c1 --limit 2"},
		{name: "firing_failed", args: "firings market_maker 1041"},
		{name: "firing_unknown", args: "firings market_maker 7"},
		{name: "firing_not_a_number", args: "firings market_maker last"},
		{name: "why", args: "why market_maker 1042"},
		{name: "why_nothing", args: "why market_maker last"},
		{name: "why_not", args: "why-not market_maker --output-name signals"},
		{name: "dead_letters", args: "dead-letters market_maker"},
		{name: "dead_letters_replay", args: "dead-letters market_maker replay dl1 dl2"},
		{name: "dead_letters_replay_all", args: "dead-letters market_maker replay --all"},
		{name: "dead_letters_preview", args: "dead-letters market_maker replay --preview dl1 dl2"},
		{name: "dead_letters_discard", args: "dead-letters market_maker discard dl1"},
		{name: "dead_letters_discard_none", args: "dead-letters market_maker discard dl9"},
		{name: "dead_letters_discard_preview", args: "dead-letters market_maker discard --all --preview"},
		{name: "dead_letters_unsaid", args: "dead-letters market_maker discard"},
		{name: "dead_letters_ids_and_all", args: "dead-letters market_maker replay --all dl1"},
		{name: "dead_letters_limit", args: "dead-letters market_maker replay --limit 2"},
		{name: "dead_letters_of_nothing", args: "dead-letters market_maker replay --code htp_400"},
		{name: "dead_letters_waiting", args: "dead-letters market_maker replay --code http_400"},
		{name: "dead_letters_verb", args: "dead-letters market_maker replya"},
		{name: "recovery_events", args: "recovery-events market_maker"},
		{name: "tree", args: "tree"},
		{name: "limits", args: "limits"},
		{name: "health", args: "health"},
		{name: "health_json", args: "health -o json"},
		{name: "denied", args: "get secret"},
		{name: "unavailable", args: "get away"},
		{name: "unknown_verb", args: "pausee market_maker"},
		{name: "unknown_flag", args: "get --frmat json"},
		{name: "wrong_format", args: "get -o xml"},
		{name: "wrong_server", args: "get --server ftp://localhost:8080"},
		{name: "too_many", args: "pause a b"},
		{name: "too_few", args: "rewind market_maker"},
		{name: "near_flag", args: "apply --dryrun"},
		{name: "page_of_nothing", args: "firings market_maker --limit 0"},
		{name: "fire_with_list", args: "fire market_maker --with -", stdin: "[1]\n"},
		{name: "explain_concept", args: "explain boundary"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			args := strings.Fields(tc.args)
			golden(t, tc.name, transcript(args, command(t.Context(), server, tc.stdin, args...)))
		})
	}
}

// A daemon that is not there is exit code 69, one that does not answer 75, an interrupt 1.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	daemon := newDaemon(t)
	gone := httptest.NewServer(nil)
	gone.Close()
	if r := command(t.Context(), gone, "", "get"); r.code != 69 ||
		!strings.Contains(r.stderr, "no daemon answers at http://daemon: connection refused; start one") {
		t.Errorf("no daemon: got %+v", r)
	}
	if r := command(t.Context(), daemon.Server, "", "get", "slow", "--timeout", "20ms"); r.code != 75 ||
		!strings.Contains(r.stderr, "within 20ms; --timeout waits longer") {
		t.Errorf("slow daemon: got %+v", r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-daemon.slow
		cancel()
	}()
	if r := command(ctx, daemon.Server, "", "get", "slow"); r.code != 1 || r.stderr != "graphd: interrupted\n" {
		t.Errorf("interrupt: got %+v", r)
	}
}

// What the verbs send: the golden files hold what they print.
func TestRequests(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ args, stdin, want string }{
		{"get", "", "GET /v1/graphs"},
		{"get --tenant acme", "", "GET /v1/graphs tenant=acme"},
		{"delete market_maker --state delete", "", "DELETE /v1/graphs/market_maker?state=delete"},
		{
			"apply -f - --revision 3", "graph: market_maker\n",
			`PUT /v1/graphs/market_maker if-match="3" graph: market_maker`,
		},
		{
			"apply -f - --set a=2", "graph: market_maker # it\nvars: { a: 1 }\n",
			"PUT /v1/graphs/market_maker graph: market_maker # it/vars: { a: 2 }",
		},
		{"apply -f - --dry-run", "graph: market_maker\n", "PUT /v1/graphs/market_maker?dry_run=1 graph: market_maker"},
		{"fire market_maker", "", `POST /v1/graphs/market_maker/fire {"mode":"force"}`},
		{
			"fire market_maker --with - --no-replace --key AAPL", "pricing: { fair: 101 }",
			`POST /v1/graphs/market_maker/fire {"mode":"with","cache":{"pricing":{"fair":101}},"replace":false,` +
				`"key":"AAPL"}`,
		},
		{
			"fire market_maker --with -", `{"pricing":{"fair":1.10}}`,
			`POST /v1/graphs/market_maker/fire {"mode":"with","cache":{"pricing":{"fair":1.10}}}`,
		},
		{`fire market_maker --key ["A",1]`, "", `POST /v1/graphs/market_maker/fire {"mode":"force","key":["A",1]}`},
		{"step market_maker 3", "", `POST /v1/graphs/market_maker/step {"n":3}`},
		{"step market_maker", "", `POST /v1/graphs/market_maker/step {"n":1}`},
		{"restart market_maker orderbook", "", `POST /v1/graphs/market_maker/restart {"accumulator":"orderbook"}`},
		{"stop market_maker orderbook --input", "", `POST /v1/graphs/market_maker/stop {"accumulator":"orderbook"}`},
		{"why market_maker 2/17", "", "GET /v1/graphs/market_maker/why?epoch=17&shard=2"},
		{"why market_maker 6ba7b810-9dad-51d1-80b4-00c04fd430c8", "",
			"GET /v1/graphs/market_maker/why?firing_id=6ba7b810-9dad-51d1-80b4-00c04fd430c8"},
		{"why-not market_maker --key x --since 5m", "", "GET /v1/graphs/market_maker/why-not?key=x&since=5m"},
		{"start market_maker orderbook --output-name", "", `POST /v1/graphs/market_maker/start {"output":"orderbook"}`},
		{"skip-lost market_maker orderbook", "", `POST /v1/graphs/market_maker/skip-lost {"accumulator":"orderbook"}`},
		{"reset market_maker --yes", "", `POST /v1/graphs/market_maker/reset {"confirm":"market_maker"}`},
		{
			"rewind market_maker orderbook start --yes", "",
			`POST /v1/graphs/market_maker/accumulators/orderbook/rewind {"confirm":"market_maker","position":"start"}`,
		},
		{"state market_maker --key AAPL", "", "GET /v1/graphs/market_maker/state?key=AAPL"},
		{
			"firings market_maker --limit 5 --before c7 --key AAPL", "",
			"GET /v1/graphs/market_maker/firings?before=c7&key=AAPL&limit=5",
		},
		{"firings market_maker 2/1042", "", "GET /v1/graphs/market_maker/firings/1042?shard=2"},
		{
			"push market_maker orderbook", "{\"a\":\n1}\n[2]",
			`POST /v1/graphs/market_maker/accumulators/orderbook/events {"a":1}/[2]/`,
		},
		{
			"push market_maker orderbook", "{\"a\": 1}\r\n\n [2] \n3",
			`POST /v1/graphs/market_maker/accumulators/orderbook/events {"a": 1}/[2]/3/`,
		},
	} {
		daemon := newDaemon(t)
		if r := command(t.Context(), daemon.Server, tc.stdin, strings.Fields(tc.args)...); r.code != 0 {
			t.Errorf("%s: exit %d: %s", tc.args, r.code, r.stderr)
		}
		if d := cmp.Diff([]string{tc.want}, daemon.requests()); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.args, d)
		}
	}
}

// A push of many events goes out in requests of a bounded size, in order; a full queue is
// waited for and nothing is sent twice or left out.
func TestPushInParts(t *testing.T) {
	t.Parallel()
	daemon := newDaemon(t)
	var in strings.Builder
	const n = 2500
	for i := range n {
		fmt.Fprintf(&in, "%d\n", i)
	}
	r := command(t.Context(), daemon.Server, in.String(), "push", "market_maker", "filling")
	if r.code != 0 || !strings.HasPrefix(r.stdout, "2500 accepted") {
		t.Fatalf("got %+v", r)
	}
	got := daemon.pushed()
	if len(got) != n {
		t.Fatalf("%d events arrived, want %d", len(got), n)
	}
	for i, event := range got {
		if event != fmt.Sprint(i) {
			t.Fatalf("event %d is %s", i, event)
		}
	}
	// 1000, of which 600 did not fit: 1, 4, 16, 64, 256 and 259 of those, for what is refused counts; 1000, 500
	if parts := len(daemon.requests()); parts != 9 {
		t.Errorf("%d requests, want 9", parts)
	}
}

// Large events go out in requests of a bounded size too.
func TestPushInPartsBySize(t *testing.T) {
	t.Parallel()
	daemon := newDaemon(t)
	event := `"` + strings.Repeat("x", 600<<10) + `"` + "\n"
	if r := command(t.Context(), daemon.Server, strings.Repeat(event, 3), "push", "market_maker",
		"orderbook"); r.code != 0 {
		t.Fatalf("got %+v", r)
	}
	if parts := len(daemon.requests()); parts != 2 {
		t.Errorf("%d requests, want 2", parts)
	}
}

// All dead letters are those of every page, and they are replayed oldest first: in the
// order in which their events came.
func TestReplayAll(t *testing.T) {
	t.Parallel()
	daemon := newDaemon(t)
	if r := command(t.Context(), daemon.Server, "", "dead-letters", "market_maker", "replay", "--all"); r.code != 0 {
		t.Fatalf("got %+v", r)
	}
	const base = "/v1/graphs/market_maker/dead-letters"
	want := []string{
		`POST ` + base + `/replay {"all":true,"limit":100}`,
		`POST ` + base + `/replay {"all":true,"limit":100,"after":"dl1..dl3"}`,
	}
	if d := cmp.Diff(want, daemon.requests()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// Rejected events keep their places in the input over all requests.
func TestPushRejectedIndexes(t *testing.T) {
	t.Parallel()
	var in strings.Builder
	for i := range 1200 {
		if i == 1100 {
			in.WriteString(`"bad"` + "\n")
			continue
		}
		in.WriteString("1\n")
	}
	r := command(t.Context(), newDaemon(t).Server, in.String(), "push", "market_maker", "orderbook")
	if r.code != 1 || !strings.Contains(r.stderr, "event 1101: schema: ") {
		t.Errorf("got %+v, want event 1101 rejected", r)
	}
}
