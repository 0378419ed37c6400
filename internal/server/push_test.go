package server

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const ndjson = "Content-Type: application/x-ndjson"

func TestPush(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 65) + strings.Repeat("]", 65)
	const result = `{"accepted":%d,"filtered":%d,"durable":false,"rejected":[%s]}`
	tests := []struct {
		name    string
		body    string
		headers []string
		status  int
		code    string
		answer  string // of a 200
		// rejected begins the list of rejected events.
		rejected string
		events   []string
		refused  []string // bodies counted as rejected
	}{
		{name: "object", body: ` {"x":1} `, status: 200, answer: fmt.Sprintf(result, 1, 0, ""), events: []string{`{"x":1}`}},
		{name: "scalar", body: "7", status: 200, events: []string{"7"}},
		{name: "null", body: "null", status: 200, events: []string{"null"}},
		{name: "filtered", body: `{"filter":true}`, status: 200, answer: fmt.Sprintf(result, 1, 1, "")},
		{name: "array", body: ` [ {"x":1} , {"filter":true},[2] ] `, status: 200, answer: fmt.Sprintf(result, 3, 1, ""), events: []string{`{"x":1}`, `[2]`}},
		{name: "empty array", body: "[]", status: 200, answer: fmt.Sprintf(result, 0, 0, "")},
		{name: "lines", body: "{\"x\":1}\r\n\n  \n2\n[3]", headers: []string{ndjson}, status: 200, answer: fmt.Sprintf(result, 3, 0, ""), events: []string{`{"x":1}`, "2", "[3]"}},
		{name: "lines with parameters", body: "1\n2", headers: []string{"Content-Type: Application/NDJSON; charset=utf-8"}, status: 200, events: []string{"1", "2"}},
		{name: "no lines", body: "", headers: []string{ndjson}, status: 200, answer: fmt.Sprintf(result, 0, 0, "")},
		{name: "form of curl", body: "1", headers: []string{"Content-Type: application/x-www-form-urlencoded"}, status: 200, events: []string{"1"}},
		{name: "one bad line", body: "1\nnope\n3", headers: []string{ndjson}, status: 200, events: []string{"1", "3"},
			rejected: `"rejected":[{"index":1,"code":"invalid_json","detail":`},
		{name: "duplicate key in one of two", body: `[{"a":1,"a":2},{"a":1}]`, status: 200, events: []string{`{"a":1}`}},

		{name: "empty", body: "", status: 400, code: "invalid_json", refused: []string{"invalid_json"}},
		{name: "not JSON", body: "{x}", status: 400, code: "invalid_json", refused: []string{"invalid_json"}},
		{name: "two values", body: "1 2", status: 400, code: "invalid_json", refused: []string{"invalid_json"}},
		{name: "NaN", body: `{"x":NaN}`, status: 400, code: "invalid_json", refused: []string{"invalid_json"}},
		{name: "bad element", body: `[1,{"x":NaN}]`, status: 400, code: "invalid_json", refused: []string{"invalid_json"}},
		{name: "open array", body: `[1,2`, status: 400, code: "invalid_json", refused: []string{"invalid_json"}},
		{name: "missing element", body: `[1,,2]`, status: 400, code: "invalid_json", refused: []string{"invalid_json"}},
		{name: "last comma", body: `[1,]`, status: 400, code: "invalid_json", refused: []string{"invalid_json"}},
		{name: "UTF-8", body: "\"\xff\"", status: 400, code: "invalid_utf8", refused: []string{"invalid_utf8"}},
		{name: "too deep", body: `{"a":` + deep + `}`, status: 400, code: "too_deep", refused: []string{"too_deep"}},
		{name: "deepest", body: deep[1:len(deep)-1] + "", status: 200},
		{name: "10,000 deep", body: strings.Repeat("[", 10000), status: 400, code: "too_deep", refused: []string{"too_deep"}},
		{name: "10,000 objects deep", body: strings.Repeat(`{"a":`, 10000), status: 400, code: "too_deep", refused: []string{"too_deep"}},
		// Refused by the accumulator, which has counted it already.
		{name: "duplicate key", body: `{"a":1,"a":2}`, status: 400, code: "duplicate_key"},
		{name: "out of range", body: `{"a":1e999}`, status: 400, code: "number_out_of_range"},
		{name: "all bad", body: `[{"a":1,"a":2},1e999]`, status: 422, code: "all_rejected"},
		{name: "all lines bad", body: "{\nx", headers: []string{ndjson}, status: 422, code: "all_rejected"},

		{name: "too large", body: `"` + strings.Repeat("x", 1<<20) + `"`, status: 413, code: "too_large", refused: []string{"too_large"}},
		{name: "encoding", body: "1", headers: []string{"Content-Encoding: br"}, status: 415, code: "unsupported_encoding"},
		{name: "identity", body: "1", headers: []string{"Content-Encoding: identity"}, status: 200, events: []string{"1"}},
		{name: "gzip", body: zip("[1,2]"), headers: []string{"Content-Encoding: gzip"}, status: 200, events: []string{"1", "2"}},
		{name: "no gzip", body: "[1,2]", headers: []string{"Content-Encoding: gzip"}, status: 400, code: "invalid_encoding", refused: []string{"invalid_encoding"}},
		{name: "half gzip", body: zip("[1,2]")[:20], headers: []string{"Content-Encoding: gzip"}, status: 400, code: "invalid_encoding", refused: []string{"invalid_encoding"}},
		{name: "broken gzip", body: zip("[1,2]")[:len(zip("[1,2]"))-8] + "checksum", headers: []string{"Content-Encoding: gzip"}, status: 400, code: "invalid_encoding", refused: []string{"invalid_encoding"}},
		{name: "gzip bomb", body: zip(strings.Repeat(" ", 8<<20)), headers: []string{"Content-Encoding: gzip"}, status: 413, code: "too_large", refused: []string{"too_large"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctl := newFake()
			s := newServer(t, ctl, Config{MaxBody: 1 << 20})
			// Once with the length known, once without.
			for _, body := range []io.Reader{strings.NewReader(tt.body), io.MultiReader(strings.NewReader(tt.body))} {
				ctl.events, ctl.rejected = nil, nil
				if tt.body == "" && tt.status == 200 {
					body = http.NoBody
				}
				x := do(t, s, "POST", events, body, tt.headers...)
				if x.status != tt.status || x.code(t) != tt.code {
					t.Fatalf("got %d %s, want %d %s\n%s", x.status, x.code(t), tt.status, tt.code, x.body)
				}
				if tt.answer != "" && string(x.body) != tt.answer {
					t.Errorf("got  %s\nwant %s", x.body, tt.answer)
				}
				if !strings.Contains(string(x.body), tt.rejected) {
					t.Errorf("got %s, without %s", x.body, tt.rejected)
				}
				got, _, refused := ctl.seen()
				if tt.events != nil && !slices.Equal(got, tt.events) {
					t.Errorf("events %q, want %q", got, tt.events)
				}
				if !slices.Equal(refused, tt.refused) {
					t.Errorf("bodies rejected: %q, want %q", refused, tt.refused)
				}
				if n := s.bodyBytes.Load(); n != 0 {
					t.Errorf("%d bytes of the budget for bodies are still taken", n)
				}
			}
		})
	}
}

