package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/graphd/graphd/bench/seen"
)

// server is a process under test that listens on a free port of the loopback.
type server struct {
	cmd   *exec.Cmd
	addr  string
	ready time.Duration // from its start to its ready line
	log   bytes.Buffer
	ended chan error
}

// startServer runs a program whose first line on standard output is JSON with "listen".
func startServer(ctx context.Context, path string, args ...string) (*server, error) {
	s := &server{cmd: exec.CommandContext(ctx, path, args...), ended: make(chan error, 1)}
	s.cmd.Stderr = &s.log
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("open the standard output: %w", err)
	}
	began := time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	lines := bufio.NewReader(stdout)
	var ready struct{ Listen string }
	line, err := lines.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		return nil, fmt.Errorf("%s did not get ready: %w\n%s", filepath.Base(path), err, s.log.String())
	}
	s.ready, s.addr = time.Since(began), ready.Listen
	go func() { // joined by stop
		_, _ = io.Copy(io.Discard, lines)
		s.ended <- s.cmd.Wait()
	}()
	return s, nil
}

// startGraphd runs the daemon with a memory store on the given declarations, by file name.
func startGraphd(ctx context.Context, c *config, graphs map[string]string, args ...string) (*server, error) {
	dir, err := os.MkdirTemp(c.data, "serve-")
	if err != nil {
		return nil, fmt.Errorf("make a directory: %w", err)
	}
	defer os.RemoveAll(dir) // the declarations are read at the start
	for name, text := range graphs {
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(text), 0o600); err != nil {
			return nil, fmt.Errorf("write a declaration: %w", err)
		}
	}
	s, err := startServer(ctx, c.graphd, append([]string{
		"serve", "--listen", "127.0.0.1:0", "--store", "memory:", "--graphs", dir, "--log-level", "warn",
	}, args...)...)
	if err != nil {
		return nil, err
	}
	for name := range graphs {
		if err := s.untilLive(ctx, name); err != nil {
			return nil, fmt.Errorf("%w\n%s", err, s.stop())
		}
	}
	return s, nil
}

// stop ends the process and answers what it logged.
func (s *server) stop() string {
	_ = s.cmd.Process.Signal(os.Interrupt)
	var err error
	select {
	case err = <-s.ended:
	case <-time.After(20 * time.Second): // a bench must end, whatever it measures
		_ = s.cmd.Process.Kill()
		err = <-s.ended
	}
	if err != nil {
		return s.log.String() + "it ended with: " + err.Error() + "\n"
	}
	return s.log.String()
}

// graphSummary is the part of a graph's summary that is looked at here.
type graphSummary struct {
	Health       string
	Epoch        int64
	Accumulators []struct {
		Name     string
		Counters struct {
			Received, Filtered, Conflated, Rejected, Consumed, Queued int64
			DeadLettered                                              int64 `json:"dead_lettered"`
		}
	}
}

func (s *server) summary(ctx context.Context, graph string) (g graphSummary, err error) {
	return g, s.get(ctx, "/v1/graphs/"+graph, &g)
}

func (s *server) get(ctx context.Context, path string, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.addr+path, nil)
	if err != nil {
		return fmt.Errorf("get %s: %w", path, err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("get %s: %w", path, err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return fmt.Errorf("get %s: %w", path, err)
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("get %s: %s: %s", path, res.Status, data)
	}
	return json.Unmarshal(data, out)
}

// untilLive waits until a graph is live.
func (s *server) untilLive(ctx context.Context, graph string) error {
	return s.until(ctx, graph, 30*time.Second, func(g *graphSummary) bool { return g.Health == "live" })
}

// until asks for a graph's summary until it satisfies, for so long at most.
func (s *server) until(ctx context.Context, graph string, most time.Duration,
	satisfies func(g *graphSummary) bool) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		g, err := s.summary(ctx, graph)
		if err == nil && satisfies(&g) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("graph %s did not come as far as it should: %+v, %w", graph, g, err)
		case <-tick.C:
		}
	}
}

// usage is what the process has used so far.
func (s *server) usage() (seen.Usage, error) { return seen.Used(s.cmd.Process.Pid) }
