package clients

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/testbed"
)

// build makes the binary once for all tests; TestMain removes it.
var build = sync.OnceValues(func() (string, error) {
	binary := filepath.Join(scratch, "graphd")
	cmd := exec.Command("go", "build", "-o", binary, "./cmd/graphd")
	cmd.Dir = filepath.Join("..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the binary: %w\n%s", err, out)
	}
	return binary, nil
})

// scratch is removed when all tests have run.
var scratch string //nolint:gochecknoglobals // TestMain's

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "graphd-clients-")
	if err != nil {
		panic(err)
	}
	scratch = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// daemon is the real binary in a process of its own.
type daemon struct {
	t      *testing.T
	binary string
	dir    string // its working directory, with its store
	base   string
	token  string // what the test's own requests carry
}

// serve starts a daemon that ends with the test, and cleanly.
func serve(t *testing.T, args ...string) *daemon {
	t.Helper()
	binary, err := build()
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{t: t, binary: binary, dir: t.TempDir()}
	return d.start(args...)
}

// guarded starts a daemon that asks for tokens, and of which the test has an administrator's.
func guarded(t *testing.T) *daemon {
	t.Helper()
	binary, err := build()
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{t: t, binary: binary, dir: t.TempDir()}
	if out, err := run(t, time.Minute, d.dir, binary, "token", "bootstrap", "--out", "admin.token"); err != nil {
		t.Fatalf("token bootstrap: %v\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(d.dir, "admin.token"))
	if err != nil {
		t.Fatal(err)
	}
	d.token = strings.TrimSpace(string(text))
	return d.start()
}

// create makes a token of a role.
func (d *daemon) create(role string) string {
	d.t.Helper()
	var made struct{ Token string }
	d.do("POST", "/v1/tokens", `{"name":"`+role+`","role":"`+role+`"}`, 201, &made)
	return made.Token
}

func (d *daemon) start(args ...string) *daemon {
	d.t.Helper()
	log, err := os.Create(filepath.Join(d.dir, "log"))
	if err != nil {
		d.t.Fatal(err)
	}
	cmd := exec.Command(d.binary, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	cmd.Dir, cmd.Stderr = d.dir, log
	cmd.Env = append(os.Environ(), "HOME="+d.dir, "XDG_CONFIG_HOME="+d.dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_, _ = io.Copy(io.Discard, out)
		if err := cmd.Wait(); err != nil {
			d.t.Errorf("the daemon did not end well: %v", err)
		}
		_ = log.Close()
		d.checkLog()
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var ready struct{ Listen string }
	if err != nil || json.Unmarshal(line, &ready) != nil {
		text, _ := os.ReadFile(log.Name())
		d.t.Fatalf("the daemon is not ready: %v\n%s", err, text)
	}
	d.base = "http://" + ready.Listen
	return d
}

// checkLog holds that nothing has panicked.
func (d *daemon) checkLog() {
	text, err := os.ReadFile(filepath.Join(d.dir, "log"))
	if err != nil {
		d.t.Error(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "panic") {
			d.t.Errorf("the daemon's log: %s", line)
		}
	}
}

// do sends a request, expects a status and decodes the answer into out when it is given.
func (d *daemon) do(method, path, body string, status int, out any) {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), method, d.base+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	if d.token != "" {
		req.Header.Set("Authorization", "Bearer "+d.token)
	}
	req.Header.Set("Content-Type", "application/json")
	if strings.HasPrefix(body, "graph:") {
		req.Header.Set("Content-Type", "application/yaml")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != status {
		d.t.Fatalf("%s %s: %s, want %d: %s (%v)", method, path, res.Status, status, data, err)
	}
	if out != nil {
		if err := json.Unmarshal(data, out); err != nil {
			d.t.Fatalf("%s %s: %v: %s", method, path, err, data)
		}
	}
}

// document is the OpenAPI document as the daemon serves it, in a file.
func (d *daemon) document() string {
	d.t.Helper()
	res, err := http.Get(d.base + "/openapi.yaml")
	if err != nil {
		d.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	path := filepath.Join(d.dir, "openapi.yaml")
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	return path
}

// run runs a program in dir and hands back what it has said.
func run(t *testing.T, patience time.Duration, dir, program string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.WaitDelay = 5 * time.Second
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "NO_COLOR=1", "COLUMNS=160")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if ctx.Err() != nil {
		err = fmt.Errorf("it took longer than %v: %w", patience, err)
	}
	return out.String(), err
}

// cached makes a folder in the user's cache directory once for the content of the files that it is made of.
func cached(t *testing.T, kind string, of []string, fill func(dir string) error) string {
	t.Helper()
	sum := sha256.New()
	for _, path := range of {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sum.Write(data)
	}
	home, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	place := filepath.Join(home, "graphd-test", kind+"-"+hex.EncodeToString(sum.Sum(nil))[:12])
	if _, err := os.Stat(place); err == nil {
		return place
	}
	made := fmt.Sprintf("%s-making-%x", place, rand.Uint64()) // beside it, so that it can be renamed
	if err := os.MkdirAll(made, 0o755); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(made)
	if err := fill(made); err != nil {
		testbed.Lacking(t, fmt.Sprintf("what the test needs could not be installed: %v", err))
	}
	if err := os.Rename(made, place); err != nil {
		if _, other := os.Stat(place); other != nil { // nor has another test made it
			t.Fatal(err)
		}
	}
	return place
}

// python is an interpreter that has what a file of testdata requires.
func python(t *testing.T, requirements string) string {
	t.Helper()
	found, err := exec.LookPath("python3")
	if err != nil {
		testbed.Lacking(t, "there is no Python: apt-get install python3 python3-venv")
	}
	place := cached(t, "python", []string{requirements}, func(dir string) error {
		if out, err := run(t, time.Minute, ".", found, "-m", "venv", dir); err != nil {
			return fmt.Errorf("python3 -m venv: %w\n%s", err, out)
		}
		out, err := run(t, 5*time.Minute, ".", filepath.Join(dir, "bin", "python"), "-m", "pip", "install", "--quiet",
			"--disable-pip-version-check", "--no-input", "--retries", "2", "-r", requirements)
		if err != nil {
			return fmt.Errorf("pip install: %w\n%s", err, out)
		}
		return nil
	})
	return filepath.Join(place, "bin", "python")
}