func zip(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, s)
	_ = w.Close()
	return b.String()
}

func TestPushNowhere(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFake(), Config{MaxBody: 100})
	for _, body := range []string{"1", "[]", "{", strings.Repeat("1", 200)} { // an unknown place is said before a bad body
		if x := do(t, s, "POST", "/v1/graphs/none/accumulators/a/events", strings.NewReader(body)); x.code(t) != "graph_not_found" {
			t.Errorf("%.9s: got %d %s", body, x.status, x.body)
		}
		if x := do(t, s, "POST", "/v1/graphs/g/accumulators/b/events", strings.NewReader(body)); x.code(t) != "accumulator_not_found" {
			t.Errorf("%.9s: got %d %s", body, x.status, x.body)
		}
	}
}

// TestPushBatches: a body of many events is pushed in batches, and what is told of single
// events counts from the body's first. // M42
func TestPushBatches(t *testing.T) {
	t.Parallel()
	ctl := newFake()
	s := newServer(t, ctl, Config{})
	const n = 2500
	for name, headers := range map[string][]string{"array": nil, "lines": {ndjson}} {
		ctl.events, ctl.pushes = nil, 0
		items := make([]string, n)
		for i := range items {
			items[i] = fmt.Sprint(i)
			if i%1250 == 1200 { // 1200, 2450
				items[i] = `{"a":1,"a":1}`
			}
		}
		body := "[" + strings.Join(items, ",") + "]"
		if headers != nil {
			body = strings.Join(items, "\n")
		}
		x := do(t, s, "POST", events, strings.NewReader(body), headers...)
		var r struct {
			Accepted int
			Rejected []struct{ Index int }
		}
		if err := json.Unmarshal(x.body, &r); err != nil || r.Accepted != n-2 || len(r.Rejected) != 2 || r.Rejected[0].Index != 1200 || r.Rejected[1].Index != 2450 {
			t.Errorf("%s: %v %s", name, err, x.body)
		}
		if ctl.pushes != 3 || len(ctl.events) != n-2 || ctl.events[2497] != "2499" {
			t.Errorf("%s: %d pushes of %d events", name, ctl.pushes, len(ctl.events))
		}
	}
}

