package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// TestPageGoesOnBeforeTheFirst: what fires while a page is not connected is listed, also where nothing had come before
// the connection was lost: where the daemon has said where the stream begins, and where it has not.
func TestPageGoesOnBeforeTheFirst(t *testing.T) {
	s := newScripted(t)
	p := start(t).open(s.URL + "/graphs/g")
	one := s.next()
	one.say(`{"type":"result","id":1,"topics":[],"at":"1:4"}`, stands(t, nil))
	p.until("the graph", `document.querySelector("#ready")`)
	_ = one.conn.CloseNow()
	two := s.next()
	if two.since != "1:4" {
		t.Errorf("the page goes on behind %q", two.since)
	}
	two.say(`{"type":"result","id":2,"topics":[],"at":"1:6"}`, fired(3), stands(t, nil))
	p.until("what has fired", epochs+` === "3"`)

	s = newScripted(t)
	p = p.b.open(s.URL + "/graphs/g")
	one = s.next()
	one.say(`{"type":"result","id":1,"topics":[]}`, stands(t, nil))
	p.until("the graph", `document.querySelector("#ready")`)
	s.answer("/v1/graphs/g/firings", historyOf(func() int { return 3 }))
	_ = one.conn.CloseNow()
	two = s.next()
	two.say(`{"type":"result","id":1,"topics":[]}`, fired(4), stands(t, nil))
	p.until("what the history has", epochs+` === "4,3,2,1"`)
}

// TestPageListsOnce: a firing that comes over the stream and from the history is listed once, and in its place.
func TestPageListsOnce(t *testing.T) {
	s := newScripted(t)
	release := make(chan struct{})
	history := historyOf(func() int { return 5 })
	s.answer("/v1/graphs/g/firings", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
		history(w, r)
	})
	p := start(t).open(s.URL + "/graphs/g")
	one := s.next()
	one.say(`{"type":"result","id":1,"topics":[],"at":"1:4"}`, stands(t, nil), fired(3))
	p.until("what has come", epochs+` === "3"`)
	close(release)
	p.until("the history", epochs+` === "5,4,3,2,1"`)
	one.say(fired(4), fired(5), fired(6))
	p.until("what comes then", epochs+` === "6,5,4,3,2,1"`)
}

// TestPageListsAllEarlierOnes: behind firings that have left the list those before them come without a hole, while
// others come on top, and the list holds a bounded number by itself.
func TestPageListsAllEarlierOnes(t *testing.T) {
	s := newScripted(t)
	s.answer("/v1/graphs/g/firings", historyOf(func() int { return 200 }))
	p := start(t).open(s.URL + "/graphs/g")
	one := s.next()
	one.say(`{"type":"result","id":1,"topics":[],"at":"1:400"}`, stands(t, nil))
	p.until("the history", epochs+` === "`+upTo(200, 151)+`"`)
	for epoch := 201; epoch <= 1400; epoch++ {
		one.say(fired(epoch))
	}
	s.answer("/v1/graphs/g/firings", historyOf(func() int { return 1400 }))
	p.until("what has come", epochs+` === "`+upTo(1400, 1351)+`"`)
	for n := 100; n <= 1050; n += 50 {
		p.until("the button", `!document.querySelector("button.more").disabled`)
		p.now(`document.querySelector("button.more").click()`)
		if n == 300 {
			one.say(fired(1401))
		}
		if n < 300 || n > 1000 {
			p.until("earlier ones", fmt.Sprintf(`%s.split(",").length === %d`, epochs, n))
		}
	}
	if got := p.now(epochs); !strings.HasSuffix(","+got, ","+upTo(1400, 352)) {
		t.Errorf("the list has a hole, or ends too soon: %s", got)
	}
	p.now(`[...document.querySelectorAll("button")].find(b => b.textContent.startsWith("Go on")).click()`)
	p.until("what is new", epochs+`.startsWith("1401,1400,")`)
}

