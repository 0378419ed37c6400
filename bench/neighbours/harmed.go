package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

// serveHarm is a process that is a daemon with the neighbour and the harm of a name. It says where it listens, and for
// each line of its input what has arrived since the last one; it ends with its input, whatever goes on in it.
func serveHarm(ctx context.Context, name, server string, in io.Reader, out io.Writer) error {
	folder, err := os.MkdirTemp("", "harm-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	var h *harm
	for _, one := range harms() {
		if one.name == name {
			h = &one
		}
	}
	d, arrived, err := newDaemon(ctx, folder, h, server, nil)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }() // ends with the process: what spins in it never does
	select {
	case <-d.Ready():
	case err := <-ended:
		return err
	}
	fmt.Fprintln(out, d.Addr())
	for lines := bufio.NewScanner(in); lines.Scan(); {
		took := arrived.take()
		var used syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
			return err
		}
		s := sampled{N: len(took), CPU: time.Duration(used.Utime.Nano() + used.Stime.Nano())}
		if s.N > 0 {
			s.P50, s.P99 = took[s.N/2], took[s.N*99/100]
		}
		if err := json.NewEncoder(out).Encode(s); err != nil {
			return err
		}
	}
	return nil
}

// sampled is what such a daemon says.
type sampled struct {
	N        int
	P50, P99 time.Duration
	CPU      time.Duration // since its start
}

// harmed is one that runs.
type harmed struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	url string
}

func startHarmed(ctx context.Context, h *harm, server string) (d *harmed, err error) {
	d = &harmed{cmd: exec.CommandContext(ctx, os.Args[0], "daemon", h.name, server)}
	d.cmd.Stderr = os.Stderr
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if d.in, err = d.cmd.StdinPipe(); err == nil {
		err = d.cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	d.out = bufio.NewReader(out)
	line, err := d.out.ReadString('\n')
	d.url = "http://" + strings.TrimSpace(line)
	return d, err
}

func (d *harmed) stop() {
	_ = d.in.Close()
	_ = d.cmd.Wait()
}

// push gives the neighbour so many seconds of events, and says how they fared.
func (d *harmed) push(ctx context.Context, seconds int) (s sampled, cores float64, err error) {
	before, err := d.sample()
	if err != nil {
		return s, 0, err
	}
	began := time.Now()
	tick := time.NewTicker(time.Second / pushes)
	defer tick.Stop()
	for range seconds * pushes {
		sent := <-tick.C
		if _, _, err := request(ctx, "POST", d.url+"/v1/graphs/calm/accumulators/a/events", "",
			fmt.Sprint(sent.UnixNano())); err != nil {
			return s, 0, err
		}
	}
	s, err = d.sample()
	return s, (s.CPU - before.CPU).Seconds() / time.Since(began).Seconds(), err
}

func (d *harmed) sample() (s sampled, err error) {
	if _, err = io.WriteString(d.in, "\n"); err != nil {
		return s, err
	}
	line, err := d.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &s)
	}
	return s, err
}

