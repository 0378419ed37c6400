package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/graphd/graphd/cmd/graphd/internal/settings"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
)

// Every mistake of a file is told at once, with its line, and what is hardly meant is told too.
func TestConfigValidate(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"broken", "odd", "right"} {
		args := []string{"config", "validate", filepath.Join("testdata", "config_"+name+".yaml")}
		golden(t, "config_"+name, transcript(args, command(t.Context(), newDaemon(t).Server, "", args...)))
	}
}

func TestConfigValidateForms(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text string
		code       int
		want       string
	}{
		{"nothing", "", 0, ""},
		{"comments alone", "# later\n", 0, ""},
		{"not YAML", "listen: [\n", 78, "config:1: not YAML: "},
		{"a list", "- listen\n", 78, "config:1:1: settings are written as KEY: VALUE\n"},
		{"two documents", "log_level: info\n---\nlog_level: warn\n", 78, "config:2:1: one document is read, "},
		{"an anchor", "kafka_brokers: &b [k:9]\nhosts: *b\n", 78, `config:2:1: hosts: host "k:9" is no name`},
		{"a name of the environment", "GRAPHD_LISTEN: x\n", 78, "did you mean listen?"},
		{"nothing like it", "zzzzzzzzzzzz: x\n", 78, "; graphd config settings lists them\n"},
		{"a name twice", "connections: [a=kafka://k:1, a=kafka://k:2]\n", 78, `1:1: connections: the connection "a"`},
		{"tenants", "tenants:\n  '*': { max_graphs: 3 }\n  acme: { allow_kinds: [sink.http], variables: " +
			"{ GRAPHD_VAR_X: 1 } }\n", 0, ""},
		{"a tenant's unknown key", "tenants:\n  acme: { max_grphs: 3 }\n", 78,
			`config:2:22: tenants: acme: a tenant has no setting "max_grphs"; did you mean max_graphs?`},
		{"a tenant's unknown kind", "tenants: { acme: { allow_kinds: [sink.x] } }\n", 78,
			`tenants: acme: cannot allow "sink.x"`},
		{"no tenant", "tenants: [acme]\n", 78, "tenants must be a mapping of tenants' names to their settings\n"},
		{"a mapping too deep", "tenants: { acme: { files_dir: { a: b } } }\n", 78, "files_dir must not be a mapping\n"},
		{"a tenant without keys", "tenants: { acme: x }\n", 78, "tenants.acme cannot have this value\n"},
		{"secrets among another's", "secrets_dir: /run/none\ntenants:\n  acme: { secrets_dir: /run/none/acme }\n",
			78, `2:1: tenants: the secrets of the tenant acme, in /run/none/acme, could be read by the tenant default`},
		{"files among another's secrets",
			"tenants: { a: { files_dir: /run/none/a }, b: { secrets_dir: /run/none } }\n", 78,
			"the files of the tenant a, in /run/none/a, could be read by the tenant b"},
		{"files among another's", "tenants: { a: { files_dir: /run/none/a }, b: { files_dir: /run/none } }\n", 0,
			"warning: tenants: the files of the tenant a, in /run/none/a, lie among the files of the tenant b"},
		{"secrets among another's files",
			"tenants: { a: { secrets_dir: /run/none/a }, b: { files_dir: /run/none } }\n", 0,
			"warning: tenants: the secrets of the tenant a, in /run/none/a, lie among the files of the tenant b"},
		{"files of two", "tenants: { a: { files_dir: /run/none }, b: { files_dir: /run/none } }\n", 0,
			"warning: tenants: the tenants a and b read and write the files of each other"},
		{"what a tenant has twice", "tenants:\n  acme: { cpu: 1, cpu: 2 }\n  b: {}\n  acme: { max_keys: 1 }\n", 78,
			"config:2:19: tenants.acme.cpu stands in line 2 already; leave one of them out\n" +
				"config:4:3: tenants.acme stands in line 2 already; leave one of them out\n"},
		{"a name twice in a tenant", "tenants:\n  a:\n    variables: { GRAPHD_VAR_X: 1, GRAPHD_VAR_X: 2 }\n", 78,
			"config:3:35: tenants.a.variables.GRAPHD_VAR_X stands in line 3 already; "},
		{"ranges and forms", "tenants:\n  acme:\n    max_graphs: many\n    cpu: 5000\n    max_keys: -1\n" +
			"    allow_kinds: [sink.x]\n    variables:\n      X: 1\n    kafka_brokers: [k]\n  Other: { cpu: 1 }\n", 78,
			`config:3:17: tenants: acme: max_graphs must be a whole number, and is "many"` + "\n" +
				"config:4:10: tenants: acme: cpu is a number of cores from 0.01 to 1024, 0.5 for half of one; leave " +
				"it out for no bound\n" +
				"config:5:15: tenants: acme: max_keys must be above 0; leave it out for no quota of its own\n" +
				`config:6:5: tenants: acme: cannot allow "sink.x"`},
		{"ranges behind forms", "tenants:\n  acme:\n    max_graphs: many\n    variables:\n      X: 1\n" +
			"    kafka_brokers: [k]\n  Other: { cpu: 1 }\n", 78,
			"config:5:7: tenants: acme: the variable X: its name must begin with GRAPHD_VAR_\n" +
				`config:6:5: tenants: acme: "k" is not host:port` + "\n"},
		{"no tenant's name", "tenants:\n  acme: { cpu: 1 }\n  Other: { cpu: 1 }\n", 78,
			`config:3:3: tenants: Other: "Other" cannot be a tenant: `},
		{"a quota of nothing", "tenants: { acme: { cpu: 0, max_outbound: 0, max_stored_bytes: 0 } }\n", 78,
			"config:1:25: tenants: acme: cpu must be above 0; leave it out for no quota of its own\n" +
				"config:1:42: tenants: acme: max_outbound must be above 0; leave it out for no quota of its own\n" +
				"config:1:63: tenants: acme: max_stored_bytes must be above 0; leave it out for no quota of its own\n"},
		{"limits of nothing", "max_outbound: 0\nmax_frames: 0\npush_timeout: 0s\ncapacity: 0\nmax_body: 0\n" +
			"trace_ratio: 0\n", 78,
			"config:1:15: max_outbound must be above 0; leave it out for its default, 256\n" +
				"config:2:13: max_frames must be above 0; leave it out for no bound\n" +
				"config:3:15: push_timeout must be above 0; leave it out for its default, 5s\n" +
				"config:5:11: max_body must be above 0; leave it out for its default, 8388608\n"},
		{"a list in a list", "hosts: [[a]]\n", 78, "config:1:9: hosts is a list of single values\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "config")
			if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			r := command(t.Context(), newDaemon(t).Server, "", "config", "validate", path)
			said := strings.ReplaceAll(r.stdout, path, "config")
			plain := settingCode.ReplaceAllString(said, "$1")
			if r.code != tc.code || !strings.Contains(plain, tc.want) {
				t.Errorf("got %+v, want %d and %q", r, tc.code, tc.want)
			}
			if n := len(settingCode.FindAllString(said, -1)); n != strings.Count(said, "\n") {
				t.Errorf("%d lines have a code: %s", n, said)
			}
		})
	}
}

