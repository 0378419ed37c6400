package everyday

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/internal/testbed"
)

// daemonVariable names, in the environment, the store of a daemon that this test binary is to be, and listenVariable
// where it listens.
const (
	daemonVariable = "EVERYDAY_DAEMON"
	listenVariable = "EVERYDAY_LISTEN"
)

// TestMain runs the tests, or in a process that a test has started the daemon, until it is told to stop or killed.
func TestMain(m *testing.M) {
	data := os.Getenv(daemonVariable)
	if data == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	err := serve(ctx, data)
	stop()
	if err != nil {
		slog.Error("daemon", "error", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, data string) error {
	d, err := graphd.New(ctx, graphd.Config{
		Data: data, Listen: os.Getenv(listenVariable), FilesDir: os.TempDir(), // where all tests have their files
		PushTimeout: time.Minute, // a busy disk is no failure here
		Log:         slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	return d.Run(ctx)
}

// A daemon is a process of its own, with a store that outlives it.
type daemon struct {
	t      *testing.T
	dir    string
	listen string // in every life
	env    []string
	cmd    *exec.Cmd
	log    *bytes.Buffer
	// since is when it was started last.
	since time.Time
	// alive is held for each request, so that no kill leaves open what has become of one.
	alive sync.RWMutex
}

// start starts a daemon over dir; env is what its declarations refer to.
func start(t *testing.T, env ...string) *daemon {
	t.Helper()
	d := &daemon{t: t, dir: t.TempDir(), listen: testbed.FreeAddr(t), env: env, log: &bytes.Buffer{}}
	d.run()
	t.Cleanup(func() {
		if d.cmd != nil {
			d.kill()
		}
		if t.Failed() {
			t.Logf("log of the daemon:\n%s", tail(d.log.Bytes(), 4000))
		}
	})
	return d
}

func (d *daemon) run() {
	d.t.Helper()
	d.since = time.Now()
	d.cmd = exec.Command(os.Args[0])
	d.cmd.Env = append(os.Environ(), append(d.env,
		daemonVariable+"="+filepath.Join(d.dir, "store"), listenVariable+"="+d.listen)...)
	d.cmd.Stderr = d.log
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	var ready struct{ Listen string }
	text, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil || json.Unmarshal(text, &ready) != nil || ready.Listen == "" {
		d.t.Fatalf("daemon said %q: %v", text, err)
	}
}

// kill ends the daemon as kill -9 does.
func (d *daemon) kill() {
	_ = d.cmd.Process.Kill()
	_ = d.cmd.Wait()
	d.cmd = nil
}

// restart kills the daemon between two requests and starts it again.
func (d *daemon) restart() {
	d.t.Helper()
	d.alive.Lock()
	defer d.alive.Unlock()
	d.kill()
	d.run()
}

// stop ends the daemon as an operator does: what its sinks were given is written.
func (d *daemon) stop() {
	d.t.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		d.t.Fatal(err)
	}
	if err := d.cmd.Wait(); err != nil {
		d.t.Fatalf("daemon: %v", err)
	}
	d.cmd = nil
}

// call makes one request, whose answer is JSON into answer. What the store did not take in time is asked for again, as
// the answer says: a busy disk is no failure here.
func (d *daemon) call(ctx context.Context, method, path, mediaType string, body []byte, answer any) error {
	for until := time.Now().Add(time.Minute); ; {
		err := d.try(ctx, method, path, mediaType, body, answer)
		if err == nil || !strings.Contains(err.Error(), `"audit_unwritable"`) || time.Now().After(until) {
			return err
		}
	}
}

func (d *daemon) try(ctx context.Context, method, path, mediaType string, body []byte, answer any) error {
	d.alive.RLock()
	defer d.alive.RUnlock()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+d.listen+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", mediaType)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}

func tail(text []byte, n int) []byte { return text[max(0, len(text)-n):] }