// TestManyRejected: an answer lists a thousand bad events and counts the rest.
func TestManyRejected(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFake(), Config{})
	x := do(t, s, "POST", events, strings.NewReader(strings.Repeat("x\n", 5000)), ndjson)
	var r struct {
		Rejected        []any
		RejectedOmitted int `json:"rejected_omitted"`
	}
	if err := json.Unmarshal(x.body, &r); err != nil || x.status != 422 || len(r.Rejected) != 1000 || r.RejectedOmitted != 4000 {
		t.Errorf("%d %v: %d listed, %d omitted", x.status, err, len(r.Rejected), r.RejectedOmitted)
	}
}

// TestPushFull: a full queue holds a request up for the push timeout, then answers how far
// it came (M4); the same request again with its key goes on from there.
func TestPushFull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctl := newFake()
		ctl.full, ctl.free = true, 3
		s := newServer(t, ctl, Config{})
		const body = `[1,2,{"a":1,"a":2},4,5,6]`
		began := time.Now()
		x := do(t, s, "POST", events, strings.NewReader(body), "Idempotency-Key: k")
		if d := time.Since(began); d != 5*time.Second {
			t.Errorf("held up for %v", d)
		}
		if x.status != 429 || x.code(t) != "queue_full" || x.header.Get("Retry-After") != "1" {
			t.Fatalf("got %d %s", x.status, x.body)
		}
		if !strings.Contains(string(x.body), `"next_index":3,"accepted":2,"filtered":0,"durable":false,"rejected":[{"index":2,`) {
			t.Errorf("got %s", x.body)
		}
		ctl.open()
		x = do(t, s, "POST", events, strings.NewReader(body), "Idempotency-Key: k")
		if x.status != 200 || !strings.Contains(string(x.body), `{"accepted":5,"filtered":0,"durable":false,"rejected":[{"index":2,`) {
			t.Errorf("got %d %s", x.status, x.body)
		}
		if got, _, _ := ctl.seen(); !slices.Equal(got, []string{"1", "2", "4", "5", "6"}) {
			t.Errorf("events %q", got)
		}
		again := do(t, s, "POST", events, strings.NewReader(body), "Idempotency-Key: k")
		if again.header.Get("Idempotency-Replayed") != "true" || !bytes.Equal(again.body, x.body) {
			t.Errorf("third answer %v %s", again.header, again.body)
		}
	})
}

