// Command neighbours measures what one tenant's flood does to another's pushes:
//
//	go run ./bench/neighbours -graphd bin/graphd
//
// Three processes share the machine: the daemon, the client of the tenant that is measured, and that of the flood. The
// last takes processors that the other two would have, which is no matter of the daemon's: so each round measures the
// same beside a loop that takes as much of them as the flood's client and sends nothing.
//
//	go run ./bench/neighbours -n 3 -seconds 5 harm
//
// measures what a graph whose node spins, allocates without end, is never answered or panics does to another one of
// the same daemon, beside a loop that takes as much of the processors as that node does.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

const (
	// quotaRequests is how many requests a second a token may send.
	quotaRequests = 200
	// pushes is how many a second the tenant sends that is measured.
	pushes = 100
)

// settings bound the tenants.
const settings = `listen: 127.0.0.1:0
store: "memory:"
log_level: warn
max_requests: 200
tenants: { "*": { events_per_second: 1000, max_websockets: 10, max_graphs: 10 } }
`

// config is what is measured.
type config struct {
	graphd          string
	rounds, seconds int
	// workers are the connections of the flood, and times how many times its quota it sends.
	workers, times int
	// patience is how long the flood waits for an answer before it sends the next over another connection.
	patience time.Duration
}

// row is what was measured once.
type row struct {
	p50, p99      time.Duration
	daemon, other float64 // cores
	sent, refused float64 // a second
}

// measure prints, for each round, how long a push takes alone, beside the loop, and beside the flood.
func measure(ctx context.Context, c *config, w io.Writer) error {
	d, err := start(ctx, c.graphd)
	if err != nil {
		return err
	}
	defer d.stop()
	for _, g := range []struct{ name, token string }{{"loud", d.loud}, {"calm", d.calm}} {
		doc := "graph: " + g.name + "\naccumulators: { a: { strategy: sequential } }\nnodes: { n: { expr: a.n } }\n" +
			"outputs: { o: { from: n, sink: { drop: {} } } }\n"
		if _, _, err := request(ctx, "PUT", d.url+"/v1/graphs/"+g.name, g.token, doc); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "\nTenants: %d pushes/s of one beside %d times what another may (%d of %d requests/s, over %d "+
		"connections, each answer awaited for %v), %d s each\n", pushes, c.times, c.times*quotaRequests, quotaRequests,
		c.workers, c.patience, c.seconds)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "round\talone p50\tp99\tloop p50\tp99\tflood p50\tp99\tflood/loop p99\tflood/alone p99\tsent/s\t"+
		"refused/s\tdaemon cores\tclient cores\t")
	if _, err := c.round(ctx, d, "flood"); err != nil { // which the loop is made after
		return err
	}
	share, ratios := 0.0, []float64{}
	for i := range c.rounds + 1 {
		flood, err := c.round(ctx, d, "flood")
		if err != nil {
			return err
		}
		share = flood.other
		loop, err := c.round(ctx, d, fmt.Sprint("spin ", share))
		if err != nil {
			return err
		}
		alone, err := c.round(ctx, d, "")
		if err != nil {
			return err
		}
		if i == 0 {
			continue // everything was new
		}
		ratio := float64(flood.p99) / float64(loop.p99)
		ratios = append(ratios, ratio)
		fmt.Fprintf(t, "%d\t%v\t%v\t%v\t%v\t%v\t%v\t%.2f\t%.2f\t%.0f\t%.0f\t%.2f\t%.2f\t\n", i, alone.p50, alone.p99,
			loop.p50, loop.p99, flood.p50, flood.p99, ratio, float64(flood.p99)/float64(alone.p99), flood.sent,
			flood.refused, flood.daemon, flood.other)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	slices.Sort(ratios)
	fmt.Fprintf(w, "flood/loop p99, median of %d rounds: %.2f\n", len(ratios), ratios[len(ratios)/2])
	return nil
}

// round measures once, beside a child where there is one.
func (c *config) round(ctx context.Context, d *daemon, beside string) (r row, err error) {
	var child *exec.Cmd
	var in io.WriteCloser
	var out bytes.Buffer
	if beside != "" {
		args := strings.Fields(beside)
		if beside == "flood" {
			args = append(args, d.url, d.loud, fmt.Sprint(c.workers), fmt.Sprint(c.times*quotaRequests),
				c.patience.String())
		}
		child = exec.CommandContext(ctx, os.Args[0], args...)
		child.Stdout, child.Stderr = &out, os.Stderr
		if in, err = child.StdinPipe(); err == nil {
			err = child.Start()
		}
		if err != nil {
			return r, err
		}
		time.Sleep(time.Second) // until it is at its pace
	}
	before, err := d.cpu()
	if err != nil {
		return r, err
	}
	began := time.Now()
	if r.p50, r.p99, err = c.push(ctx, d); err != nil {
		return r, err
	}
	after, err := d.cpu()
	if err != nil {
		return r, err
	}
	r.daemon = (after - before).Seconds() / time.Since(began).Seconds()
	if child != nil {
		took := time.Since(began).Seconds() + 1
		_ = in.Close()
		if err := child.Wait(); err != nil {
			return r, err
		}
		var sent, refused, cpu float64
		if _, err := fmt.Sscan(out.String(), &sent, &refused, &cpu); err != nil {
			return r, err
		}
		r.sent, r.refused, r.other = sent/took, refused/took, cpu/took
	}
	return r, nil
}

// push sends as a tenant does that is within its quota.
func (c *config) push(ctx context.Context, d *daemon) (p50, p99 time.Duration, err error) {
	took := make([]time.Duration, c.seconds*pushes)
	tick := time.NewTicker(time.Second / pushes)
	defer tick.Stop()
	for i := range took {
		<-tick.C
		if took[i], _, err = request(ctx, "POST", d.url+"/v1/graphs/calm/accumulators/a/events", d.calm,
			`{"n":1}`); err != nil {
			return 0, 0, err
		}
	}
	slices.Sort(took)
	return took[len(took)/2].Round(time.Microsecond), took[len(took)*99/100].Round(time.Microsecond), nil
}

// request sends one, which is to be answered with 200 or 201.
func request(ctx context.Context, method, url, token, body string) (took time.Duration, text []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	began := time.Now()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	text, _ = io.ReadAll(res.Body)
	_ = res.Body.Close()
	if res.StatusCode/100 != 2 {
		return 0, nil, fmt.Errorf("%s %s: %s: %s", method, url, res.Status, text)
	}
	return time.Since(began), text, nil
}
