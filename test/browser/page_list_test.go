package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/graphd/graphd/internal/api"
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

// TestPageListsOnce: a firing that comes over the stream and from the history is listed once, and in its place. A key
// is looked at again when something was not told, also where the history has it.
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
	one.say(`{"type":"result","id":1,"topics":[],"at":"1:4"}`, stands(t, nil), behind(2, 3))
	p.until("what has come", epochs+` === "3,+2"`)
	p.now(`document.querySelector("#firings").scrollIntoView()`) // out of sight it is drawn every three seconds
	close(release)
	p.until("the history", epochs+` === "5,4,3,2,1"`)
	one.say(behind(1, 5), behind(4, 8))
	p.until("what comes then, and nothing that the history has", epochs+` === "8,+2,5,4,3,2,1"`)
	s.says("/v1/graphs/g/keys", http.StatusOK, `{"items":[],"keys":1}`)
	p = p.b.open(s.URL + "/graphs/g?keys=1&of=%22K%22")
	one = s.next()
	one.say(`{"type":"result","id":1,"topics":[],"at":"1:4"}`, stands(t, func(sum *api.GraphSummary) {
		sum.Keys = &api.KeysSummary{Count: 1}
	}))
	p.until("the history, and the key", `document.querySelector(".bars") && document.querySelector(".one .value")`)
	s.says("/v1/graphs/g/state", http.StatusOK, `{"epoch":5,"cache":{},"nodes":{"constructor":7},"dirty":{}}`)
	one.say(behind(2, 5))
	p.until("what the key has come to", `document.querySelector(".one .value").textContent.includes("7")`)
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
	one.say(behind(7, 208))
	p.says("p.left", "7 others came in between")
	const time = `section[aria-labelledby=time]`
	p.says(time, "Of 201 epochs that the page was told of, the rare ones among them more often, half took at most")
	p.says(time, "How long each epoch took that the page was told of, the rare ones among them more often: ok")
	for epoch := 209; epoch <= 1400; epoch++ {
		one.say(fired(epoch))
	}
	s.answer("/v1/graphs/g/firings", historyOf(func() int { return 1400 }))
	p.until("what has come, and no hole that has left the list", epochs+` === "`+upTo(1400, 1351)+`" &&
		!document.querySelector("p.left") && !document.querySelector("`+time+`").innerText.includes("told of")`)
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
	one.say(behind(2, 6), `{"type":"gap","graph":"g","seq":20,"incarnation":1,"from":13,"to":20,"left_out":3}`)
	p.says("p.left", "5 others came in between")
	p.until("where", epochs+` === "gap,+3,6,+2,3"`)
	p.keep("left-out", true)
	s.answer("/v1/graphs/g/firings", historyOf(func() int { return 6 }))
	p.click("section[aria-labelledby=firings]", "List the newest without a hole")
	p.until("all of them", epochs+` === "6,5,4,3,2,1"`)
	one.say(fired(9))
	p.click("section[aria-labelledby=firings]", "Go on")
	p.until("what comes", epochs+`.startsWith("9,gap,+3,6,+2,3")`)
	p.quiet()
}

// TestPageDrawsWhatOneReadsLessOften: the picture moves with what comes, a few times a second; the list is drawn with a
// summary, or a second and a half after it was drawn last.
func TestPageDrawsWhatOneReadsLessOften(t *testing.T) {
	s := newScripted(t)
	p := start(t).open(s.URL + "/graphs/g")
	p.view(1440, "light")
	one := s.next()
	one.say(`{"type":"result","id":1,"topics":[],"at":"1:4"}`, stands(t, nil), fired(1))
	p.until("one", epochs+` === "1"`)
	p.now(`(document.querySelector("#firings").scrollIntoView(), window.draws = 0, window.from = performance.now(),
		new MutationObserver(() => draws++).observe(document.querySelector("table.firings tbody"),
			{childList: true}), 1)`)
	const last = 10
	for epoch := 2; epoch <= last; epoch++ {
		one.say(fired(epoch), fmt.Sprintf(`{"type":"state","graph":"g","state":{"epoch":%d,"cache":{"a":%d},
			"nodes":{"constructor":%d},"dirty":{"a":false}}}`, epoch, epoch, 1000+epoch))
		p.until("the picture", fmt.Sprintf(`[...document.querySelectorAll(".picture .box.node .text")].some(v =>
			v.textContent.replace(/\D/g, "") === "%d")`, 1000+epoch))
	}
	p.until("the list", epochs+fmt.Sprintf(`.startsWith("%d,%d,")`, last, last-1))
	if p.now(`draws <= (performance.now() - from) / 1500 + 2`) != "true" {
		t.Errorf("the list was drawn %s times in %s ms", p.now(`draws`), p.now(`performance.now() - from`))
	}
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
	var newest atomic.Int64
	newest.Store(1300)
	history := historyOf(func() int { return int(newest.Load()) })
	s.answer("/v1/graphs/g/firings", func(w http.ResponseWriter, r *http.Request) {
		found := httptest.NewRecorder()
		history(found, r)
		text := found.Body.String()
		for _, epoch := range []int{2, 7, 450, 1302} {
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
	// What was not told is among what is searched.
	p.choose("section[aria-labelledby=firings] select", "")
	p.click("section[aria-labelledby=firings]", "Go on")
	one.say(behind(2, 1303))
	newest.Store(1303)
	p.choose("section[aria-labelledby=firings] select", "force")
	p.click("section[aria-labelledby=firings]", "Search the history")
	p.until("one that was left out", epochs+` === "1302,450,7,2"`)
	p.choose("section[aria-labelledby=firings] select", "with")
	p.until("that there is none", `document.querySelector("#firings").closest("section").innerText.includes(
		"No firing that is kept fits.")`)
}
