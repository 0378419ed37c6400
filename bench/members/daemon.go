package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/graphd/graphd/bench/seen"
)

// daemon is a member that runs.
type daemon struct {
	cmd   *exec.Cmd
	url   string
	log   bytes.Buffer
	ended chan struct{}
}

// start starts a member of the store on one core: the nth of the machine, where taskset can say so.
func (w *world) start(ctx context.Context, dsn string, n, capacity int) (*daemon, error) {
	listen, err := free()
	if err != nil {
		return nil, err
	}
	argv := []string{w.c.graphd, "serve", "--listen", "127.0.0.1:0", "--store", dsn, "--log-level", "warn",
		"--member-listen", listen, "--member-secret", w.secret, "--capacity", strconv.Itoa(capacity),
		"--rebalance-after", "1s", "--kafka-brokers", strings.Join(w.kafka.Addrs(), ",")}
	if w.c.profiles != "" {
		argv = append(argv, "--pprof")
	}
	if w.c.taskset != "" {
		argv = append([]string{w.c.taskset, "-c", strconv.Itoa(n % runtime.NumCPU())}, argv...)
	}
	d := &daemon{cmd: exec.CommandContext(ctx, argv[0], argv[1:]...), ended: make(chan struct{})}
	d.cmd.Dir, d.cmd.Env, d.cmd.Stderr = w.dir, append(os.Environ(), "GOMAXPROCS=1"), &d.log
	out, err := d.cmd.StdoutPipe()
	if err == nil {
		err = d.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start the daemon: %w", err)
	}
	lines := bufio.NewReader(out)
	var ready struct{ Listen string }
	line, err := lines.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err != nil {
		_ = d.cmd.Process.Kill()
		_ = d.cmd.Wait()
		return nil, fmt.Errorf("the daemon did not get ready: %w\n%s", err, d.log.String())
	}
	d.url = "http://" + ready.Listen
	go func() { // joined by stop
		_, _ = io.Copy(io.Discard, lines)
		_ = d.cmd.Wait()
		close(d.ended)
	}()
	return d, nil
}

// free is an address of the loopback that nobody listens on.
func free() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return ln.Addr().String(), ln.Close()
}

// stop ends the daemon.
func (d *daemon) stop() {
	_ = d.cmd.Process.Signal(os.Interrupt)
	select {
	case <-d.ended:
	case <-time.After(time.Minute): // a bench must end, whatever it measures
		_ = d.cmd.Process.Kill()
		<-d.ended
	}
}

// used is the processor time that it has used so far.
func (d *daemon) used() (time.Duration, error) {
	u, err := seen.Used(d.cmd.Process.Pid)
	return u.CPU, err
}

// received is how many events the shards have received that run here.
func (d *daemon) received(ctx context.Context) (events int64, err error) {
	text, err := d.send(ctx, "GET", "/metrics", "")
	for line := range strings.Lines(string(text)) {
		if name, count, ok := strings.Cut(line, " "); ok && strings.HasPrefix(name, "graphd_events_received_total{") {
			n, _ := strconv.ParseFloat(strings.TrimSpace(count), 64)
			events += int64(n)
		}
	}
	return events, err
}

// ask sends a request, and decodes the answer where out is not nil.
func (d *daemon) ask(ctx context.Context, method, path, body string, out any) error {
	text, err := d.send(ctx, method, path, body)
	if err != nil || out == nil {
		return err
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

// send sends a request, and answers with what was answered.
func (d *daemon) send(ctx context.Context, method, path, body string) (answer []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, d.url+path, strings.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer res.Body.Close()
	answer, err = io.ReadAll(res.Body)
	if err == nil && res.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %s", res.Status, answer)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return answer, nil
}
