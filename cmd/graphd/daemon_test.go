package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/spec"
)

// daemon is a fake daemon: it answers with fixed facts and remembers what it was asked.
type daemon struct {
	*httptest.Server
	slow chan struct{} // a request that is not answered has come

	mu     sync.Mutex
	log    []string
	events []string
	room   int // of the accumulator "filling", until it has been full once
	tails  int // streams of the graph "lost" so far
}

func newDaemon(t *testing.T) *daemon {
	d := &daemon{slow: make(chan struct{}, 2), room: 400}
	m := http.NewServeMux()
	m.HandleFunc("GET /v1/graphs", d.list)
	m.HandleFunc("GET /v1/graphs/{graph}", d.graph)
	m.HandleFunc("DELETE /v1/graphs/{graph}", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	})
	m.HandleFunc("PUT /v1/graphs/{graph}", d.apply)
	m.HandleFunc("GET /v1/graphs/{graph}/revisions", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, api.Page[api.Revision]{Items: revisions()})
	})
	m.HandleFunc("GET /v1/graphs/{graph}/revisions/2", func(w http.ResponseWriter, _ *http.Request) {
		v := revisions()[1]
		v.Declaration = deployed
		answer(w, 200, v)
	})
	m.HandleFunc("POST /v1/graphs/{graph}/rollback", rollback)
	m.HandleFunc("POST /v1/graphs/{graph}/{command}", d.command)
	m.HandleFunc("POST /v1/graphs/{graph}/accumulators/{accumulator}/events", d.push)
	m.HandleFunc("POST /v1/graphs/{graph}/accumulators/{accumulator}/rewind", d.command)
	m.HandleFunc("GET /v1/graphs/{graph}/state", func(w http.ResponseWriter, r *http.Request) {
		if n, err := strconv.Atoi(r.URL.Query().Get("shard")); err == nil {
			answer(w, 200, api.State{Dirty: map[string]bool{"orderbook": true}, Queues: map[string]int{"orderbook": 8},
				Epoch: 1024, Shard: n, Shards: dealt().Shards[n : n+1]})
			return
		}
		answer(w, 200, state())
	})
	m.HandleFunc("GET /v1/graphs/{graph}/accumulators/{accumulator}", func(w http.ResponseWriter, r *http.Request) {
		row := &api.TableRow{Key: json.RawMessage(`"` + r.URL.Query().Get("row") + `"`), Rows: 2, Value: []byte("null")}
		if row.Found = string(row.Key) == `"m1"`; row.Found {
			row.Value = []byte(`{"risk":5}`)
		}
		answer(w, 200, api.AccumulatorDetail{Row: row})
	})
	m.HandleFunc("GET /v1/graphs/{graph}/firings", func(w http.ResponseWriter, r *http.Request) {
		page := firings()
		if n, err := strconv.Atoi(r.URL.Query().Get("shard")); err == nil {
			page.Items = page.Items[:1]
			page.Items[0].Shard = n
		}
		answer(w, 200, page)
	})
	m.HandleFunc("GET /v1/graphs/{graph}/firings/{epoch}", d.firing)
	m.HandleFunc("GET /v1/graphs/{graph}/why", func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, why()) })
	m.HandleFunc("GET /v1/graphs/{graph}/keys", func(w http.ResponseWriter, r *http.Request) {
		answer(w, 200, keys(r))
	})
	m.HandleFunc("GET /v1/graphs/{graph}/why-not", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, whyNot())
	})
	m.HandleFunc("GET /v1/graphs/{graph}/recovery-events", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, recoveryEvents())
	})
	m.HandleFunc("GET /v1/graphs/{graph}/dead-letters", func(w http.ResponseWriter, r *http.Request) {
		answer(w, 200, letters(r.URL.Query().Get("before")))
	})
	m.HandleFunc("POST /v1/graphs/{graph}/dead-letters/{act}", d.letters)
	m.HandleFunc("GET /v1/ws/events", d.watch)
	m.HandleFunc("GET /v1/ws/graphs/{graph}/reactor", d.watch)
	m.HandleFunc("GET /v1/tree", func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, tree()) })
	m.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, api.Status{Status: "ready", Uptime: 12.5})
	})
	m.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, api.Version{Version: "v9"})
	})
	m.HandleFunc("GET /v1/members", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, api.Page[api.Member]{Items: []api.Member{{Name: "old", Version: "v8", State: "live"},
			{Name: "lost", Version: "v9", State: "expired"}}})
	})
	m.HandleFunc("GET /v1/limits", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, api.Page[api.Limit]{Items: []api.Limit{
			{Name: "request_body", Limit: 8 << 20, Unit: "bytes"}, {
				Name: "websocket_connections", Limit: 1024, Used: new(int64(3)), Unit: "connections",
			},
		}})
	})
	d.Server = httptest.NewServer(d.record(m))
	t.Cleanup(d.Close)
	return d
}

