package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/agents"
)

// TestWhatAgentsReadIsBounded: an answer that is too much for a model is cut, and says so; a list is cut between items,
// so that its cursor goes on behind the last of them.
func TestWhatAgentsReadIsBounded(t *testing.T) {
	t.Parallel()
	f := &wordy{fake: newFake()}
	c := agentOf(t, newServer(t, f, Config{Agents: agents.Read}))
	text, _ := called(t, c, "get_state", map[string]any{"graph": "g"})
	if len(text) > 65<<10 || !strings.Contains(text, "This is cut: the answer has ") {
		t.Errorf("a state of %d bytes ends with %s", len(text), text[max(0, len(text)-200):])
	}
	var seen []int64
	before := ""
	for {
		args := map[string]any{"graph": "g", "limit": 40}
		if before != "" {
			args["before"] = before
		}
		text, _ := called(t, c, "list_firings", args)
		var page api.Page[api.Firing]
		if err := json.Unmarshal([]byte(text), &page); err != nil || len(text) > 64<<10 {
			t.Fatalf("%d bytes: %v", len(text), err)
		}
		for _, one := range page.Items {
			seen = append(seen, one.Epoch)
		}
		if before = page.Next; before == "" {
			break
		}
	}
	if len(seen) != largeFirings || seen[0] != largeFirings || seen[largeFirings-1] != 1 {
		t.Errorf("the firings are %v", seen)
	}
	text, _ = called(t, c, "list_graphs", map[string]any{})
	var list struct {
		Items  []struct{ Graph, Health string }
		Graphs int
		Next   string
	}
	if json.Unmarshal([]byte(text), &list) != nil || len(list.Items) != 50 || list.Graphs != 120 ||
		list.Items[0].Health != "failed" || list.Items[0].Graph != "g100" || len(text) > 64<<10 {
		t.Fatalf("%d bytes: %s", len(text), text)
	}
	found := map[string]bool{}
	for after := ""; ; after = list.Next {
		text, _ = called(t, c, "list_graphs", map[string]any{"after": after, "limit": 33})
		list.Items, list.Next = nil, ""
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			t.Fatal(err)
		}
		if len(list.Items) != min(33, 120-len(found)) {
			t.Errorf("a page has %d graphs", len(list.Items))
		}
		for _, one := range list.Items {
			if found[one.Graph] {
				t.Errorf("%s comes twice", one.Graph)
			}
			found[one.Graph] = true
		}
		if list.Next == "" {
			break
		}
	}
	if len(found) != 120 {
		t.Errorf("%d graphs were listed", len(found))
	}
}

const largeFirings = 90

// wordy is a Control with answers that are too much for a model.
type wordy struct{ *fake }

func (*wordy) Graphs(context.Context, string) (list api.GraphList, err error) {
	for i := range 120 {
		g := summary()
		g.Graph = "g" + string(rune('0'+i/100)) + string(rune('0'+i/10%10)) + string(rune('0'+i%10))
		if i >= 100 {
			g.Health = "failed"
		}
		list.Items = append(list.Items, g)
	}
	return list, nil
}

func (*wordy) State(context.Context, api.Ref, string) (api.State, error) {
	return api.State{Cache: map[string]json.RawMessage{"a": json.RawMessage(`"` + strings.Repeat("ü", 50<<10) + `"`)}},
		nil
}

func (*wordy) Firings(_ context.Context, _ api.Ref, q api.Query) (page api.Page[api.Firing], err error) {
	next := int64(largeFirings)
	if q.Before != "" {
		if err := json.Unmarshal([]byte(q.Before), &next); err != nil {
			return page, err
		}
		next--
	}
	for ; next > 0 && len(page.Items) < q.Limit; next-- {
		one := firing()
		one.Epoch = next
		one.Outputs["o"] = json.RawMessage(`"` + strings.Repeat("x", 5000) + `"`)
		page.Items = append(page.Items, one)
	}
	if next > 0 {
		raw, _ := json.Marshal(next + 1)
		page.Next = string(raw)
	}
	return page, nil
}

