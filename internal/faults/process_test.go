package faults

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// built is where TestMain puts the graphd that the tests run.
var built string

// binaryEnv names another daemon to run instead.
const binaryEnv = "GRAPHD_TEST_BINARY"

func binary() string {
	if path := os.Getenv(binaryEnv); path != "" {
		return path
	}
	return built
}

func TestMain(m *testing.M) { os.Exit(build(m)) }

// build builds graphd once for all tests, as a user would: without the race detector,
// which would make the load a different one.
func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "graphd-faults")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	built = filepath.Join(dir, "graphd")
	build := exec.Command("go", "build", "-o", built, "github.com/graphd/graphd/cmd/graphd")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build graphd: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// process is one run of the daemon.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	base  string
	token string // shown with each request, if it is there
	began time.Time
	log   *logBuffer
	ended chan error
	whole int64 // how many events there are for it, where no more come; 0 where there always are
}

// start runs the daemon on a free port and waits for its ready line.
func start(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	return startWith(t, nil, dir, args...)
}

// startWith is start with more in the environment.
func startWith(t *testing.T, env []string, dir string, args ...string) *process {
	t.Helper()
	p, err := launch(t, env, dir, args...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// errKilled is of a daemon that a signal ended before it was ready: a failpoint, where one is armed.
var errKilled = errors.New("the daemon was killed")

// dies runs the daemon until the failpoint that the environment arms ends it. That may be before
// it is ready: graphs start beside its listener.
func dies(t *testing.T, dir string) {
	t.Helper()
	p, err := launch(t, nil, dir)
	if errors.Is(err, errKilled) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.ended:
		p.ended = nil
	case <-time.After(stuck):
		t.Fatalf("the failpoint did not take the process down\n%s", p.log)
	}
}

// launch is startWith for a daemon that may refuse to start: the error has what it said.
func launch(t *testing.T, env []string, dir string, args ...string) (*process, error) {
	t.Helper()
	return launchOf(t, binary(), env, dir, args...)
}

// launchOf is launch of another release's daemon.
func launchOf(t *testing.T, program string, env []string, dir string, args ...string) (*process, error) {
	t.Helper()
	p := &process{t: t, began: time.Now(), log: &logBuffer{}, ended: make(chan error, 1)}
	if err := os.MkdirAll(filepath.Join(dir, "graphs"), 0o700); err != nil {
		t.Fatal(err)
	}
	args = append([]string{"serve", "--listen", "127.0.0.1:0", "--data", filepath.Join(dir, "data"), "--graphs",
		filepath.Join(dir, "graphs")}, args...)
	p.cmd = exec.Command(program, args...)
	p.cmd.Stderr = p.log
	p.cmd.Env = append(os.Environ(), env...)
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var ready struct{ Listen string }
	lines := bufio.NewReader(stdout)
	line, err := lines.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err != nil {
		if err != io.EOF { // at the end of its output it is dead already, or about to end by itself
			_ = p.cmd.Process.Kill()
		}
		if died := p.cmd.Wait(); died != nil && p.cmd.ProcessState.ExitCode() < 0 && err == io.EOF {
			err = fmt.Errorf("%w: %w", errKilled, died)
		}
		return nil, fmt.Errorf("the daemon did not get ready: %w\n%s", err, p.log)
	}
	p.base = "http://" + ready.Listen
	go func() {
		_, _ = io.Copy(io.Discard, lines)
		p.ended <- p.cmd.Wait()
	}()
	t.Cleanup(p.kill)
	return p, nil
}

// kill ends the process as a power cut would, and reaps it. Twice does nothing.
func (p *process) kill() {
	if p.ended == nil {
		return
	}
	_ = p.cmd.Process.Kill()
	<-p.ended
	p.ended = nil
}

// stop asks the daemon to stop, and answers how it ended.
func (p *process) stop() error {
	_ = p.cmd.Process.Signal(os.Interrupt)
	err := <-p.ended
	p.ended = nil
	return err
}

// changes has a change made. A store that writes 50 MB beside others lets it wait for longer than a change waits for
// its place in the audit: nothing was changed then, and it is asked for again, as its refusal says.
func (p *process) changes(method, path, body string) {
	p.t.Helper()
	p.until(method+" "+path, stuck, func() bool {
		err := p.do(method, path, body, nil)
		if err != nil && !strings.Contains(err.Error(), "audit_unwritable") {
			p.t.Fatalf("%v\n%s", err, p.log)
		}
		return err == nil
	})
}

func (p *process) do(method, path, body string, out any) error {
	ctx, cancel := context.WithTimeout(context.Background(), stuck)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, p.base+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if p.token != "" {
		req.Header.Set("Authorization", "Bearer "+p.token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s: %s", method, path, res.Status, data)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(data, out)
}

// metrics is what a scrape answers.
func (p *process) metrics() string {
	res, err := http.Get(p.base + "/metrics")
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

type counters struct {
	Received, Filtered, Conflated, Rejected, Consumed, Queued int64
	DeadLettered                                              int64 `json:"dead_lettered"`
}

type summary struct {
	Health       string
	HealthReason struct{ Code, Detail string } `json:"health_reason"`
	Paused       bool
	Epoch        int64
	Incarnation  int64
	Counters     counters
	Accumulators []struct {
		Name, Position, Health string
		Counters               counters
	}
	Outputs []struct {
		Name, Path string
		Pending    int64
	}
	Durability struct {
		CheckpointEpoch int64 `json:"checkpoint_epoch"`
	}
}

// balanced checks the books of the graph and of each accumulator (M42).
func (s *summary) balanced() error {
	all := []counters{s.Counters}
	for _, a := range s.Accumulators {
		all = append(all, a.Counters)
	}
	for _, c := range all {
		if sum := c.Filtered + c.Conflated + c.Rejected + c.DeadLettered + c.Consumed + c.Queued; sum != c.Received {
			return fmt.Errorf("received %d, accounted for %d: %+v", c.Received, sum, c)
		}
	}
	return nil
}

func (p *process) summary(graph string) summary {
	p.t.Helper()
	var s summary
	if err := p.do("GET", "/v1/graphs/"+graph, "", &s); err != nil {
		p.t.Fatalf("%v\n%s", err, p.log)
	}
	return s
}

// logBuffer takes what a daemon logs; it may be read while the daemon runs.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// until polls a condition on the daemon.
func (p *process) until(what string, within time.Duration, cond func() bool) {
	p.t.Helper()
	if !p.waitFor(within, cond) {
		p.t.Fatalf("%s: not within %v\n%s", what, within, p.log)
	}
}

// drains waits until nothing is left of what there is to do, and gives up when it has not become less for two minutes:
// how long all of it takes is a matter of the machine, and of how much came while it was slow.
func (p *process) drains(what string, left func() int64) {
	p.t.Helper()
	for least := left(); least > 0; {
		now := least
		if !p.waitFor(2*time.Minute, func() bool { now = left(); return now < least }) {
			p.t.Fatalf("%s: %d are left for two minutes\n%s", what, least, p.log)
		}
		least = now
	}
}

// advances waits until a running graph has a newer checkpoint than it has now, or all that there is for it is in one.
// Before it runs a summary knows of none, and the one that it is restored from would pass for new.
// It answers the summary that says so.
func (p *process) advances(graph string) (s summary) {
	p.t.Helper()
	first := int64(-1)
	if !p.waitFor(stuck, func() bool {
		s = p.summary(graph)
		if first < 0 && s.Health == "live" {
			first = s.Durability.CheckpointEpoch
		}
		all := p.whole > 0 && s.Counters.Consumed >= p.whole && s.Durability.CheckpointEpoch == s.Epoch
		return first >= 0 && (s.Durability.CheckpointEpoch > first || all)
	}) {
		p.t.Fatalf("a checkpoint: not within %v, after %d: %+v\n%s", stuck, first, s, p.log)
	}
	return s
}

// firesAgain waits until a graph is live and has fired since it was first asked. It answers the summary that
// says so.
func (p *process) firesAgain(graph string) (s summary) {
	p.t.Helper()
	first := int64(-1)
	p.until("firing again", stuck, func() bool {
		if s = p.summary(graph); first < 0 {
			first = s.Epoch
		}
		return s.Health == "live" && s.Epoch > first
	})
	return s
}

// killAtRandom starts the daemon of a folder n times, and kills it at a random moment once the graph has fired
// again and its books balance. Each life is shown to seen before; nil looks at nothing.
func killAtRandom(t *testing.T, dir, graph string, n int, seen func(p *process, s summary), args ...string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		p := start(t, dir, args...)
		s := p.firesAgain(graph)
		if err := s.balanced(); err != nil {
			t.Fatalf("kill %d: %v", i, err)
		}
		if seen != nil {
			seen(p, s)
		}
		if i%2 == 1 {
			p.advances(graph) // three kills without a commit are a crash loop (M43)
		}
		<-time.After(time.Duration(rng.IntN(150)) * time.Millisecond) // the random moment
		p.kill()
	}
}

// waitFor reports whether the condition came to hold in time.
func (p *process) waitFor(within time.Duration, cond func() bool) bool {
	ticker := time.NewTicker(3 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(within); !cond(); <-ticker.C {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// kills is how often a test kills: GRAPHD_KILLS, or few in the inner loop.
func kills(t *testing.T, otherwise int) int {
	t.Helper()
	if s := os.Getenv("GRAPHD_KILLS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			t.Fatalf("GRAPHD_KILLS is %q, not a number of kills", s)
		}
		return n
	}
	return otherwise
}