// record notes every request: method, path, what its headers say, and its body on one line.
func (d *daemon) record(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		line := r.Method + " " + r.URL.Path
		q := r.URL.Query()
		for name, v := range q { // what is empty says nothing
			if v[0] == "" {
				q.Del(name)
			}
		}
		if len(q) > 0 {
			line += "?" + q.Encode()
		}
		if v := r.Header.Get("Graphd-Tenant"); v != "" {
			line += " tenant=" + v
		}
		if v := r.Header.Get("If-Match"); v != "" {
			line += " if-match=" + v
		}
		if text := strings.TrimSpace(string(body)); text != "" {
			line += " " + strings.ReplaceAll(text, "\n", "/")
			if strings.HasSuffix(string(body), "\n") && strings.Contains(r.URL.Path, "/events") {
				line += "/"
			}
		}
		d.mu.Lock()
		d.log = append(d.log, line)
		d.mu.Unlock()
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		next.ServeHTTP(w, r)
	})
}

func (d *daemon) requests() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.log
}

func (d *daemon) pushed() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.events
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // a client that went away is no matter of the test's
}

// refuse answers with a problem document; more are further members.
func refuse(w http.ResponseWriter, status int, code, detail string, more map[string]any) {
	doc := map[string]any{"type": "urn:graphd:problem:" + code, "title": http.StatusText(status), "status": status,
		"code": code, "detail": detail}
	for k, v := range more {
		doc[k] = v
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(doc)
}

func (d *daemon) list(w http.ResponseWriter, r *http.Request) {
	page := api.Page[api.GraphSummary]{Items: []api.GraphSummary{}}
	if r.Header.Get("Graphd-Tenant") == "" {
		page.Items = append(page.Items, flights(), marketMaker())
	}
	answer(w, http.StatusOK, page)
}

func (d *daemon) graph(w http.ResponseWriter, r *http.Request) {
	switch name := r.PathValue("graph"); name {
	case "market_maker":
		if r.Header.Get("Accept") == "application/yaml" {
			_, _ = io.WriteString(w, deployed)
			return
		}
		answer(w, http.StatusOK, marketMaker())
	case "dealt":
		g, n := dealt(), r.URL.Query().Get("shard")
		if n != "" {
			i, _ := strconv.Atoi(n)
			g.Shards = g.Shards[i : i+1]
		}
		answer(w, http.StatusOK, g)
	case "flights":
		answer(w, http.StatusOK, flights())
	case "secret":
		refuse(w, http.StatusForbidden, "denied", "a viewer may not see this\x1b[2J", nil)
	case "away":
		refuse(w, http.StatusServiceUnavailable, "not_ready", "the store does not answer", nil)
	case "slow":
		d.slow <- struct{}{}
		<-r.Context().Done()
	default:
		refuse(w, http.StatusNotFound, "graph_not_found", "there is no graph "+name, nil)
	}
}

func (d *daemon) apply(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("graph")
	if name == "broken" {
		refuse(w, http.StatusUnprocessableEntity, "invalid_declaration", "the declaration has 2 mistakes",
			map[string]any{"errors": spec.Diagnostics{
				{Line: 3, Column: 5, Path: "nodes.mid.expr", Code: "unknown_name", Text: "orderbok is not declared",
					Suggest: "orderbook"},
				{Line: 7, Column: 1, Path: "outputs", Code: "missing_field", Text: "an output needs from"},
			}})
		return
	}
	if m := r.Header.Get("If-Match"); m != "" && m != `"3"` {
		refuse(w, http.StatusPreconditionFailed, "revision_mismatch", "the graph is at revision 3", nil)
		return
	}
	g := marketMaker()
	g.Graph = name
	result := api.ApplyResult{
		Changed: true, Revision: 3, Graph: &g, Diff: []string{"node edge: changed", "output audit: added"},
	}
	if name == "fileless" {
		result.Files = []api.File{{Of: "accumulator orders", Path: "orders.csv", File: "/srv/data/files/orders.csv"}}
		result.Troubles = []string{"accumulator orders: stat /srv/data/files/orders.csv: no such file or directory"}
	}
	if r.URL.Query().Get("dry_run") != "" {
		result.DryRun, result.Graph = true, nil
	}
	answer(w, http.StatusOK, result)
}

func (d *daemon) command(w http.ResponseWriter, r *http.Request) {
	g := marketMaker()
	if body, err := io.ReadAll(r.Body); err != nil || strings.Contains(string(body), "ordrbook") {
		refuse(w, http.StatusNotFound, "accumulator_not_found", "graph market_maker has no accumulator \"ordrbook\"",
			map[string]any{"declared": []string{"orderbook", "pricing"}})
		return
	}
	switch command := r.PathValue("command"); {
	case command == "fire" && r.PathValue("graph") == "flights":
		answer(w, http.StatusOK, api.FireResult{Epoch: 9, Error: new("node judge: not_finite: division by zero"),
			Cause: "force"})
	case command == "fire":
		answer(w, http.StatusOK, api.FireResult{Epoch: 1043, OK: true, Cause: "force",
			Outputs: map[string]json.RawMessage{
				"signals": raw(`{"edge":0.9,"side":"buy"}`), "audit": raw(`{"reason":"<none>"}`),
			}})
	case command == "checkpoint":
		answer(w, http.StatusOK, map[string]int64{"checkpoint_epoch": 1042})
	case command == "step" && r.PathValue("graph") == "flights":
		refuse(w, http.StatusConflict, "not_paused", "step goes with a paused graph: pause it first", nil)
	case command == "pause" && r.PathValue("graph") == "dealt":
		refuse(w, http.StatusServiceUnavailable, "not_durable", "shard 1 of 4 (done in 0): the store is full",
			map[string]any{"shards": []api.ShardResult{{Shard: 0, Done: true},
				{Shard: 1, Code: "not_durable", Detail: "the store is full"},
				{Shard: 2, Code: "graph_failed", Detail: "it was given up"},
				{Shard: 3, Code: "not_durable", Detail: "the store is full"}}})
	case command == "skip-lost":
		answer(w, http.StatusOK, api.SkipResult{GraphSummary: g, Gaps: []api.Gap{
			{Stream: "orders/0", From: "orders/0#mH9c2FVoQZOVT2DNtZ1yOA@42",
				To: new("orders/0#mH9c2FVoQZOVT2DNtZ1yOA@1042"), Events: new(int64(1000)), Reason: "removed"},
			{Stream: "trades/0", From: "trades/0#mH9c2FVoQZOVT2DNtZ1yOA@42",
				To: new("trades/0#tacSMRGSQByKHH9JaVUeGA@0"), Reason: "made_anew"},
		}})
	case command == "pause":
		g.Paused, g.PausedBy = true, "anonymous@127.0.0.1"
		answer(w, http.StatusOK, g)
	default:
		answer(w, http.StatusOK, g)
	}
}

// push takes every event but "bad". The accumulator "full" takes one and no more; "filling"
// is full once.
func (d *daemon) push(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	room := 1 << 30
	switch r.PathValue("accumulator") {
	case "full":
		room = 1
	case "filling":
		room, d.room = d.room, 1<<30
	}
	result := api.PushResult{Rejected: []api.Rejection{}}
	for i, line := range strings.Split(strings.TrimSuffix(string(body), "\n"), "\n") {
		if i == room {
			result.Full = true
			break
		}
		if line == `"bad"` || line == "nonsense" {
			result.Rejected = append(result.Rejected, api.Rejection{Index: i, Code: "schema", Detail: "not an object"})
			continue
		}
		result.Accepted++
		d.events = append(d.events, line)
	}
	more := map[string]any{"accepted": result.Accepted, "filtered": 0, "durable": false, "rejected": result.Rejected}
	switch {
	case result.Full:
		more["next_index"] = room
		refuse(w, http.StatusTooManyRequests, "queue_full", "the accumulator's queue stayed full", more)
	case result.Accepted == 0:
		refuse(w, http.StatusUnprocessableEntity, "all_rejected", "no event was accepted; rejected says why", more)
	default:
		answer(w, http.StatusOK, result)
	}
}

func (d *daemon) firing(w http.ResponseWriter, r *http.Request) {
	switch epoch := r.PathValue("epoch"); epoch {
	case "1042":
		answer(w, http.StatusOK, firingDetail())
	case "1041":
		answer(w, http.StatusOK, failedFiring())
	default:
		refuse(w, http.StatusNotFound, "firing_not_found", "epoch "+epoch+" is not in the history", nil)
	}
}

// letters deals with the dead letters of a request: of those it names dl2 fails again, and of all there are two
// pages.
func (d *daemon) letters(w http.ResponseWriter, r *http.Request) {
	var req api.LettersRequest
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		refuse(w, http.StatusBadRequest, "invalid_body", err.Error(), nil)
		return
	}
	res := api.LettersResult{Letters: len(req.IDs), Preview: req.Preview, Reasons: []api.LetterReason{}}
	if req.All && req.After == "" {
		res.Letters, res.Next = 2, "dl1..dl3"
	} else if req.All {
		res.Letters = 1
	}
	switch req.Code {
	case "htp_400":
		res.Note = "there is no dead letter with the code \"htp_400\"; there are some with the code http_400"
	case "http_400":
		res.Letters, res.Waiting, res.Reasons = 3, 2, []api.LetterReason{{Fate: "waiting", Code: "output_pending",
			Letters: 2, First: "dl7", Detail: "it waits for output hook to deliver it"}}
	}
	if slices.Contains(req.IDs, "dl2") {
		res.FailedAgain, res.Reasons = 1, []api.LetterReason{{Fate: "failed_again", Code: "against_schema", Letters: 1,
			First: "dl2", Detail: "bid is missing"}}
	}
	if slices.Contains(req.IDs, "dl9") {
		res.Skipped, res.Reasons = 1, []api.LetterReason{{Fate: "skipped", Code: api.CodeDeadLetterNotFound, Letters: 1,
			First: "dl9", Detail: "there is no dead letter \"dl9\""}}
	}
	if res.Passed = res.Letters - res.FailedAgain - res.Waiting; r.PathValue("act") == "discard" {
		res.Passed, res.Discarded = 0, res.Letters-res.Skipped
	}
	answer(w, http.StatusOK, res)
}

// raw is JSON.
func raw(s string) json.RawMessage { return json.RawMessage(s) }

// at is a moment before now.
func at(ago time.Duration) time.Time { return now.Add(-ago) }