// settingCode is the place of a mistake, and its code behind it.
var settingCode = regexp.MustCompile(`(?m)^(config(?::\d+)*: (?:warning: )?)(?:[a-z]+_[a-z]+): `)

// A start tells every mistake at once, wherever it stands, in the words of graphd config validate; and each of their
// codes is explained.
func TestStartTellsEveryMistake(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "graphd.yaml")
	text := "listn: x\nlease: 1ms\nmax_depth: 5000\nhosts: [a:1]\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	server := newDaemon(t).Server
	told := command(t.Context(), server, "", "config", "validate", path)
	env := map[string]string{"GRAPHD_PUSH_TIMEOUT": "soon", "GRAPHD_HOSTS": "b:2"}
	var errs strings.Builder
	term := terminal.New(strings.NewReader(""), io.Discard, &errs, func(name string) string { return env[name] })
	code := run(t.Context(), term, []string{"serve", "--config", path, "--auth", "maybe", "--max-graphs", "0",
		"--listen", "127.0.0.1:0", "--data", filepath.Join(t.TempDir(), "data")})
	got := errs.String()
	for line := range strings.Lines(told.stdout) {
		if strings.Contains(line, "hosts") {
			continue // of the environment, which goes before the file
		}
		if !strings.Contains(got, line) {
			t.Errorf("the start does not tell %s", line)
		}
	}
	for _, want := range []string{
		`GRAPHD_PUSH_TIMEOUT: setting_form: push_timeout must be a duration such as 500ms, 5s or 2m, and is "soon"`,
		`GRAPHD_HOSTS: setting_invalid: hosts: host "b:2" is no name`, `--auth: setting_invalid: auth "maybe": write`,
		"--max-graphs: setting_invalid: max_graphs must be above 0; leave it out for its default, 10000",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the start does not tell %s", want)
		}
	}
	if n := strings.Count(got, "\n"); code != 78 || n != 7 {
		t.Errorf("exit %d, %d lines:\n%s", code, n, got)
	}
	for _, word := range []string{settings.CodeNotYAML, settings.CodeUnknown, settings.CodeTwice, settings.CodeForm,
		settings.CodeInvalid, settings.CodeElsewhere, settings.CodeUnlikely} {
		if r := command(t.Context(), server, "", "explain", word); r.code != 0 ||
			!strings.Contains(r.stdout, "docs/codes.md, Of settings") {
			t.Errorf("explain %s: %+v", word, r)
		}
	}
}

