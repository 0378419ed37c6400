package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/site"
	"github.com/graphd/graphd/web"
)

// scripted is a daemon that serves the page and says what a test has it say: what a real one says once in a thousand
// times, or says late.
type scripted struct {
	*httptest.Server
	t       *testing.T
	sockets chan *socket // one that a page has opened and subscribed on
	mu      sync.Mutex
	answers map[string]func(w http.ResponseWriter, r *http.Request) // by path
	asked   []string
	skew    time.Duration // how far its clock is ahead
	opened  int
}

// socket is a stream that a page has opened.
type socket struct {
	t     *testing.T
	ctx   context.Context
	conn  *websocket.Conn
	since string // that it has asked for
	fewer int    // sample, that it has
}

func newScripted(t *testing.T) *scripted {
	t.Helper()
	files, err := site.New(web.Files)
	if err != nil {
		t.Fatal(err)
	}
	s := &scripted{t: t, sockets: make(chan *socket, 16),
		answers: map[string]func(http.ResponseWriter, *http.Request){}}
	s.says("/v1/ws-tickets", http.StatusCreated, `{"ticket":"x"}`)
	s.says("/v1/whoami", http.StatusOK, `{"subject":"anonymous","tenant":"default","role":"platform-admin","graphs":[],
		"read_only":false,"permissions":["read","push","operate","author","administer","platform"],"session":false}`)
	s.says("/v1/graphs/g/plan", http.StatusOK, `{"inputs":[{"name":"a","type":"int","triggers":true}],
		"nodes":[{"name":"constructor","kind":"expr","type":"int","on_error":"fail_epoch"}],
		"outputs":[{"name":"o","from":"constructor"}],"edges":[{"from":"a","to":"constructor","kind":"plain"}]}`)
	s.says("/v1/graphs/g/state", http.StatusOK, `{"epoch":0,"cache":{},"nodes":{},"dirty":{}}`)
	s.says("/v1/graphs/g/firings", http.StatusOK, `{"items":[]}`)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, isFile := strings.CutPrefix(r.URL.Path, "/page/")
		s.mu.Lock()
		answer := s.answers[r.URL.Path]
		if !isFile {
			s.asked = append(s.asked, r.Method+" "+r.URL.RequestURI())
		}
		s.mu.Unlock()
		switch {
		case answer != nil:
			answer(w, r)
		case isFile && files.File(w, r, name):
		case strings.HasPrefix(r.URL.Path, "/v1/ws/"):
			s.socket(w, r)
		case isFile || strings.HasPrefix(r.URL.Path, "/v1/"):
			w.WriteHeader(http.StatusNotFound)
		default:
			files.Index(w, r, false, false)
		}
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// says has the daemon answer a path.
func (s *scripted) says(path string, status int, body string) {
	s.answer(path, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	})
}

func (s *scripted) answer(path string, how func(http.ResponseWriter, *http.Request)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[path] = how
}

// times is how often something was asked for.
func (s *scripted) times(what string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.asked {
		if strings.HasPrefix(one, what) {
			n++
		}
	}
	return n
}

func (s *scripted) socket(w http.ResponseWriter, r *http.Request) {
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{api.Subprotocol}})
	if err != nil {
		return // the page has gone
	}
	defer func() { _ = ws.CloseNow() }()
	s.mu.Lock()
	s.opened++
	at := time.Now().Add(s.skew).UTC()
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.opened--
		s.mu.Unlock()
	}()
	hello := fmt.Sprintf(`{"type":"hello","server_time":%q,"limits":{}}`, at.Format(time.RFC3339Nano))
	if ws.Write(r.Context(), websocket.MessageText, []byte(hello)) != nil {
		return
	}
	for {
		_, text, err := ws.Read(r.Context())
		if err != nil {
			return
		}
		var f struct {
			Since  string
			Sample int
		}
		if err := json.Unmarshal(text, &f); err != nil {
			s.t.Errorf("the page has sent %s: %v", text, err)
			return
		}
		s.sockets <- &socket{s.t, context.WithoutCancel(r.Context()), ws, f.Since, f.Sample}
	}
}

// next is the next stream that the page has subscribed to.
func (s *scripted) next() *socket {
	s.t.Helper()
	select {
	case one := <-s.sockets:
		return one
	case <-time.After(patience):
		s.t.Fatal("the page opens no stream")
		return nil
	}
}

// say sends frames.
func (s *socket) say(frames ...string) {
	s.t.Helper()
	for _, f := range frames {
		if err := s.conn.Write(s.ctx, websocket.MessageText, []byte(f)); err != nil {
			s.t.Fatal(err)
		}
	}
}

// stands is a frame of how the graph stands, which is changed from one of an input, a node and an output.
func stands(t *testing.T, change func(*api.GraphSummary)) string {
	t.Helper()
	now := time.Now().UTC()
	sum := &api.GraphSummary{Graph: "g", Revision: 1, Incarnation: 1, Health: "live", WaitingFor: []string{},
		Accumulators: []api.AccumulatorSummary{{Name: "a", Kind: "stateless", Source: "push", Health: "socket_only",
			Triggers: true, Capacity: 10}},
		Outputs: []api.OutputSummary{{Name: "o", Sink: "drop", From: "constructor"}}}
	if change != nil {
		change(sum)
	}
	text, err := json.Marshal(&api.Frame{Type: "summary", Graph: "g", Summary: sum, LookedAt: &now})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// fired is a frame of a firing, whose number is behind that of its output; record is what the history has of it.
func fired(epoch int) string {
	return fmt.Sprintf(`{"type":"firing","graph":"g","seq":%d,"incarnation":1,"epoch":%d,"firing":%s}`, 2*epoch, epoch,
		record(epoch))
}

// behind is that of a firing before which so many were left out.
func behind(left, epoch int) string {
	return strings.Replace(fired(epoch), `"type":"firing",`, fmt.Sprintf(`"type":"firing","left_out":%d,`, left), 1)
}

func record(epoch int) string {
	at := time.Date(2026, 11, 1, 0, 0, 0, epoch*1_000_000, time.UTC).Format(time.RFC3339Nano)
	return fmt.Sprintf(`{"epoch":%d,"incarnation":1,"at":%q,"cause":"criteria","key":null,"ok":true,"error":null,`+
		`"duration_us":10,"inputs":{"a":%d},"outputs":{"o":%d}}`, epoch, at, epoch, epoch)
}

// historyOf answers with pages of a history whose newest epoch is newest, as a real daemon does.
func historyOf(newest func() int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		from := newest()
		if before, err := strconv.Atoi(r.URL.Query().Get("before")); err == nil {
			from = before - 1
		}
		var items []string
		for ; from > 0 && len(items) < limit; from-- {
			items = append(items, record(from))
		}
		next := ""
		if len(items) == limit {
			next = fmt.Sprintf(`,"next":"%d"`, from+1)
		}
		_, _ = fmt.Fprintf(w, `{"items":[%s]%s}`, strings.Join(items, ","), next)
	}
}

// epochs are those of the list of firings, as it is shown, with "+2" where two were left out.
const epochs = `[...document.querySelectorAll(".firings tbody tr")].map(r => r.querySelector("button")?.textContent
	.replace(/\D/g, "") ?? (r.matches(".left") ? "+" + r.textContent.replace(/\D/g, "") : "gap")).join()`

// upTo are the epochs from one down to another, as they are listed.
func upTo(from, to int) string {
	var all []string
	for ; from >= to; from-- {
		all = append(all, strconv.Itoa(from))
	}
	return strings.Join(all, ",")
}
