package webcall

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/outbound/outboundtest"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/testbed/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// compile makes the node of a declaration whose expressions read v.
func compile(t *testing.T, c Declared, retry spec.Retry) *call {
	t.Helper()
	if c.Timeout == 0 {
		c.Timeout = 5 * time.Second
	}
	c.MaxAnswer, c.Concurrency = max(c.MaxAnswer, 1000), max(c.Concurrency, 1)
	if c.Answer == "" {
		c.Answer = "body"
	}
	parts := kind.Parts{Retry: retry}
	for _, term := range c.Reads().Terms() {
		p, err := expression.Compile(term.Expr.Text, expression.Scope{Names: []expression.Name{
			{Name: "v", Type: expression.Any()}}})
		if err != nil {
			t.Fatal(err)
		}
		parts.Programs = append(parts.Programs, p)
	}
	return newCall(c, parts, outboundtest.Guard(t))
}

func expr(text string) spec.Expr { return spec.Expr{Text: text} }

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}

func open(t *testing.T, e *call) kind.Client {
	t.Helper()
	c := e.Open(nil)
	t.Cleanup(c.Close)
	return c
}

// ask evaluates a node on v, with its call.
func ask(t *testing.T, e *call, c kind.Client, v any) (string, error) {
	t.Helper()
	value, err := boundary.FromAny(v)
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Request(&expression.Env{Values: []boundary.Value{value}, Now: time.Unix(1000, 0)})
	if err != nil {
		return "", err
	}
	a, err := c.Call(t.Context(), &r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := e.Answered(&a)
	return got.String(), err
}

// A server may be asked in vain with GET, and as its node says.
func TestSafe(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for _, tt := range []struct {
		declared Declared
		want     bool
	}{
		{Declared{}, true},
		{Declared{Method: "POST"}, false},
		{Declared{Method: "GET", Safe: &no}, false},
		{Declared{Method: "PUT", Safe: &yes}, true},
	} {
		tt.declared.URL = "http://localhost"
		if got := newCall(tt.declared, kind.Parts{}, nil).Safe(); got != tt.want {
			t.Errorf("%s %v: safe is %v", tt.declared.Method, tt.declared.Safe, got)
		}
	}
}

// What a request asks for, by its expressions; the host is the declared one whatever they come to.
func TestRequests(t *testing.T) {
	for _, c := range []struct {
		declared Declared
		v        any
		want     string // method, URL and body, or the code of the error
	}{
		{Declared{}, 1, "GET /base?k=s "},
		{Declared{Body: expr("v")}, map[string]any{"a": 1}, `POST /base?k=s {"a":1}`},
		{Declared{Body: expr("v"), Method: "PUT"}, nil, "PUT /base?k=s null"},
		{Declared{Path: expr("v")}, "x/../y z", "GET /base/x%2F..%2Fy%20z?k=s "},
		{Declared{Path: expr("v")}, []any{"a", 7}, "GET /base/a/7?k=s "},
		{Declared{Path: expr("v")}, "..", CodeBadTarget},
		{Declared{Path: expr("v")}, nil, CodeBadTarget},
		{Declared{Path: expr("v")}, "@other.example", "GET /base/@other.example?k=s "},
		{Declared{Query: []spec.Field{{Name: "q", Expr: expr("v.q")}, {Name: "n&m", Expr: expr("v.n")},
			{Name: "none", Expr: expr("v.none")}}}, map[string]any{"q": "a&b=c", "n": 2.5, "none": nil},
			"GET /base?k=s&q=a%26b%3Dc&n%26m=2.5 "},
	} {
		var got string
		url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			got = fmt.Sprintf("%s %s %s", r.Method, r.RequestURI, body)
			if r.Header.Get("Authorization") != "Bearer hunter2" {
				t.Errorf("header %q", r.Header.Get("Authorization"))
			}
		})
		c.declared.URL = url + "/base?k=s"
		c.declared.Headers = []decode.Header{{Name: "Authorization", Value: "Bearer hunter2"}}
		e := compile(t, c.declared, spec.Retry{})
		if _, err := ask(t, e, open(t, e), c.v); err != nil {
			got = codeOf(err)
		}
		if got != c.want {
			t.Errorf("%v: %s, want %s", c.v, got, c.want)
		}
	}
}

func codeOf(err error) string {
	if e := new(expression.EvalError); errors.As(err, &e) {
		return e.Code
	}
	return err.Error()
}