// harmful gives the graph that does harm its events, and says how long it took health to name its node.
func (h *harm) harmful(ctx context.Context, url string, named chan<- time.Duration) {
	began, told := time.Now(), false
	next := began
	for ctx.Err() == nil {
		if now := time.Now(); !now.Before(next) {
			if next = now.Add(time.Hour); h.every > 0 {
				next = now.Add(h.every)
			}
			_, _, _ = request(ctx, "POST", url+"/v1/graphs/harm/accumulators/a/events", "", "1")
		}
		if !told && h.named(ctx, url) {
			named <- time.Since(began)
			told = true
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// named reports whether health names the node that does harm.
func (h *harm) named(ctx context.Context, url string) bool {
	_, text, err := request(ctx, "GET", url+"/v1/graphs/harm", "", "")
	var said struct {
		HealthReason *struct{ Code, Detail string } `json:"health_reason"`
	}
	return err == nil && json.Unmarshal(text, &said) == nil && said.HealthReason != nil &&
		said.HealthReason.Code == h.code && strings.Contains(said.HealthReason.Detail, "node n")
}

// longest is how long the longest of the newest epochs of the graph took.
func (h *harm) longest(ctx context.Context, url string) (most time.Duration, err error) {
	_, text, err := request(ctx, "GET", url+"/v1/graphs/harm/firings?limit=50", "", "")
	if err != nil {
		return 0, err
	}
	var firings struct {
		Items []struct {
			DurationUS int64 `json:"duration_us"`
		}
	}
	err = json.Unmarshal(text, &firings)
	for _, f := range firings.Items {
		most = max(most, time.Duration(f.DurationUS)*time.Microsecond)
	}
	return most, err
}

// measureHarm prints what each kind of harm does to a neighbour in the same daemon, beside a process that takes as much
// of the processors as the harm does.
func measureHarm(ctx context.Context, c *config, w io.Writer) error {
	server, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer server.Close() // nobody accepts: a call waits for its answer
	url := "http://" + server.Addr().String() + "/"
	fmt.Fprintf(w, "\nHarm: %d events/s of a graph to its sink, beside one whose node does harm, %d s each\n", pushes,
		c.seconds)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "the node\tround\talone p50\tp99\tloop p50\tp99\tharm p50\tp99\tharm/loop p99\tharm/alone p99\t"+
		"its cores\tnamed after\tlongest epoch\t")
	for _, h := range harms() {
		for i := range c.rounds {
			if err := h.round(ctx, c, url, t, i); err != nil {
				return fmt.Errorf("%s: %w", h.name, err)
			}
		}
	}
	return t.Flush()
}

func (h *harm) round(ctx context.Context, c *config, server string, w io.Writer, n int) error {
	d, err := startHarmed(ctx, h, server)
	if err != nil {
		return err
	}
	defer d.stop()
	if _, _, err := d.push(ctx, 1); err != nil { // everything is new
		return err
	}
	alone, calmly, err := d.push(ctx, c.seconds)
	if err != nil {
		return err
	}
	harming, stop := context.WithCancel(ctx)
	named := make(chan time.Duration, 1)
	over := make(chan struct{})
	go func() { defer close(over); h.harmful(harming, d.url, named) }()
	beside, cores, err := d.push(ctx, c.seconds)
	stop()
	<-over
	if err != nil {
		return err
	}
	after := "never"
	select {
	case took := <-named:
		after = took.Round(time.Millisecond).String()
	default:
	}
	longest := "no end"
	if h.every > 0 {
		took, err := h.longest(ctx, d.url)
		if err != nil {
			return err
		}
		longest = took.Round(time.Microsecond).String()
	}
	loop, err := h.loop(ctx, c, server, max(cores-calmly, 0))
	if err != nil {
		return err
	}
	us := func(d time.Duration) time.Duration { return d.Round(time.Microsecond) }
	_, err = fmt.Fprintf(w, "%s\t%d\t%v\t%v\t%v\t%v\t%v\t%v\t%.2f\t%.2f\t%.2f\t%s\t%s\t\n", h.name, n+1, us(alone.P50),
		us(alone.P99), us(loop.P50), us(loop.P99), us(beside.P50), us(beside.P99),
		float64(beside.P99)/float64(loop.P99), float64(beside.P99)/float64(alone.P99), cores-calmly, after, longest)
	return err
}

// loop is how the neighbour fares while another process takes so much of the processors.
func (h *harm) loop(ctx context.Context, c *config, server string, share float64) (s sampled, err error) {
	d, err := startHarmed(ctx, h, server)
	if err != nil {
		return s, err
	}
	defer d.stop()
	child := exec.CommandContext(ctx, os.Args[0], "spin", fmt.Sprint(share))
	in, err := child.StdinPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		return s, err
	}
	if _, _, err = d.push(ctx, 1); err == nil {
		s, _, err = d.push(ctx, c.seconds)
	}
	_ = in.Close()
	_ = child.Wait()
	return s, err
}
