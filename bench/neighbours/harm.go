package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/internal/node/wasm/wasmtest"
)

// harm is a graph that does its neighbours harm, or tries to.
type harm struct {
	name string
	node string // its node n, which reads its input a; %s is the module, or the server that never answers
	code string // what health says
	// every is how often it gets an event; 0 is once: it does not come back.
	every time.Duration
}

// guestTimeout is how long one call of a guest may take.
const guestTimeout = 100 * time.Millisecond

func harms() []harm {
	return []harm{
		{"wasm that spins", "wasm: { module: %s, function: spin, timeout: 100ms }", "epochs_failing", guestTimeout},
		{"wasm that allocates", "wasm: { module: %s, function: grow }", "epochs_failing", 50 * time.Millisecond},
		{"http that never answers", `http: { url: "%s", body: a }`, "awaiting_answer", 50 * time.Millisecond},
		{"go that spins", "go: { name: spins }", "reactor_busy", 0},
		{"go that spins in a pool", "lane: beside, go: { name: spins }", "reactor_busy", 0},
		{"go that panics", "go: { name: panics }", "epochs_failing", 50 * time.Millisecond},
	}
}

// declaration is that of the graph.
func (h *harm) declaration(module, server string) string {
	node, inputs, lanes := h.node, ", inputs: [a]", ""
	if strings.HasPrefix(node, "http") {
		node, inputs = fmt.Sprintf(node, server), ""
	} else if strings.Contains(node, "%s") {
		node = fmt.Sprintf(node, module)
	}
	if strings.HasPrefix(node, "lane") {
		lanes = "lanes: { beside: { pool: { max_threads: 1 } } }\n"
	}
	return "graph: harm\naccumulators: { a: { strategy: sequential, capacity: 100000 } }\n" + lanes +
		"nodes: { n: { " + node + inputs + " } }\noutputs: { o: { from: n, sink: { drop: {} } } }\n"
}

// calm is the neighbour: what it is given, the moment of sending, comes to the sink.
const calm = `graph: calm
accumulators: { a: { strategy: sequential } }
nodes: { n: { expr: a + 0 } }
outputs: { o: { from: n, sink: { go: { name: arrived } } } }
`

// arrivals are how long values of the neighbour took from where they were sent to its sink.
type arrivals struct {
	mu   sync.Mutex
	took []time.Duration
	news chan struct{} // has room for one: something has come
}

func (a *arrivals) deliver(_ context.Context, batch []graphd.Message) error {
	now := time.Now().UnixNano()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, m := range batch {
		if sent, ok := m.Value.(int); ok {
			a.took = append(a.took, time.Duration(now-int64(sent)))
		}
	}
	select {
	case a.news <- struct{}{}:
	default: // who waits will look
	}
	return nil
}

// take is what has arrived since it was last asked, in order.
func (a *arrivals) take() []time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	took := a.took
	a.took = nil
	slices.Sort(took)
	return took
}

// newDaemon makes a daemon with the neighbour and, unless h is nil, a graph that does harm. What spins in it does so
// until the process ends, or end is closed.
func newDaemon(ctx context.Context, folder string, h *harm, server string, end <-chan struct{}) (
	*graphd.Daemon, *arrivals, error,
) {
	module := filepath.Join(folder, "harm.wasm")
	program := wasmtest.Program{Pages: 1, Funcs: []wasmtest.Func{wasmtest.Spin("spin"), wasmtest.Grow("grow")}}
	if err := os.WriteFile(module, program.Bytes(), 0o600); err != nil {
		return nil, nil, err
	}
	arrived := &arrivals{news: make(chan struct{}, 1)}
	registry := graphd.Registry{
		Nodes: map[string]graphd.NodeFunc{
			"spins": func(in map[string]any) (any, error) {
				for !over(end) { // whatever the epoch's context says
				}
				return in["a"], nil
			},
			"panics": func(map[string]any) (any, error) { panic("this node panics") },
		},
		Sinks: map[string]graphd.SinkFunc{"arrived": arrived.deliver},
	}
	declarations := map[string][]byte{"calm.yaml": []byte(calm)}
	if h != nil {
		declarations["harm.yaml"] = []byte(h.declaration(module, server))
	}
	d, err := graphd.New(ctx, graphd.Config{
		Store: "memory:", Listen: "127.0.0.1:0", Stdout: io.Discard, AllowOutbound: []string{"loopback"},
		Registry: registry, Declarations: declarations, Log: slog.New(slog.DiscardHandler),
	})
	return d, arrived, err
}

func over(end <-chan struct{}) bool {
	select {
	case <-end:
		return true
	default:
		return false
	}
}