// What an answer comes to.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		declared Declared
		status   int
		body     string
		want     string
	}{
		{Declared{}, 200, `{"risk": 5}`, `{"risk":5}`},
		{Declared{}, 200, "", "null"}, {Declared{}, 204, "", "null"},
		{Declared{}, 200, "plain text", `"plain text"`},
		{Declared{}, 200, "\xff\xfe", CodeNotText},
		{Declared{}, 404, `{"why":"hunter2"}`, "http_404"},
		{Declared{}, 503, "", "http_503"},
		{Declared{Accept: []int{404}}, 404, `{"why":"gone"}`, `{"why":"gone"}`},
		{Declared{Answer: "full", Accept: []int{404}}, 404, "x", `{"body":"x","status":404}`},
		{Declared{Schema: risk}, 200, `{"risk": 5}`, `{"risk":5}`},
		{Declared{Schema: risk, Answer: "full"}, 200, `{"risk": 5}`, `{"body":{"risk":5},"status":200}`},
		{Declared{Schema: risk}, 200, `{"risk": "high"}`, CodeInvalid},
		{Declared{Schema: risk}, 204, "", CodeInvalid},
		{Declared{Schema: risk}, 404, `{"why":"hunter2"}`, "http_404"},
		{Declared{}, 200, `"` + strings.Repeat("x", 2000) + `"`, CodeTooLarge},
	} {
		c.declared.URL = serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.body)
		}) + "/hunter2"
		e := compile(t, c.declared, spec.Retry{})
		got, err := ask(t, e, open(t, e), 1)
		if err != nil {
			got = codeOf(err)
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%d: a secret is told: %v", c.status, err)
			}
		}
		if got != c.want {
			t.Errorf("%d %.20s: %s, want %s", c.status, c.body, got, c.want)
		}
	}
}

// What is tried again, and how often.
func TestRetries(t *testing.T) {
	quick := spec.Retry{Attempts: 3, Base: time.Millisecond, Max: 2 * time.Millisecond}
	for _, c := range []struct {
		retry  spec.Retry
		status []int // one after the other, the last for good; 0 breaks off
		asked  int64
		want   string
	}{
		{spec.Retry{}, []int{503, 200}, 1, "http_503"},
		{quick, []int{503, 0, 429, 200}, 4, "null"},
		{quick, []int{500}, 4, "http_500"},
		{quick, []int{400}, 1, "http_400"},
		{quick, []int{0}, 4, CodeFailed},
		{spec.Retry{Base: time.Millisecond, Max: time.Millisecond}, []int{500, 500, 500, 500, 500, 500, 200}, 7,
			"null"},
	} {
		var asked atomic.Int64
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			n := asked.Add(1)
			status := c.status[min(int(n), len(c.status))-1]
			if status == 0 {
				panic(http.ErrAbortHandler)
			}
			w.WriteHeader(status)
		})
		e := compile(t, Declared{URL: url, Method: "POST", Body: expr("v")}, c.retry)
		client := open(t, e)
		got, err := ask(t, e, client, 1)
		if err != nil {
			got = codeOf(err)
		}
		told := client.Told()
		row := int64(0)
		if err != nil && c.want != "http_400" { // which is an answer
			row = c.asked
		}
		if got != c.want || asked.Load() != c.asked || told.Calls != 1 || told.Retries != c.asked-1 ||
			told.Failed == 0 != (err == nil) || told.Row != int(row) || told.Retrying != 0 {
			t.Errorf("%v: %s after %d requests, want %s after %d; told %+v", c.status, got, asked.Load(), c.want,
				c.asked, told)
		}
	}
}

// A server that does not answer costs the time of a try, and a call that nobody wants any more ends at once.
func TestNoAnswer(t *testing.T) {
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	e := compile(t, Declared{URL: url, Timeout: 20 * time.Millisecond}, spec.Retry{})
	if _, err := ask(t, e, open(t, e), 1); codeOf(err) != CodeTimeout {
		t.Errorf("got %v", err)
	}
	e = compile(t, Declared{URL: url, Timeout: time.Minute}, spec.Retry{Base: time.Minute, Max: time.Minute})
	client := open(t, e)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := client.Call(ctx, &kind.Request{URL: url})
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// What the guard does not allow is called by no request.
func TestDenied(t *testing.T) {
	e := compile(t, Declared{URL: "http://169.254.169.254/latest", Timeout: time.Second},
		spec.Retry{Base: time.Millisecond, Max: time.Millisecond})
	if _, err := ask(t, e, open(t, e), 1); codeOf(err) != CodeDenied {
		t.Errorf("got %v", err)
	}
}

// How many tries have failed in a row: those that are worth another one, and not what was answered otherwise or was not
// tried, as a breaker counts them; and those that were denied, for nobody has answered.
func TestFailedInARow(t *testing.T) {
	status := http.StatusInternalServerError
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	e := compile(t, Declared{URL: url, Breaker: Breaker{Failures: 3, Open: time.Hour}}, spec.Retry{})
	client := open(t, e)
	var rows []int
	for _, status = range []int{500, 503, 404, 500, 204, 429, 500, 500, 500, 500} {
		_, _ = ask(t, e, client, 1)
		rows = append(rows, client.Told().Row)
	}
	if told := client.Told(); fmt.Sprint(rows) != "[1 2 0 1 0 1 2 3 3 3]" || !told.Open || told.Failed != 9 {
		t.Errorf("in a row have failed %v: %+v", rows, told)
	}
	e = compile(t, Declared{URL: "http://169.254.169.254/latest"}, spec.Retry{})
	client = open(t, e)
	for range 3 {
		_, _ = ask(t, e, client, 1)
	}
	if told := client.Told(); told.Row != 3 {
		t.Errorf("of what was denied %+v", told)
	}
}
