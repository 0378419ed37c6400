package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/api"
)

// TestPageShowsTheValue: whole numbers are shown as they are, others with a sign where they are cut, and a piece may
// have the name of what every object has.
func TestPageShowsTheValue(t *testing.T) {
	s := newScripted(t)
	p := start(t).open(s.URL + "/graphs/g")
	p.view(1440, "light")
	one := s.next()
	one.say(`{"type":"result","id":1,"topics":[],"at":"1:4"}`, stands(t, nil))
	p.until("the picture", `document.querySelector('[data-id="n:constructor"] .text')`)
	text := func(id string) string {
		return `document.querySelector('[data-id="` + id + `"] .text').textContent`
	}
	if got := p.now(text("n:constructor")); got != "–" {
		t.Errorf("a node without a value shows %s", got)
	}
	one.say(`{"type":"state","graph":"g","seq":4,"incarnation":1,"state":{"epoch":2,"dirty":{},` +
		`"cache":{"a":9007199254740993},"nodes":{"constructor":0.123456789}}}`)
	p.until("the number", text("i:a")+` === "9007199254740993"`)
	p.until("that it is cut", text("n:constructor")+` === "≈0.123457"`)
	one.say(strings.Replace(fired(3), `"o":3`, `"o":-9223372036854775808`, 1))
	p.until("the output", text("o:o")+` === "-9223372036854775808"`)
	p.quiet()
}

// TestPageOpensOneStream: however often one asks for another try, there is one connection.
func TestPageOpensOneStream(t *testing.T) {
	s := newScripted(t)
	p := start(t).open(s.URL + "/graphs/g")
	one := s.next()
	one.say(`{"type":"result","id":1,"topics":[],"at":"1:4"}`, stands(t, nil))
	p.until("the graph", `document.querySelector("#ready")`)
	release := make(chan struct{})
	s.answer("/v1/ws-tickets", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
		_, _ = w.Write([]byte(`{"ticket":"x"}`))
	})
	before := s.times("POST /v1/ws-tickets")
	_ = one.conn.CloseNow()
	const again = `[...document.querySelectorAll(".notice button")].find(b => b.textContent === "Try now")`
	p.until("that it is away", again)
	for range 3 {
		p.now(again + ".click()")
	}
	for s.times("POST /v1/ws-tickets") < before+3 {
		p.now("1")
	}
	close(release)
	s.next().say(`{"type":"result","id":2,"topics":[],"at":"1:4"}`, stands(t, nil))
	p.until("that it is live", `document.querySelector(".connection").textContent === "Live"`)
	p.try(`new Promise(done => setTimeout(() => done(""), 300))`)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened != 1 {
		t.Errorf("there are %d connections", s.opened)
	}
}

// TestPageSaysWhyItIsRefused: where a stream is refused the page says what the daemon says to an ordinary request.
func TestPageSaysWhyItIsRefused(t *testing.T) {
	b := start(t)
	for path, route := range map[string]string{"/": "/v1/ws/events", "/graphs/g": "/v1/ws/graphs/g/reactor"} {
		s := newScripted(t)
		s.says(route, http.StatusForbidden, `{"code":"forbidden","detail":"a pusher may not watch"}`)
		p := b.open(s.URL + path)
		p.until("why it is refused", `document.body.innerText.includes("a pusher may not watch")`)
	}
}

// TestPageAsksForAPlanOnce: a plan that cannot be had is not asked for with each look, and the trouble goes when it
// can.
func TestPageAsksForAPlanOnce(t *testing.T) {
	s := newScripted(t)
	plan := s.answers["/v1/graphs/g/plan"]
	s.says("/v1/graphs/g/plan", http.StatusConflict, `{"code":"x","detail":"it does not compile"}`)
	p := start(t).open(s.URL + "/graphs/g")
	one := s.next()
	one.say(`{"type":"result","id":1,"topics":[],"at":"1:4"}`, stands(t, nil))
	p.until("the trouble", `document.body.innerText.includes("it does not compile")`)
	for n := range int64(5) {
		one.say(stands(t, func(g *api.GraphSummary) { g.Epoch = n + 7 }))
	}
	p.until("all of them", `[...document.querySelectorAll(".figure small")].some(x =>
		x.textContent.trim() === "11 in all")`)
	if n := s.times("GET /v1/graphs/g/plan"); n != 1 {
		t.Errorf("the plan was asked for %d times", n)
	}
	s.answer("/v1/graphs/g/plan", plan)
	one.say(stands(t, func(g *api.GraphSummary) { g.Revision = 2 }))
	p.until("the picture", `document.querySelectorAll(".picture .box").length === 4`)
	p.until("that the trouble is over", `!document.body.innerText.includes("it does not compile")`)
}

