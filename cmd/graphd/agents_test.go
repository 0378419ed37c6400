package main

import (
	"context"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestAnAgentAtTheDemo: an agent with the protocol's own client finds the demo's graph, asks why it fired, checks a
// declaration, makes a graph, pushes to it and reads what it holds.
func TestAnAgentAtTheDemo(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	listen, _, exit := startDemo(ctx, t, "--mcp", "write")
	agent, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx,
		&mcp.StreamableClientTransport{Endpoint: "http://" + listen + "/mcp"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	call := func(tool string, args map[string]any, has string) {
		t.Helper()
		r, err := agent.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			t.Fatal(err)
		}
		if text := r.Content[0].(*mcp.TextContent).Text; r.IsError != strings.HasPrefix(has, `"code"`) ||
			!strings.Contains(text, has) {
			t.Errorf("%s: got %s, want %s", tool, text, has)
		}
	}
	// That it has fired is waited for.
	if r := command(ctx, newDaemon(t).Server, "", "tail", "market_maker", "--topics", "firings", "-n", "1", "--server",
		"http://"+listen); r.code != 0 {
		t.Fatalf("got %+v", r)
	}
	type args = map[string]any
	const graph = "graph: sums\naccumulators: { a: {} }\nnodes: { n: { expr: a.x + 1 } }\n" +
		"outputs: { o: { from: n, sink: { drop: {} } } }\n"
	call("list_graphs", args{}, `"graph":"market_maker"`)
	call("why", args{"graph": "market_maker"}, `"epoch":`)
	call("why_not", args{"graph": "market_maker"}, `"market_maker"`)
	call("validate_declaration", args{"graph": "sums", "declaration": strings.Replace(graph, "a.x", "b.x", 1)},
		`"code":"declaration_invalid"`)
	call("validate_declaration", args{"graph": "sums", "declaration": graph}, `"dry_run":true`)
	call("describe_graph", args{"graph": "sums"}, `"code":"graph_not_found"`)
	call("apply_declaration", args{"graph": "sums", "declaration": graph}, `"revision":1`)
	call("push_events", args{"graph": "sums", "accumulator": "a", "events": args{"x": 41}}, `"accepted":1`)
	call("drain_graph", args{"graph": "sums"}, `"epoch":1`)
	call("get_state", args{"graph": "sums"}, `42`)
	call("delete_graph", args{"graph": "sums", "state": "delete"}, `"done":true`)
	if err := agent.Close(); err != nil {
		t.Error(err)
	}
	cancel()
	if code := <-exit; code != 0 {
		t.Errorf("demo exits with %d, want 0", code)
	}
}