// TestMessagesOfAgentsAreBounded: what is no message, too deep, too large, or would hold a stream open is refused as a
// problem; a tool that panics ends its call and not the daemon.
func TestMessagesOfAgentsAreBounded(t *testing.T) {
	t.Parallel()
	f := newFake()
	s := newServer(t, f, Config{Agents: agents.Write, MaxBody: 10_000})
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	for body, want := range map[string]string{
		"":                                     "400 invalid_json",
		"nothing":                              "400 invalid_json",
		"[" + list + "," + list + "]":          "400 invalid_body",
		`{"jsonrpc":"2.0"}`:                    "400 invalid_body",
		`{"jsonrpc":"2.0","method":"no/such"}`: "400 invalid_body",
		`{"method":"x","params":` + deep + `}`: "400 too_deep",
		`{"method":"` + strings.Repeat("x", 10_000) + `"}`: "413 too_large",
		list: "200 ",
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`:                               "202 ",
		`{"jsonrpc":"2.0","method":"subscriptions/listen"}`:                                    "400 invalid_body",
		`{"jsonrpc":"2.0","id":null,"method":"tools/list"}`:                                    "400 invalid_body",
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","Method":"tools/list"}`:       "",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nothing"}}`:           "200 ",
		`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"graph://g"}}`: "",
	} {
		x := do(t, s, "POST", "/mcp", strings.NewReader(body))
		if got := http.StatusText(x.status); got == "" || want != "" && want != strconv.Itoa(x.status)+" "+x.code(t) {
			t.Errorf("%.80s: got %d %s, want %s", body, x.status, x.body, want)
		}
	}
	refusesWithID(t, s)
	for _, method := range []string{"GET", "DELETE"} {
		if x := do(t, s, method, "/mcp", nil); x.status != http.StatusMethodNotAllowed {
			t.Errorf("%s: got %d", method, x.status)
		}
	}
	c := agentOf(t, s)
	if text, code := called(t, c, "push_events", map[string]any{"graph": "g", "accumulator": "a",
		"events": map[string]any{"panic": true}}); code != api.CodeInternal {
		t.Errorf("a panic is told as %s", text)
	}
	if _, code := called(t, c, "describe_graph", map[string]any{"graph": "g"}); code != "" {
		t.Errorf("after a panic: %s", code)
	}
	off := newServer(t, newFake(), Config{})
	if x := do(t, off, "POST", "/mcp", strings.NewReader(list)); x.status != http.StatusNotFound ||
		!strings.Contains(string(x.body), "--mcp read") {
		t.Errorf("without tools: %d %s", x.status, x.body)
	}
	if err := (&Config{Agents: "all"}).Validate(); err == nil {
		t.Error("a mode that is none is taken")
	}
}

// refusesWithID fails where a message with an id is not refused by an error of JSON-RPC that has it, with the headers
// that other answers have.
func refusesWithID(t *testing.T, s *Server) {
	t.Helper()
	for body, want := range map[string]string{
		`{"jsonrpc":"2.0","id":"a","method":"no/such"}`:              "200 -32601 JSON RPC not handled",
		`{"jsonrpc":"2.0","id":"a","method":"subscriptions/listen"}`: "200 -32601 subscriptions/listen is",
		`{"jsonrpc":"2.0","id":"a"}`:                                 "400 -32600 the body must be one",
		`{"jsonrpc":"2.0","id":"a","method":7}`:                      "400 -32600 the body must be one",
		`{"jsonrpc":"2.0","id":"a","method":"tools/call"}`:           "400 -32600 the message cannot be read",
		`{"jsonrpc":"1.0","id":"a","method":"tools/list"}`:           "400 -32600 the message cannot be read",
	} {
		x := do(t, s, "POST", "/mcp", strings.NewReader(body))
		var got struct {
			ID    any
			Error struct {
				Code    int
				Message string
			}
		}
		err := json.Unmarshal(x.body, &got)
		if text := fmt.Sprint(x.status, " ", got.Error.Code, " ", got.Error.Message); err != nil || got.ID != "a" ||
			!strings.HasPrefix(text, want) || x.header.Get("Content-Type") != "application/json" ||
			x.header.Get("X-Content-Type-Options") != "nosniff" || x.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %s %v %s", body, text, x.header, x.body)
		}
	}
}

// TestToolsSayWhatTheyAre: each tool has a name that all models take, says what it does and what it takes, and whether
// it changes something; in the documentation there are as many.
func TestToolsSayWhatTheyAre(t *testing.T) {
	t.Parallel()
	c := agentOf(t, newServer(t, newFake(), Config{Agents: agents.Write}))
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	whole, _ := json.Marshal(list)
	if len(whole) > 32<<10 {
		t.Errorf("the list has %d bytes: a model reads it each time", len(whole))
	}
	read := names(t, agentOf(t, newServer(t, newFake(), Config{Agents: agents.Read})))
	for _, tool := range list.Tools {
		if !regexp.MustCompile(`^[a-z_]{3,40}$`).MatchString(tool.Name) || !strings.Contains(tool.Description,
			". Takes a role") {
			t.Errorf("%s: %s", tool.Name, tool.Description)
		}
		if tool.Annotations.ReadOnlyHint != slices.Contains(read, tool.Name) {
			t.Errorf("%s says that it only reads: %v", tool.Name, tool.Annotations.ReadOnlyHint)
		}
	}
	if len(read) < 15 || len(list.Tools) < 30 {
		t.Errorf("%d tools, %d of them to read", len(list.Tools), len(read))
	}
}
