// Package browser has a real browser open pages of foreign origins beside a daemon: what they may do with it is
// what that browser lets through and the daemon then does not refuse.
package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// patience bounds everything that the browser does.
const patience = 15 * time.Minute

// chromium is a running Chromium, steered by its own protocol.
type chromium struct {
	t    *testing.T
	ctx  context.Context
	conn *websocket.Conn
	last int
	// said is what pages have complained of: errors of scripts, and what their policy has refused.
	said []string
}

// start starts Chromium, which finds every name of the domain example on this machine, or skips the test.
func start(t *testing.T) *chromium {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		path, err = exec.LookPath("google-chrome")
	}
	if err != nil {
		if os.Getenv("GRAPHD_TEST_REQUIRE") != "" {
			t.Fatal("there is no Chromium, and GRAPHD_TEST_REQUIRE asks for it")
		}
		t.Skip("there is no Chromium: apt-get install chromium")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	home, err := os.MkdirTemp("", "graphd-chromium-") //nolint:usetesting // its last child may be writing there still
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, path, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
		"--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update",
		"--remote-debugging-port=0", "--user-data-dir="+home, "--ignore-certificate-errors",
		"--host-resolver-rules=MAP *.example 127.0.0.1", "about:blank")
	cmd.WaitDelay = 5 * time.Second
	tell, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	b := &chromium{t: t, ctx: ctx}
	urls, ended := make(chan string, 1), make(chan struct{})
	go func() { // joined below: it ends with the last process that writes there
		defer close(ended)
		for lines := bufio.NewScanner(tell); lines.Scan(); {
			if _, url, ok := strings.Cut(lines.Text(), "DevTools listening on "); ok {
				urls <- url
			}
		}
	}()
	t.Cleanup(func() {
		if b.conn != nil {
			_ = b.conn.CloseNow()
		}
		cancel()
		select {
		case <-ended:
		case <-time.After(5 * time.Second):
		}
		_ = cmd.Wait() // it was killed
		<-ended
		_ = os.RemoveAll(home)
	})
	select {
	case url := <-urls:
		b.conn, _, err = websocket.Dial(ctx, url, nil)
	case <-ended:
		err = errors.New("it has ended")
	}
	if err != nil {
		t.Fatalf("Chromium does not listen: %v", err)
	}
	b.conn.SetReadLimit(64 << 20)
	return b
}

// call calls a method of the browser, in the session of a page or "" of the browser itself, and says why it would not.
func (b *chromium) call(session, method string, params map[string]any, out any) (refused string) {
	b.t.Helper()
	b.last++
	text, err := json.Marshal(map[string]any{"id": b.last, "method": method, "params": params, "sessionId": session})
	if session == "" && err == nil {
		text, err = json.Marshal(map[string]any{"id": b.last, "method": method, "params": params})
	}
	if err == nil {
		err = b.conn.Write(b.ctx, websocket.MessageText, text)
	}
	for err == nil {
		var said struct {
			ID     int
			Method string
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		if _, text, err = b.conn.Read(b.ctx); err == nil {
			err = json.Unmarshal(text, &said)
		}
		if said.Method == "Runtime.exceptionThrown" || said.Method == "Log.entryAdded" {
			b.said = append(b.said, string(text))
		}
		if err != nil || said.ID != b.last {
			continue // an event, or the answer to nothing
		}
		if said.Error != nil {
			return said.Error.Message
		}
		if err = json.Unmarshal(said.Result, out); err == nil {
			return ""
		}
	}
	b.t.Fatalf("%s: %v", method, err)
	return ""
}

// page is a page in a tab of its own.
type page struct {
	b               *chromium
	target, session string
}

// leave closes the tab.
func (p *page) leave() {
	p.b.t.Helper()
	if why := p.b.call("", "Target.closeTarget", map[string]any{"targetId": p.target}, &struct{}{}); why != "" {
		p.b.t.Fatal(why)
	}
}

// open opens an address and waits until its page is there.
func (b *chromium) open(url string) *page {
	b.t.Helper()
	var target struct{ TargetID string }
	if why := b.call("", "Target.createTarget", map[string]any{"url": url}, &target); why != "" {
		b.t.Fatal(why)
	}
	var at struct{ SessionID string }
	why := b.call("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &at)
	if why != "" {
		b.t.Fatal(why)
	}
	p := &page{b, target.TargetID, at.SessionID}
	const there = `new Promise(done => { const look = () => document.readyState === "complete" &&
		location.href !== "about:blank" ? done(location.href) : setTimeout(look, 20); look() })`
	for b.ctx.Err() == nil { // a page that is being left takes its answer with it
		if p.try(there) == url {
			return p
		}
	}
	b.t.Fatalf("the page %s does not open", url)
	return nil
}

// try is what a promise of the page comes to, as a text; "" where the page has gone in between.
func (p *page) try(promise string) string {
	p.b.t.Helper()
	var out struct {
		Result           struct{ Value any }
		ExceptionDetails any
	}
	if p.b.call(p.session, "Runtime.evaluate", map[string]any{"expression": promise, "awaitPromise": true,
		"returnByValue": true}, &out) != "" {
		return ""
	}
	text, _ := out.Result.Value.(string)
	return text
}