// The address of the store may stand in a file, which no declaration can read, and whose words nobody is told.
func TestStoreInAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cmd, c, _ := flagsOfServe(t, "--store", "file:"+write("memory", "memory:\n"))
	given, err := settings.Gather(cmd.Flags(), func(string) string { return "" })
	if err != nil || len(given.Mistakes) > 0 || c.Store != "memory:" || len(given.Files) != 1 {
		t.Errorf("%+v, %v: the store is %q", given, err, c.Store)
	}
	for _, text := range []string{"", "file:other", "mysql://u:hunter2@db/shop"} {
		path := write("bad", text)
		cmd, c, log := flagsOfServe(t, "--store", "file:"+path)
		given, err := settings.Gather(cmd.Flags(), func(string) string { return "" })
		if err != nil {
			t.Fatal(err)
		}
		found := judged(given.Mistakes, given.At, c, *log, "auto")
		if said := settings.Wrong(found).Error(); len(found) != 1 || strings.Contains(said, "hunter2") ||
			!strings.HasPrefix(said, "--store: setting_invalid: store: ") {
			t.Errorf("%q: %s", text, said)
		}
	}
	dsn := write("dsn", "postgres://u:hunter2@db/shop\n")
	for text, want := range map[string]string{
		"store: file:" + dsn + "\n": "", "store: file:/nowhere/dsn\n": "setting_elsewhere: not on this machine: store",
	} {
		said := settings.Wrong(checkConfig("graphd.yaml", []byte(text))).Error()
		if (want == "") != (said == "") || !strings.Contains(said, want) || strings.Contains(said, "hunter2") {
			t.Errorf("%s: %s", text, said)
		}
	}
}

// A warning is a mistake where that is asked for, and data for programs.
func TestConfigValidateStrict(t *testing.T) {
	t.Parallel()
	odd := filepath.Join("testdata", "config_odd.yaml")
	for _, tc := range []struct {
		code int
		args []string
	}{
		{0, []string{odd}}, {78, []string{odd, "--strict"}}, {0, []string{odd, "-o", "json"}},
		{3, []string{"none.yaml"}},
	} {
		r := command(t.Context(), newDaemon(t).Server, "", append([]string{"config", "validate"}, tc.args...)...)
		if r.code != tc.code || strings.Contains(r.stdout, "s3cret") {
			t.Errorf("%v: got %+v, want exit %d", tc.args, r, tc.code)
		}
		if len(tc.args) == 3 && !strings.Contains(r.stdout, `"severity": "warning"`) {
			t.Errorf("got %s", r.stdout)
		}
	}
}

// Every flag of serve has a key in the file and a name in the environment, and both do what it does.
func TestEverySettingHasAKey(t *testing.T) {
	t.Parallel()
	// A value that is not the default, by what the flag takes; written as in a file.
	values := map[string]string{
		"bool": "true", "int": "7", "int64": "7", "duration": "7s", "string": "seven", "stringSlice": "[seven, eight]",
		"float64": "0.7", "stringArray": "{ seven: eight }", "tenants": "{ seven.max_graphs: 8 }",
	}
	read := func(f *pflag.Flag, text string, env map[string]string) string {
		env["GRAPHD_CONFIG"] = filepath.Join(t.TempDir(), "graphd.yaml")
		if err := os.WriteFile(env["GRAPHD_CONFIG"], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd, _, _ := flagsOfServe(t)
		if err := settings.Fill(cmd.Flags(), func(name string) string { return env[name] }); err != nil {
			t.Errorf("--%s: %v", f.Name, err)
		}
		return cmd.Flag(f.Name).Value.String()
	}
	cmd, _, _ := flagsOfServe(t)
	n := 0
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !settings.In(f) {
			return
		}
		n++
		value := values[f.Value.Type()]
		inFile := read(f, settings.Key(f.Name)+": "+value+"\n", map[string]string{})
		plain := strings.NewReplacer("[", "", "]", "", ", ", ",", "{ ", "", " }", "", ": ", "=").Replace(value)
		inEnv := read(f, "", map[string]string{settings.Env(f.Name): plain})
		if err := f.Value.Set(plain); err != nil {
			t.Fatal(err)
		}
		if want := f.Value.String(); inFile != want || inEnv != want || want == f.DefValue {
			t.Errorf("--%s is %s, from the file %s, from the environment %s", f.Name, want, inFile, inEnv)
		}
	})
	if n < 25 {
		t.Errorf("only %d flags were found", n)
	}
}