func TestIdempotency(t *testing.T) {
	t.Parallel()
	ctl := newFake()
	s := newServer(t, ctl, Config{})
	push := func(key, body string, headers ...string) *exchange {
		t.Helper()
		return do(t, s, "POST", events, strings.NewReader(body), append(headers, "Idempotency-Key: "+key)...)
	}
	first := push("k1", `[1,2]`)
	if x := push("k1", `[1,2]`); x.status != 200 || !bytes.Equal(x.body, first.body) || x.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("again: %d %v %s", x.status, x.header, x.body)
	}
	if x := push("k1", `[1,3]`); x.code(t) != "idempotency_mismatch" || x.status != 422 {
		t.Errorf("other body: %d %s", x.status, x.body)
	}
	if x := push("k1", `[1,2]`, ndjson); x.code(t) != "idempotency_mismatch" {
		t.Errorf("the same body as NDJSON: %d %s", x.status, x.body)
	}
	if x := push("k2", `[1,2]`); x.header.Get("Idempotency-Replayed") != "" {
		t.Errorf("another key was taken for the first")
	}
	// A refusal is remembered too; a body that is no JSON was never a push.
	bad := push("k3", `{"a":1,"a":2}`)
	if x := push("k3", `{"a":1,"a":2}`); bad.status != 400 || x.status != 400 || x.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("refusal: %d, then %d %v", bad.status, x.status, x.header)
	}
	if x := push("k4", "{"); x.status != 400 {
		t.Errorf("got %d", x.status)
	}
	if x := push("k4", "1"); x.status != 200 {
		t.Errorf("a key of a body that was no push is taken: %d %s", x.status, x.body)
	}
	for _, key := range []string{"", "ä", strings.Repeat("k", 256)} {
		if x := push(key, "1"); x.code(t) != "invalid_idempotency_key" {
			t.Errorf("key %q: %d", key, x.status)
		}
	}
	if x := push("k5", "1", "Idempotency-Key: k6"); x.code(t) != "invalid_idempotency_key" {
		t.Errorf("two keys: %d", x.status)
	}
	if got, _, _ := ctl.seen(); !slices.Equal(got, []string{"1", "2", "1", "2", "1"}) {
		t.Errorf("events %q", got)
	}
	// A graph that was deleted begins anew.
	do(t, s, "DELETE", "/v1/graphs/g?state=delete", nil)
	if x := push("k1", `[1,3]`); x.status != 200 || x.header.Get("Idempotency-Replayed") != "" {
		t.Errorf("after the graph was deleted: %d %s", x.status, x.body)
	}
}

// TestIdempotencyBusy: the same key while the first request is under way is a conflict; a
// panic frees the key.
func TestIdempotencyBusy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctl := newFake()
		ctl.full = true
		s := newServer(t, ctl, Config{})
		done := make(chan *exchange)
		go func() { done <- do(t, s, "POST", events, strings.NewReader("1"), "Idempotency-Key: k") }()
		synctest.Wait()
		if x := do(t, s, "POST", events, strings.NewReader("1"), "Idempotency-Key: k"); x.code(t) != "idempotency_in_progress" || x.status != 409 {
			t.Errorf("got %d %s", x.status, x.body)
		}
		ctl.open()
		if x := <-done; x.status != 200 {
			t.Errorf("the first: %d %s", x.status, x.body)
		}
		for range 2 {
			if x := do(t, s, "POST", events, strings.NewReader(`{"panic":true}`), "Idempotency-Key: p"); x.status != 500 {
				t.Errorf("got %d %s", x.status, x.body)
			}
		}
	})
}

// TestIdempotencyBounds: keys are forgotten after a day, and the oldest when there are too many.
func TestIdempotencyBounds(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	one := func(key string) claimID { return claimID{scope{"default", "g", "a"}, key} }
	answer := &reply{200, "application/json", []byte("{}")}
	d := newIdempotency()
	take := func(id claimID, at time.Time) *claim {
		t.Helper()
		c, err := d.take(id, bodyHash(nil, false), at)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	d.finish(take(one("a"), now), answer)
	d.finish(take(one("b"), now.Add(time.Hour)), answer)
	if c := take(one("a"), now.Add(keepKeys)); c.reply == nil { // used, and so behind b
		t.Error("forgotten before its day was over")
	}
	if c := take(one("a"), now.Add(keepKeys+time.Second)); c.reply != nil {
		t.Error("remembered for more than a day")
	} else {
		d.finish(c, answer)
	}
	for i := range maxKeysPerAccumulator + 10 {
		d.finish(take(one(fmt.Sprint(i)), now.Add(keepKeys)), answer)
	}
	if n := len(d.entries); n != maxKeysPerAccumulator {
		t.Errorf("%d keys of one accumulator", n)
	}
	big := &reply{200, "application/json", make([]byte, 1<<20)}
	for i := range 100 {
		d.finish(take(claimID{scope{"default", "g", fmt.Sprint(i)}, "k"}, now.Add(keepKeys)), big)
	}
	if n := d.used(); n > maxKeyBytes || n < maxKeyBytes/2 {
		t.Errorf("%d bytes are kept", n)
	}
	if n := d.all.Len(); n != len(d.entries) || n > 40 {
		t.Errorf("%d entries, %d in order", len(d.entries), n)
	}
}

// blanks is an endless body of white space that counts what was read of it.
type blanks struct {
	left int64
	read atomic.Int64
}

func (b *blanks) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), b.left))
	for i := range p[:n] {
		p[i] = ' '
	}
	b.left -= int64(n)
	b.read.Add(int64(n))
	return n, nil
}