// TestPageGoesByTheDaemonsClock: times are told by the clock that they are of.
func TestPageGoesByTheDaemonsClock(t *testing.T) {
	s := newScripted(t)
	s.skew = time.Hour
	fires := time.Now().Add(s.skew).UTC()
	p := start(t).open(s.URL + "/graphs/g")
	one := s.next()
	one.say(`{"type":"result","id":1,"topics":[],"at":"1:4"}`, stands(t, func(g *api.GraphSummary) {
		g.LastFiredAt = new(fires.Add(-10 * time.Minute))
		g.DueAt = new(fires.Add(-30 * time.Minute))
	}))
	p.until("when it has fired", `document.querySelector(".figures").innerText.includes("10 min ago") ||
		document.querySelector(".figures").innerText.includes("11 min ago")`)
	p.until("that it is due", `document.querySelector("#ready ~ .says").textContent.startsWith("Ready.")`)
}

// TestPageSaysWhatItWaitsFor: what the next epoch waits for is told as it is, also where nothing waits.
func TestPageSaysWhatItWaitsFor(t *testing.T) {
	s := newScripted(t)
	p := start(t).open(s.URL + "/graphs/g")
	one := s.next()
	one.say(`{"type":"result","id":1,"topics":[],"at":"1:4"}`)
	due := time.Date(2020, 1, 1, 0, 0, 10, 0, time.UTC)
	for _, tt := range []struct {
		says   string
		change func(*api.GraphSummary)
	}{
		{"Ready.", nil},
		{"It does not fire: standby.", func(g *api.GraphSummary) { g.Health = "standby" }},
		{"It does not fire: starting.", func(g *api.GraphSummary) { g.Health = "starting" }},
		{"It is warming up.", func(g *api.GraphSummary) { g.Health = "warming" }},
		{"Each key waits for itself.", func(g *api.GraphSummary) { g.Keys = &api.KeysSummary{Waiting: 2} }},
		{"Waiting for its time.", func(g *api.GraphSummary) {
			g.Clock, g.DueAt, g.EngineTime = "event", &due, new(due.Add(-5*time.Second))
		}},
	} {
		one.say(stands(t, tt.change))
		p.until(tt.says, fmt.Sprintf(`document.querySelector("#ready ~ .says").textContent.startsWith(%q)`, tt.says))
	}
}

// TestPageLeadsTheFocus: who goes to another view without seeing it is at its head, also once all of it has come.
func TestPageLeadsTheFocus(t *testing.T) {
	s := newScripted(t)
	p := start(t).open(s.URL + "/")
	s.next().say(`{"type":"result","id":1,"topics":[]}`,
		`{"type":"summary","graph":"g","row":{"graph":"g","health":"live","epochs_per_second":0,"dead_letters":0}}`,
		`{"type":"summary","graph":"","list":{"graphs":1}}`)
	p.until("the graph", `document.querySelector('.graphs a[href="/graphs/g"]')`)
	p.now(`document.querySelector('.graphs a[href="/graphs/g"]').click()`)
	const there = `document.activeElement.tagName === "H1" && document.activeElement.textContent === "g"`
	p.until("that the head has the focus", there)
	one := s.next()
	one.say(`{"type":"result","id":1,"topics":[],"at":"1:4"}`, stands(t, nil))
	p.until("all of the graph", `document.querySelector("#ready")`)
	p.until("that the head has it still", there)
	p.now(`document.querySelector(".top a.brand").click()`)
	p.until("the overview's head", `document.activeElement.tagName === "H1" &&
		document.activeElement.textContent === "Graphs"`)
}
