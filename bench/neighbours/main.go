package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "neighbours:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 && (args[0] == "flood" || args[0] == "spin") {
		return child(args)
	}
	if len(args) == 3 && args[0] == "daemon" {
		return serveHarm(ctx, args[1], args[2], os.Stdin, os.Stdout)
	}
	var c config
	flags := flag.NewFlagSet("neighbours", flag.ExitOnError)
	flags.StringVar(&c.graphd, "graphd", filepath.Join("bin", "graphd"), "the binary to measure")
	flags.IntVar(&c.rounds, "n", 5, "how many rounds")
	flags.IntVar(&c.seconds, "seconds", 10, "how long each of the three of a round lasts")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.Arg(0) == "harm" {
		return measureHarm(ctx, &c, os.Stdout)
	}
	for _, flood := range []struct {
		workers, times int
		patience       time.Duration
	}{{16, 10, time.Minute}, {256, 10, 50 * time.Millisecond}, {256, 100, time.Minute}} {
		c.workers, c.times, c.patience = flood.workers, flood.times, flood.patience
		if err := measure(ctx, &c, os.Stdout); err != nil {
			return err
		}
	}
	return nil
}

// daemon is one that runs, with a token for each of two tenants.
type daemon struct {
	cmd        *exec.Cmd
	log        bytes.Buffer
	folder     string
	url        string
	loud, calm string
}

// start starts a daemon in which tenants are bounded.
func start(ctx context.Context, graphd string) (d *daemon, err error) {
	d = &daemon{}
	if d.folder, err = os.MkdirTemp("", "neighbours-"); err != nil {
		return nil, err
	}
	file := filepath.Join(d.folder, "graphd.yaml")
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		return nil, err
	}
	d.cmd = exec.CommandContext(ctx, graphd, "serve", "--config", file, "--data", d.folder)
	d.cmd.Stderr = &d.log
	out, err := d.cmd.StdoutPipe()
	if err == nil {
		err = d.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start %s, which make build makes: %w", graphd, err)
	}
	var ready struct{ Listen string }
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err != nil {
		d.stop()
		return nil, fmt.Errorf("%s did not get ready: %w\n%s", graphd, err, d.log.String())
	}
	d.url = "http://" + ready.Listen
	admin := ""
	for _, t := range []struct {
		tenant, role string
		into         *string
	}{{"*", "platform-admin", &admin}, {"loud", "author", &d.loud}, {"calm", "author", &d.calm}} {
		body := fmt.Sprintf(`{"name":%q,"role":%q,"tenant":%q}`, t.role, t.role, t.tenant)
		var made struct{ Token string }
		_, text, err := request(ctx, "POST", d.url+"/v1/tokens", admin, body)
		if err == nil {
			err = json.Unmarshal(text, &made)
		}
		if err != nil {
			d.stop()
			return nil, fmt.Errorf("make a token: %w", err)
		}
		*t.into = made.Token
	}
	return d, nil
}

// stop ends the daemon.
func (d *daemon) stop() {
	_ = d.cmd.Process.Signal(os.Interrupt)
	_ = d.cmd.Wait()
	_ = os.RemoveAll(d.folder)
}

// clockTick is what the kernel counts processor time in, for all of Linux's platforms.
const clockTick = 10 * time.Millisecond

// cpu is the processor's time that the daemon has used, as /proc has it, which is on Linux alone.
func (d *daemon) cpu() (used time.Duration, err error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(d.cmd.Process.Pid) + "/stat")
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // the name may have spaces
	if len(fields) < 13 {
		return 0, errors.New("the daemon's time cannot be read")
	}
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, err
		}
		used += time.Duration(n) * clockTick
	}
	return used, nil
}