const settingsPage = "../../docs/configuration.md"

// The page has every setting as the flags tell it: write it anew with -update.
func TestSettingsPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(settingsPage)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- settings: begin -->\n", "<!-- settings: end -->"
	before, rest, ok := strings.Cut(string(text), begin)
	shown, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", settingsPage)
	}
	var table strings.Builder
	table.WriteString("| key | is | default | |\n|---|---|---|---|\n")
	for _, s := range serveSettings() {
		def := s.Default
		if s.Default != "" && !strings.Contains(s.Default, " ") {
			def = "`" + def + "`"
		}
		meaning := strings.NewReplacer("|", "\\|", "NAME=", "`NAME`=").Replace(s.Meaning)
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", s.Key, s.Type, def, meaning)
	}
	if *update {
		if err := os.WriteFile(settingsPage, []byte(before+begin+table.String()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(shown, table.String()); d != "" {
		t.Errorf("%s does not tell of the flags as they are; go test ./cmd/graphd -run TestSettingsPage -update "+
			"writes it anew (-page +flags):\n%s", settingsPage, d)
	}
}

// The service of systemd has a configuration without a mistake, more time to stop than the daemon takes, and what
// systemd itself has nothing to say about, where there is one.
func TestSystemdService(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "..", "deploy", "systemd")
	text, err := os.ReadFile(filepath.Join(dir, "graphd.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range checkConfig("graphd.yaml", text) {
		if m.Severity == settings.Error || !strings.Contains(m.Detail, "not on this machine") {
			t.Error(m.String())
		}
	}
	unit, err := os.ReadFile(filepath.Join(dir, "graphd.service"))
	if err != nil {
		t.Fatal(err)
	}
	stop := regexp.MustCompile(`(?m)^TimeoutStopSec=(\d+)$`).FindStringSubmatch(string(unit))
	takes := regexp.MustCompile(`(?m)^shutdown_timeout: (\d+)s`).FindStringSubmatch(string(text))
	if len(stop) < 2 || len(takes) < 2 || len(stop[1]) != len(takes[1]) || stop[1] <= takes[1] {
		t.Errorf("the service is given %v to stop, and the daemon takes %v", stop, takes)
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not here")
	}
	// The binary is not installed where the test runs.
	path := filepath.Join(t.TempDir(), "graphd.service")
	there := strings.ReplaceAll(string(unit), "/usr/local/bin/graphd", "/bin/true")
	if n := strings.Count(there, "\n#LoadCredential="); n < 5 {
		t.Errorf("it shows %d secrets as credentials", n)
	}
	there = regexp.MustCompile(`(?m)^#(LoadCredential|Environment)=`).ReplaceAllString(there, "$1=")
	for _, m := range regexp.MustCompile(`=GRAPHD_(\w+)=%d`).FindAllStringSubmatch(there, -1) {
		key := strings.ToLower(m[1])
		if !slices.ContainsFunc(serveSettings(), func(s settings.Setting) bool { return s.Key == key }) {
			t.Errorf("there is no setting of GRAPHD_%s", m[1])
		}
	}
	if err := os.WriteFile(path, []byte(there), 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.Command(analyze, "verify", path).CombinedOutput(); err != nil || len(said) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, said)
	}
	// In tenths: 10 would be no protection at all.
	said, err := exec.Command(analyze, "security", "--offline=true", "--threshold=20", path).CombinedOutput()
	if err != nil {
		t.Errorf("systemd-analyze security: %v\n%s", err, said)
	}
}
