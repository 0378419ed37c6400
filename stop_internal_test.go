package graphd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/testbed"
	"github.com/graphd/graphd/internal/testbed/stall"
)

// stopMargin is what a stop may take beyond its timeout where there is a processor for it.
const stopMargin = 500 * time.Millisecond

// running is a daemon in this process, prepared by before; end stops it and answers how long that took and how it
// ended.
func running(t *testing.T, cfg Config, before ...func(*Daemon)) (d *Daemon, end func() (stall.Took, error)) {
	t.Helper()
	cfg.Listen, cfg.Stdout = "127.0.0.1:0", io.Discard
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	d, err := New(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, prepare := range before {
		prepare(d)
	}
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	select {
	case <-d.Ready():
	case err := <-ended:
		t.Fatal(err)
	}
	return d, func() (stall.Took, error) {
		control := stall.Begin()
		cancel()
		select {
		case err := <-ended:
			return control.End(), err
		case <-time.After(time.Minute):
			t.Fatal("the daemon does not stop")
			return stall.Took{}, nil
		}
	}
}

// push sends a body to the graph, and closes sent when its head is on the way.
func push(t *testing.T, d *Daemon, body io.Reader, sent chan<- struct{}) error {
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{WroteHeaders: func() {
		if sent != nil {
			close(sent)
		}
	}})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost,
		"http://"+d.Addr()+"/v1/graphs/g/accumulators/a/events", body)
	if err != nil {
		return err
	}
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return err
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return errors.New(res.Status)
	}
	return nil
}

const stopGraph = "graph: g\naccumulators: { a: { strategy: sequential } }\n" +
	"outputs: { o: { from: a, sink: { drop: {} } } }\ndurability: { mode: journal, interval: 50ms }\n"

// M38: a stop takes no longer than its timeout though the database hangs and a request waits for
// it, and names what would not end.
func TestM38StopIsBoundedThoughPostgresHangs(t *testing.T) {
	t.Parallel()
	const timeout = 4 * time.Second
	line, dsn := testbed.PostgresProxy(t, testbed.Postgres(t))
	d, end := running(t, Config{Store: dsn, ShutdownTimeout: timeout,
		Declarations: map[string][]byte{"g.yaml": []byte(stopGraph)}, PushTimeout: time.Minute})
	deadline := time.Now().Add(time.Minute)
	// until the graph has its first lease
	for push(t, d, strings.NewReader("1"), nil) != nil && time.Now().Before(deadline) {
		<-time.After(20 * time.Millisecond)
	}
	line.Swallow()
	pushed, sent := make(chan error, 1), make(chan struct{})
	go func() { pushed <- push(t, d, strings.NewReader("1"), sent) }()
	<-sent
	took, err := end()
	took.Within(t, "the daemon has stopped", timeout+stopMargin)
	if !errors.Is(err, ErrStop) || !strings.Contains(err.Error(), "g") {
		t.Errorf("the stop says %v, want ErrStop and the graph's name", err)
	}
	t.Logf("stopped after %v: %v", took.Real, err)
	if <-pushed == nil {
		t.Error("a push was acknowledged that no journal has")
	}
}

// neverCloses is a store whose Close hangs.
type neverCloses struct {
	checkpoint.Store
	let chan struct{}
}

func (s *neverCloses) Close() error {
	<-s.let
	return s.Store.Close()
}

// M38: a request that does not end leaves the graphs their time, and a store that does not close
// ends with the process: the stop says so.
func TestM38StopKeepsTimeForEachPart(t *testing.T) {
	t.Parallel()
	const timeout = 4 * time.Second // of which half is the graph's, whatever the others take
	let := make(chan struct{})
	defer close(let)
	d, end := running(t, Config{Store: "memory:", ShutdownTimeout: timeout,
		Declarations: map[string][]byte{"g.yaml": []byte(stopGraph)}},
		func(d *Daemon) { d.store = &neverCloses{d.store, let} })
	// A request whose body does not come: once the server asks for it, it waits for it.
	c, err := net.Dial("tcp", d.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := fmt.Fprintf(c, "POST /v1/graphs/g/accumulators/a/events HTTP/1.1\r\nHost: %s\r\n"+
		"Content-Length: 9\r\nExpect: 100-continue\r\n\r\n", d.Addr()); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.Contains(line, " 100 ") {
		t.Fatalf("%q, %v", line, err)
	}
	took, err := end()
	took.Within(t, "the daemon has stopped", timeout+stopMargin)
	if !errors.Is(err, ErrStop) {
		t.Errorf("the stop says %v, want ErrStop", err)
	}
	for _, want := range []string{"requests still under way were cut off", "the store did not end in time"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the stop says %v, want %q", err, want)
		}
	}
	// On a machine that has no time for a graph its share may not be enough.
	if g := "graph g"; took.Allowed(time.Second) < 2*time.Second && err != nil && strings.Contains(err.Error(), g) {
		t.Errorf("the graph had no time left: %v", err)
	}
}
