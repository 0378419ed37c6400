package docs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// The pages are run as a reader would follow them, each in a folder and with a daemon of its own:
//
//   - every declaration is there as GRAPH.yaml, and every test document as GRAPH_test.yaml, once its place
//     on the page has been reached; a block that begins with "# FOLDER/NAME.yaml" is there under that name;
//   - of a block "console" the lines behind "$ " are run by a shell, in order. What the page shows behind
//     one has to come out, times, durations, ids and positions aside; a line "…" stands for any lines, "…" at the end
//     of a line for its rest. With "exit=N" the block's last command ends with that code;
//   - "<!-- setup: COMMAND -->" before a block runs what its text has the reader do, "<!-- setup: stop -->"
//     ends the daemon;
//   - the binary is built once, so "make TARGET" is only asked what it would do;
//   - "console skip: REASON" is not run; there is none so far, and maxSkips is raised for a good reason only.
const (
	skipMark   = "console skip: "
	maxSkips   = 0
	stepLimit  = time.Minute
	everywhere = "127.0.0.1:8080" // the address that pages show; the daemon of a test has another
)

var exitMark = regexp.MustCompile(`\bexit=(\d+)`)

// shownCommand is a command line of a console block, and what the page shows behind it.
type shownCommand struct {
	text  string
	shown []string
}

// shownCommands are what a reader would type: the lines of a console block that begin with $.
func shownCommands(b *block) []shownCommand {
	var list []shownCommand
	goesOn := false
	for line := range strings.Lines(b.text) {
		line = strings.TrimRight(line, "\n")
		command, prompt := strings.CutPrefix(line, "$ ")
		switch {
		case prompt:
			list = append(list, shownCommand{text: command})
		case len(list) == 0:
			continue
		case goesOn: // the line before ended with |
			list[len(list)-1].text += "\n" + line
		default:
			last := &list[len(list)-1]
			last.shown = append(last.shown, line)
		}
		goesOn = (prompt || goesOn) && strings.HasSuffix(line, "|")
	}
	return list
}

// runPages follows every page.
func runPages(t *testing.T, binary string) {
	if runtime.GOOS == "windows" {
		t.Skip("the pages are written for a POSIX shell")
	}
	skips := 0
	for _, p := range pages(t) {
		follow := false
		for _, b := range p.blocks {
			follow = follow || strings.HasPrefix(b.info, "console")
			reason, skip := strings.CutPrefix(b.info, skipMark)
			switch {
			case skip && len(strings.Fields(reason)) < 3:
				t.Errorf("%s:%d: a skipped block says why: %s", p.path, b.line, b.info)
			case skip:
				skips++
			}
		}
		if follow {
			t.Run(p.path, func(t *testing.T) {
				t.Parallel()
				newReader(t, binary).follow(&p)
			})
		}
	}
	if skips > maxSkips {
		t.Errorf("%d blocks are skipped, at most %d may be", skips, maxSkips)
	}
}

// reader follows one page.
type reader struct {
	t      *testing.T
	binary string
	root   string // of the module
	dir    string // where the page's commands run
	ids    map[string]string
	daemon *pageDaemon // nil until the page starts one
	ran    int
}

func newReader(t *testing.T, binary string) *reader {
	t.Helper()
	dir := t.TempDir()
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(root, "examples"), filepath.Join(dir, "examples")); err != nil {
		t.Fatal(err)
	}
	r := &reader{t: t, binary: binary, root: root, dir: dir, ids: map[string]string{}}
	t.Cleanup(func() {
		if r.daemon != nil {
			r.daemon.stop(t)
		}
	})
	return r
}

func (r *reader) follow(p *page) {
	for i := range p.blocks {
		b := &p.blocks[i]
		for _, command := range b.setup {
			if why := r.run(shownCommand{text: command}, 0, nil); why != "" {
				r.t.Errorf("%s:%d: setup: %s\n%s", p.path, b.line, command, why)
			}
		}
		if strings.HasPrefix(b.info, "yaml") {
			r.save(b)
		}
		if strings.HasPrefix(b.info, "console") && !strings.HasPrefix(b.info, skipMark) {
			r.block(p, b)
		}
	}
	if r.ran == 0 && !strings.HasPrefix(p.path, "docs/decisions/") {
		r.t.Errorf("%s: no command was run", p.path)
	}
}