// TestHugeBody: 100 MB are refused with no more memory than the limit asks for.
func TestHugeBody(t *testing.T) { // not parallel: it measures memory
	s := newServer(t, newFake(), Config{})
	ts := httptest.NewServer(s)
	defer ts.Close()
	for _, announced := range []bool{true, false} {
		for _, contentType := range []string{"application/json", "application/x-ndjson"} {
			body := &blanks{left: 100 << 20}
			req, err := http.NewRequestWithContext(t.Context(), "POST", ts.URL+events, body)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", contentType)
			if announced {
				req.ContentLength = 100 << 20
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			resp, err := ts.Client().Do(req)
			runtime.ReadMemStats(&after)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != 413 {
				t.Errorf("announced %v: got %d", announced, resp.StatusCode)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 40<<20 {
				t.Errorf("announced %v: %d MiB allocated in all", announced, n>>20)
			}
			if body.read.Load() > 20<<20 {
				t.Errorf("announced %v: %d MiB read", announced, body.read.Load()>>20)
			}
		}
	}
	if x := do(t, s, "POST", events, strings.NewReader("1")); x.status != 200 {
		t.Errorf("afterwards: %d", x.status)
	}
}

// TestBodyBudget: large bodies are refused while too many are being read.
func TestBodyBudget(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFake(), Config{MaxBodies: 1 << 20})
	body := func() io.Reader { return strings.NewReader(`"` + strings.Repeat("x", 600<<10) + `"`) }
	if x := do(t, s, "POST", events, body()); x.status != 200 {
		t.Fatalf("got %d %s", x.status, x.body)
	}
	s.bodyBytes.Add(900 << 10)
	if x := do(t, s, "POST", events, body()); x.status != 503 || x.code(t) != "busy" {
		t.Errorf("got %d %s", x.status, x.body)
	}
	if x := do(t, s, "POST", events, strings.NewReader("1")); x.status != 200 {
		t.Errorf("a small body: %d", x.status)
	}
	if n := s.bodyBytes.Load(); n != 900<<10 {
		t.Errorf("%d bytes are taken", n)
	}
}

// TestLongNames: a name of a megabyte is some 4xx, and nothing else happens.
func TestLongNames(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFake(), Config{})
	long := strings.Repeat("a", 1<<20)
	for _, target := range []string{"GET /v1/graphs/" + long, "PUT /v1/graphs/" + long, "GET /v1/graphs/g/accumulators/" + long, "POST /v1/graphs/" + long + "/pause",
		"GET /" + long, "GET /v1/graphs?" + long + "=1", "GET /v1/graphs/g/firings/" + long, "DELETE /v1/graphs/g/dead-letters/" + long} {
		method, path, _ := strings.Cut(target, " ")
		x := exchangeOf(s, httptest.NewRequest(method, path, strings.NewReader("graph: g")))
		if x.status < 400 || x.status > 499 || len(x.body) > 1000 {
			t.Errorf("%.40s: got %d with %d bytes", target, x.status, len(x.body))
		}
	}
	ts := httptest.NewUnstartedServer(s)
	ts.Config = s.http
	ts.Start()
	defer ts.Close()
	resp, err := ts.Client().Get(ts.URL + "/v1/graphs/" + long)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != 431 {
		t.Errorf("over the network: got %d", resp.StatusCode)
	}
}