// TestPageSaysWhatWasLeftOut: a page asks for as many epochs as it draws. How many were left out in between is said,
// and the newest are listed without a hole on request, of the history.
func TestPageSaysWhatWasLeftOut(t *testing.T) {
	s := newScripted(t)
	p := start(t).open(s.URL + "/graphs/g")
	one := s.next()
	if one.fewer != 4 {
		t.Errorf("the page asks for %d epochs a second", one.fewer)
	}
	one.say(`{"type":"result","id":1,"topics":[],"at":"1:4"}`, stands(t, nil), fired(3))
	p.until("one", epochs+` === "3"`)
	if p.now(`document.querySelector("p.left")`) != "null" {
		t.Error("something is said to be left out while nothing is")
	}
	less := strings.Replace(fired(6), `"type":"firing",`, `"type":"firing","left_out":2,`, 1)
	one.say(less, `{"type":"gap","graph":"g","seq":20,"incarnation":1,"from":13,"to":20,"left_out":3}`)
	p.says("p.left", "5 others came in between")
	s.answer("/v1/graphs/g/firings", historyOf(func() int { return 6 }))
	p.click("section[aria-labelledby=firings]", "List the newest without a hole")
	p.until("all of them", epochs+` === "6,5,4,3,2,1"`)
	one.say(fired(9))
	p.click("section[aria-labelledby=firings]", "Go on")
	p.until("what comes", epochs+`.startsWith("9,gap,6,3")`)
	p.quiet()
}

// TestPageHoldsSoMuch: of firings with much in them a page holds few.
func TestPageHoldsSoMuch(t *testing.T) {
	s := newScripted(t)
	p := start(t).open(s.URL + "/graphs/g")
	p.view(1024, "light")
	one := s.next()
	one.say(`{"type":"result","id":1,"topics":[],"at":"1:4"}`, stands(t, nil))
	p.until("the graph", `document.querySelector("#ready")`)
	much := strings.Repeat("x", 256<<10)
	for epoch := 1; epoch <= 400; epoch++ {
		one.say(strings.Replace(fired(epoch), fmt.Sprintf(`"a":%d`, epoch), fmt.Sprintf(`"a":"%d%s"`, epoch, much), 1))
	}
	p.until("the last", epochs+`.startsWith("400,399,398,")`)
	if list := strings.Split(p.now(epochs), ","); len(list) > 20 || slices.Contains(list, "300") {
		t.Errorf("%d firings of a quarter of a MiB are listed", len(list))
	}
	if why := p.b.call(p.session, "HeapProfiler.collectGarbage", map[string]any{}, &struct{}{}); why != "" {
		t.Fatal(why) // what nobody holds any more is not asked for
	}
	if _, heap, _ := p.costs(); heap > 40<<20 {
		t.Errorf("the page holds %.1f MiB", heap/(1<<20))
	}
}

// TestPageSearchesTheHistory: firings that fit are found however far back they are, at one go, and where there is none
// the page says that it has looked at all.
func TestPageSearchesTheHistory(t *testing.T) {
	s := newScripted(t)
	history := historyOf(func() int { return 1300 })
	s.answer("/v1/graphs/g/firings", func(w http.ResponseWriter, r *http.Request) {
		found := httptest.NewRecorder()
		history(found, r)
		text := found.Body.String()
		for _, epoch := range []int{2, 7, 450} {
			was := record(epoch)
			text = strings.Replace(text, was, strings.Replace(was, "criteria", "force", 1), 1)
		}
		_, _ = w.Write([]byte(text))
	})
	p := start(t).open(s.URL + "/graphs/g?cause=force")
	one := s.next()
	one.say(`{"type":"result","id":1,"topics":[],"at":"1:2600"}`, stands(t, nil))
	p.until("that none of those here fits", `document.querySelector("#firings").closest("section").innerText.includes(
		"None of the 200 firings that are here fits.")`)
	p.click("section[aria-labelledby=firings]", "Search the history")
	p.until("those that fit", epochs+` === "450,7,2" && !document.querySelector("button.more")`)
	p.choose("section[aria-labelledby=firings] select", "with")
	p.until("that there is none", `document.querySelector("#firings").closest("section").innerText.includes(
		"No firing that is kept fits.")`)
}