func (r *reader) block(p *page, b *block) {
	commands := shownCommands(b)
	want := 0
	if m := exitMark.FindStringSubmatch(b.info); m != nil {
		if _, err := fmt.Sscan(m[1], &want); err != nil {
			r.t.Fatal(err)
		}
	}
	for i, c := range commands {
		code := 0
		if i == len(commands)-1 {
			code = want
		}
		r.ran++
		if why := r.run(c, code, commands[:i]); why != "" {
			r.t.Errorf("%s:%d: $ %s\n%s", p.path, b.line, c.text, why)
		}
	}
}

var (
	startsDaemon = regexp.MustCompile(`^(?:graphd|go run \./cmd/graphd) (serve|demo)\b(.*)$`)
	ofTheMoment  = regexp.MustCompile(`\bmarket_maker\b`) // what the demo makes depends on when one looks
)

// run runs one command until it gives what the page shows, and tells what is wrong if it never
// does. What comes before it in its block is what a tail looks at.
func (r *reader) run(c shownCommand, code int, before []shownCommand) string {
	if c.text == "stop" && r.daemon != nil {
		r.daemon.stop(r.t)
		r.daemon = nil
		return ""
	}
	if m := startsDaemon.FindStringSubmatch(c.text); m != nil {
		return r.start(m[1], m[2], c.shown, code)
	}
	if strings.HasPrefix(c.text, "graphd tail") {
		return r.tail(c, before)
	}
	for deadline := time.Now().Add(stepLimit); ; {
		began := time.Now()
		out, got := r.shell(c.text)
		if time.Since(began) > takesEffect && strings.HasPrefix(c.text, "graphd apply ") {
			out = onItsWay.ReplaceAllString(out, "live")
		}
		why := ""
		if got != code {
			why = fmt.Sprintf("exit code %d, want %d\n%s", got, code, out)
		} else {
			why = compareShown(certain(&c), out)
		}
		if why == "" {
			r.learn(c.shown, out)
			return ""
		}
		if !looks.MatchString(c.text) || time.Now().After(deadline) {
			return why
		}
		<-time.After(20 * time.Millisecond)
	}
}

// certain is what a command shows whenever it is run: all of it, but of the demo's graph, which is
// about made-up data at the moment, only how it begins.
func certain(c *shownCommand) []string {
	if !ofTheMoment.MatchString(c.text) || len(c.shown) == 0 {
		return c.shown
	}
	head, _, _ := strings.Cut(c.shown[0], " ")
	return []string{head + anyLines, anyLines}
}

// looks matches commands that change nothing, and may be repeated until the graph is where the page is.
var looks = regexp.MustCompile(`^graphd (get|describe|firings|state|dead-letters|recovery-events|limits|tree|why|` +
	`why-not|keys|members)\b`)

// takesEffect is how long the answer to a change waits for its graph to run. On a machine that takes longer for that it
// tells the health by then, which is onItsWay.
const takesEffect = time.Second

var onItsWay = regexp.MustCompile(`\b(starting|warming)\b`)

// learn keeps which id of this run stands for an id that the page shows.
func (r *reader) learn(shown []string, out string) {
	id := regexp.MustCompile(deadLetterID)
	is, was := id.FindString(out), id.FindString(strings.Join(shown, "\n"))
	if is != "" && was != "" {
		r.ids[was] = is
	}
}

// shell runs a command as the page's reader, and gives what it printed.
func (r *reader) shell(command string) (out string, code int) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), stepLimit)
	defer cancel()
	cmd := r.command(ctx, "sh", "-c", r.here(command))
	data, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		r.t.Fatalf("%s: %v", command, err)
	}
	return string(data), cmd.ProcessState.ExitCode()
}

func (r *reader) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.WaitDelay = r.dir, time.Second // and what a page keeps as contexts is not the tester's
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(r.binary)+string(os.PathListSeparator)+os.Getenv("PATH"),
		"XDG_CONFIG_HOME="+r.dir)
	if r.daemon != nil {
		cmd.Env = append(cmd.Env, "GRAPHD_SERVER=http://"+r.daemon.addr)
	}
	return cmd
}

// here is the command with the address of the page's daemon.
func (r *reader) here(command string) string {
	for was, is := range r.ids {
		command = strings.ReplaceAll(command, was, is)
	}
	if strings.HasPrefix(command, "make ") {
		command = "make -n -C " + r.root + " " + strings.TrimPrefix(command, "make ")
	}
	if r.daemon != nil {
		command = strings.ReplaceAll(command, everywhere, r.daemon.addr)
	}
	return strings.ReplaceAll(command, "go run ./cmd/graphd", "graphd")
}

