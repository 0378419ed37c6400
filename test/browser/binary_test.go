package browser

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/internal/testbed"
)

// scratch is removed when all tests have run.
var scratch string //nolint:gochecknoglobals // TestMain's

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "graphd-browser-")
	if err != nil {
		panic(err)
	}
	scratch = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// build makes graphd once for all tests, as a user would.
var build = sync.OnceValues(func() (string, error) {
	path := filepath.Join(scratch, "graphd")
	out, err := exec.Command("go", "build", "-o", path, "github.com/graphd/graphd/cmd/graphd").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build graphd: %w\n%s", err, out)
	}
	return path, nil
})

// process is the real binary that runs.
type process struct {
	cmd   *exec.Cmd
	said  *bufio.Reader
	ended chan struct{}
}

// program runs the real binary until it is killed, or the test ends.
func program(t *testing.T, args ...string) *process {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(path, args...), ended: make(chan struct{})}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdout, p.cmd.Stderr, p.said = write, write, bufio.NewReader(read)
	err = p.cmd.Start()
	_ = write.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.kill(); _ = read.Close() })
	return p
}

// says waits for a line of the program's that has a text in it, and is what stands there behind it.
func (p *process) says(t *testing.T, text string) string {
	t.Helper()
	var all strings.Builder
	for {
		line, err := p.said.ReadString('\n')
		all.WriteString(line)
		if _, behind, ok := strings.Cut(line, text); ok {
			return strings.TrimSpace(behind)
		}
		if err != nil {
			t.Fatalf("graphd does not say %q: %v\n%s", text, err, &all)
		}
	}
}

// address is where the program listens.
func (p *process) address(t *testing.T) string {
	t.Helper()
	return strings.TrimRight(p.says(t, `"listen":"`), "\"}")
}

// kill ends the program as a power cut would. Twice does nothing.
func (p *process) kill() {
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
}

// TestDemo: whoever runs the demo of the real binary opens the address that it prints, sees it move, opens what has
// come and reads why; when the daemon is killed and runs again the page goes on without having been loaded anew.
func TestDemo(t *testing.T) {
	listen := "127.0.0.1:" + free(t)
	first := program(t, "demo", "--listen", listen)
	p := start(t).open(first.says(t, "Watch it at "))
	p.view(1440, "light")
	p.until("the graph", `document.querySelector('.graphs a[href="/graphs/market_maker"]')`)
	p.now(`document.querySelector('.graphs a[href="/graphs/market_maker"]').click()`)
	p.until("firings", epochs+`.includes(",")`)
	newest := p.now(epochs)
	p.until("one that arrives", fmt.Sprintf(`%s !== %q`, epochs, newest))
	// One that has put something out: others have no firing id.
	putOut := `[...document.querySelectorAll(".firings tbody tr")].find(r => /audit|signals/.test(r.textContent))`
	p.until("one that has put something out", putOut)
	p.now(putOut + `.querySelector("button").click()`)
	p.until("why it ran", `/ran because .* had something new/.test(document.querySelector(".panel").innerText)`)
	p.says(".panel", "firing id")
	p.now(`document.querySelector('.panel [aria-label="Close"]').click()`)
	p.quiet()
	p.now(`window.same = true`)
	first.kill()
	p.until("that its daemon is gone", `document.body.innerText.includes("Not connected since")`)
	program(t, "demo", "--listen", listen)
	p.until("that it is live again", `document.querySelector(".connection").textContent === "Live" && window.same`)
	p.until("a gap", `document.querySelector(".firings tr.gap")`)
	was := p.now(epochs)
	p.until("that it moves", fmt.Sprintf(`%s !== %q`, epochs, was))
}

// TestPageOfAKilledOwner: of two members that share the shards of a graph one is killed: a page at the other shows that
// its shards run there, and fire, without having been loaded anew.
func TestPageOfAKilledOwner(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(strings.Repeat("s", 40)), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"serve", "--listen", "127.0.0.1:0", "--store", testbed.Postgres(t), "--lease", "1s",
		"--rebalance-after", "1s", "--member-listen", "127.0.0.1:0", "--member-secret", secret}
	here, other := program(t, args...), program(t, args...)
	at := "http://" + here.address(t)
	other.says(t, `"listen":"`)
	keys := bytes.Replace(shapes()["dealt"], []byte("i % 9"), []byte("i % 40"), 1) // some for each shard
	c, err := client.New(client.Config{BaseURL: at})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Apply(t.Context(), "dealt", keys, 0, false); err != nil {
		t.Fatal(err)
	}
	p := start(t).open(at + "/graphs/dealt")
	p.view(1024, "light")
	p.now(`window.table = () => { // the shards, by the names of the columns
		const of = document.querySelector("section[aria-labelledby=shards] table")
		const names = [...of.querySelectorAll("thead th")].map(h => h.textContent)
		return [...of.querySelectorAll("tbody tr")].map(r => Object.fromEntries(names.map((name, i) =>
			[name, r.children[i].textContent]))) }`)
	p.until("shards at both, which fire", `table().length === 4 && table().every(r => +r.Epoch.replace(",", "") > 0) &&
		(window.was = table().filter(r => !r["Runs at"].includes("this one"))).length === 2`)
	other.kill()
	p.until("that these fire here", `table().every(r => r.Health.includes("live") && r["Runs at"] !== "–" &&
		was.every(w => w.Shard !== r.Shard || +r.Epoch.replace(",", "") > +w.Epoch.replace(",", "") + 5))`)
	p.until("where", `document.querySelector("section[aria-labelledby=kept]").innerText.includes("4 of 4 shards")`)
	if p.now(`document.querySelector(".connection").textContent`) != "Live" {
		t.Error("the page is not live")
	}
}
