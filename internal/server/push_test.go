package server

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
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
		{name: "object", body: ` {"x":1} `, status: 200, answer: fmt.Sprintf(result, 1, 0, ""),
			events: []string{`{"x":1}`}},
		{name: "scalar", body: "7", status: 200, events: []string{"7"}},
		{name: "null", body: "null", status: 200, events: []string{"null"}},
		{name: "filtered", body: `{"filter":true}`, status: 200, answer: fmt.Sprintf(result, 1, 1, "")},
		{name: "array", body: ` [ {"x":1} , {"filter":true},[2] ] `, status: 200, answer: fmt.Sprintf(result, 3, 1, ""),
			events: []string{`{"x":1}`, `[2]`}},
		{name: "empty array", body: "[]", status: 200, answer: fmt.Sprintf(result, 0, 0, "")},
		{name: "lines", body: "{\"x\":1}\r\n\n  \n2\n[3]", headers: []string{ndjson}, status: 200,
			answer: fmt.Sprintf(result, 3, 0, ""), events: []string{`{"x":1}`, "2", "[3]"}},
		{
			name: "lines with parameters", body: "1\n2", headers: []string{
				"Content-Type: Application/NDJSON; charset=utf-8",
			}, status: 200, events: []string{"1", "2"},
		},
		{name: "no lines", body: "", headers: []string{ndjson}, status: 200, answer: fmt.Sprintf(result, 0, 0, "")},
		{name: "form of curl", body: "1", headers: []string{"Content-Type: application/x-www-form-urlencoded"},
			status: 200, events: []string{"1"}},
		{name: "one bad line", body: "1\nnope\n3", headers: []string{ndjson}, status: 200, events: []string{"1", "3"},
			rejected: `"rejected":[{"index":1,"code":"invalid_json","detail":`},
		{name: "duplicate key in one of two", body: `[{"a":1,"a":2},{"a":1}]`, status: 200,
			events: []string{`{"a":1}`}},

		{name: "empty", body: "", status: 400, code: "invalid_json", refused: []string{"invalid_json"}},
		{name: "not JSON", body: "{x}", status: 400, code: "invalid_json", refused: []string{"invalid_json"}},
		{name: "two values", body: "1 2", status: 400, code: "invalid_json", refused: []string{"invalid_json"}},
		{name: "NaN", body: `{"x":NaN}`, status: 400, code: "invalid_json", refused: []string{"invalid_json"}},
		{name: "bad element", body: `[1,{"x":NaN}]`, status: 400, code: "invalid_json", refused: []string{
			"invalid_json",
		}},
		{name: "open array", body: `[1,2`, status: 400, code: "invalid_json", refused: []string{"invalid_json"}},
		{name: "missing element", body: `[1,,2]`, status: 400, code: "invalid_json", refused: []string{"invalid_json"}},
		{name: "last comma", body: `[1,]`, status: 400, code: "invalid_json", refused: []string{"invalid_json"}},
		{name: "UTF-8", body: "\"\xff\"", status: 400, code: "invalid_utf8", refused: []string{"invalid_utf8"}},
		{name: "too deep", body: `{"a":` + deep + `}`, status: 400, code: "too_deep", refused: []string{"too_deep"}},
		{name: "deepest", body: deep[1:len(deep)-1] + "", status: 200},
		{name: "10,000 deep", body: strings.Repeat("[", 10000), status: 400, code: "too_deep",
			refused: []string{"too_deep"}},
		{name: "10,000 objects deep", body: strings.Repeat(`{"a":`, 10000), status: 400, code: "too_deep",
			refused: []string{"too_deep"}},
		// Refused by the accumulator, which has counted it already.
		{name: "duplicate key", body: `{"a":1,"a":2}`, status: 400, code: "duplicate_key"},
		{name: "out of range", body: `{"a":1e999}`, status: 400, code: "number_out_of_range"},
		{name: "all bad", body: `[{"a":1,"a":2},1e999]`, status: 422, code: "all_rejected"},
		{name: "all lines bad", body: "{\nx", headers: []string{ndjson}, status: 422, code: "all_rejected"},

		{name: "too large", body: `"` + strings.Repeat("x", 1<<20) + `"`, status: 413, code: "too_large",
			refused: []string{"too_large"}},
		{name: "encoding", body: "1", headers: []string{"Content-Encoding: br"}, status: 415,
			code: "unsupported_encoding"},
		{name: "identity", body: "1", headers: []string{"Content-Encoding: identity"}, status: 200,
			events: []string{"1"}},
		{name: "gzip", body: zip("[1,2]"), headers: []string{"Content-Encoding: gzip"}, status: 200,
			events: []string{"1", "2"}},
		{name: "no gzip", body: "[1,2]", headers: []string{"Content-Encoding: gzip"}, status: 400,
			code: "invalid_encoding", refused: []string{"invalid_encoding"}},
		{name: "half gzip", body: zip("[1,2]")[:20], headers: []string{"Content-Encoding: gzip"}, status: 400,
			code: "invalid_encoding", refused: []string{"invalid_encoding"}},
		{name: "broken gzip", body: zip("[1,2]")[:len(zip("[1,2]"))-8] + "checksum", headers: []string{
			"Content-Encoding: gzip",
		}, status: 400, code: "invalid_encoding", refused: []string{"invalid_encoding"}},
		{name: "gzip bomb", body: zip(strings.Repeat(" ", 8<<20)), headers: []string{"Content-Encoding: gzip"},
			status: 413, code: "too_large", refused: []string{"too_large"}},
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
				if n := s.bodies.Used(); n != 0 {
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
	// an unknown place is said before a bad body
	for _, body := range []string{"1", "[]", "{", strings.Repeat("1", 200)} {
		if x := do(t, s, "POST", "/v1/graphs/none/accumulators/a/events", strings.NewReader(body)); x.code(
			t) != "graph_not_found" {
			t.Errorf("%.9s: got %d %s", body, x.status, x.body)
		}
		if x := do(t, s, "POST", "/v1/graphs/g/accumulators/b/events", strings.NewReader(body)); x.code(
			t) != "accumulator_not_found" {
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
		if err := json.Unmarshal(x.body, &r); err != nil || r.Accepted != n-2 || len(r.Rejected) != 2 ||
			r.Rejected[0].Index != 1200 || r.Rejected[1].Index != 2450 {
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
	if err := json.Unmarshal(x.body, &r); err != nil || x.status != 422 || len(r.Rejected) != 1000 ||
		r.RejectedOmitted != 4000 {
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
		if !strings.Contains(string(x.body),
			`"next_index":3,"accepted":2,"filtered":0,"durable":false,"rejected":[{"index":2,`) {
			t.Errorf("got %s", x.body)
		}
		ctl.open()
		x = do(t, s, "POST", events, strings.NewReader(body), "Idempotency-Key: k")
		if x.status != 200 ||
			!strings.Contains(string(x.body), `{"accepted":5,"filtered":0,"durable":false,"rejected":[{"index":2,`) {
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