// tail follows a graph while what was pushed before it in its block is pushed again, until all
// that is shown has come out.
func (r *reader) tail(c shownCommand, before []shownCommand) string {
	ctx, cancel := context.WithTimeout(r.t.Context(), stepLimit)
	defer cancel()
	out := said{news: make(chan struct{}, 1)}
	cmd := r.command(ctx, "sh", "-c", "exec "+r.here(c.text))
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return err.Error()
	}
	why := "nothing came out"
	for ctx.Err() == nil && why != "" {
		for _, b := range before {
			if strings.Contains(b.text, "graphd push") {
				r.shell(b.text)
			}
		}
		select {
		case <-out.news:
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond): // it may not have been there yet: push again
		}
		why = compareShown(append(slices.Clone(c.shown), anyLines), out.String())
	}
	cancel()
	_ = cmd.Wait() // it was killed
	return why
}

const (
	anyLines     = "…"
	deadLetterID = `\b[0-9a-f]{12}-\d+-\d{6}\b`
)

var masks = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`), "TIME"},
	{regexp.MustCompile(deadLetterID), "ID"},
	{regexp.MustCompile(`file#\d+-[0-9a-f]{16}(@\d+)?`), "POSITION"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "ADDRESS"},
	{regexp.MustCompile(`\S*graphd-data/graphd\.db`), "STORE"},
	{regexp.MustCompile(`\bnow\b|-?\d+(\.\d+)?(e-?\d+)?(ns|µs|ms|s|m)? ago`), "WHEN"},
	{regexp.MustCompile(`\bpid \d+|\b\d+ bytes|"(cpu_)?seconds":[0-9.e-]+|^#\d+`), "N"},
	{regexp.MustCompile(`\b\d+(\.\d+)?(ns|µs|ms|s)\b`), "TOOK"},
	{regexp.MustCompile(`\s+`), " "},
}

func masked(line string) string {
	for _, m := range masks {
		line = m.what.ReplaceAllString(line, m.with)
	}
	return strings.TrimSpace(line)
}

// compareShown tells what the page shows and the command did not print.
func compareShown(shown []string, out string) string {
	var printed []string
	for line := range strings.Lines(out) {
		if line = masked(line); line != "" {
			printed = append(printed, line)
		}
	}
	at, skip := 0, !hasText(shown)
	for _, line := range shown {
		if masked(line) == "" {
			continue
		}
		if strings.TrimSpace(line) == anyLines {
			skip = true
			continue
		}
		found := at
		for found < len(printed) && !matches(masked(line), printed[found]) {
			found++
		}
		if found == len(printed) || (found > at && !skip) {
			return fmt.Sprintf("the page shows\n  %s\nand this was printed\n%s", line, out)
		}
		at, skip = found+1, false
	}
	if at < len(printed) && !skip {
		return "more was printed than the page shows:\n" + out
	}
	return ""
}

func hasText(lines []string) bool { return strings.TrimSpace(strings.Join(lines, "")) != "" }

func matches(want, got string) bool {
	begin, open := strings.CutSuffix(want, anyLines)
	return got == want || open && strings.HasPrefix(got, strings.TrimSpace(begin))
}

// TestDocsCompare holds what counts as shown.
func TestDocsCompare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		shown, printed string
		ok             bool
	}{
		{"", "anything", true},
		{"EPOCH   AT\n    2   2026-11-21T03:16:17.990Z", "EPOCH   AT\n    2   2026-12-01T03:16:17Z", true},
		{"took 26µs", "took 1.2ms", true},
		{"1 accepted", "2 accepted", false},
		{"1 accepted", "1 rejected", false},
		{"a\nc", "a\nb\nc", false},
		{"a\n…\nc", "a\nb\nc", true},
		{"a", "a\nb", false},
		{"a\n…", "a\nb", true},
		{"a\nb", "a", false},
		{"reason: no…", "reason: not there", true},
	} {
		if why := compareShown(strings.Split(c.shown, "\n"), c.printed); (why == "") != c.ok {
			t.Errorf("%q against %q: %q", c.shown, c.printed, why)
		}
	}
}
