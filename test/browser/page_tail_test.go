package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/client"
)

const tailed = `document.querySelectorAll(".tail li")`

// saved has the page tell what it saves, in place of keeping it.
func (p *page) saved() {
	p.b.t.Helper()
	p.now(`(make => {
		URL.createObjectURL = blob => { blob.text().then(text => { window.saved = text }); return make(blob) }
		HTMLAnchorElement.prototype.click = () => {} })(URL.createObjectURL.bind(URL))`)
}

// TestPageTails: what a graph puts out and its firings are listed as they come, those for which an expression is true,
// are held while somebody reads, and saved as lines of JSON.
func TestPageTails(t *testing.T) {
	port, _ := run(t, graphd.Config{Declarations: map[string][]byte{"limited": []byte(limited)}})
	at, text := "http://localhost:"+port, axe(t)
	c, err := client.New(client.Config{BaseURL: at})
	if err != nil {
		t.Fatal(err)
	}
	order := func(ids ...int) {
		t.Helper()
		for _, id := range ids {
			pushed(t, c, "limited", "orders", fmt.Sprintf(`{"id":%d,"amount":%d}`, 9007199254740993+id, 50+id))
		}
	}
	const section = "section[aria-labelledby=tail]"
	p := start(t).open(at + "/graphs/limited")
	p.view(1440, "light")
	p.saved()
	p.click(section, "Follow")
	p.says(section, "Nothing has come yet")
	p.accessible("an empty tail", text)
	order(1, 2, 3)
	p.until("three outputs", tailed+`.length === 3 && `+tailed+`[0].textContent.includes("excess 3")`)
	p.click(section, "Pause")
	order(4)
	p.until("that there is another", `document.querySelector("`+section+`").innerText.includes("Go on, 1 new") &&
		`+tailed+`.length === 3`)
	p.keep("tail-light-1440", true)
	p.click(section, "Go on")
	p.until("four outputs", tailed+`.length === 4 && location.search.includes("tail=outputs")`)
	p.click(section, "Save 4 lines")
	p.until("the lines", `window.saved.split("\n").length === 5`)
	for i, line := range strings.Split(strings.TrimSpace(p.now("window.saved")), "\n") {
		if want := fmt.Sprintf(`"value":%d}`, i+1); !strings.HasSuffix(line, want) ||
			!strings.HasPrefix(line, `{"type":"output","graph":"limited"`) {
			t.Errorf("line %d is %s, want %s", i, line, want)
		}
	}

	p.choose(section+" select", "firings")
	p.choose(section+" input", `inputs.orders.id >= 9007199254740999 && ok`)
	p.until("that it is followed", `location.search.includes("tail-where=inputs.orders.id") &&
		document.querySelector("`+section+`").innerText.includes("Nothing has come for which this is true")`)
	order(5, 6, 7)
	p.until("a firing", tailed+`[0].textContent.includes("criteria")`)
	p.until("two of three", tailed+`.length === 2`)
	p.click(section, "Save")
	p.until("the firings", `window.saved.split("\n").length === 3`)
	if lines := p.now("window.saved"); !strings.Contains(lines, `"id":9007199254740999`) {
		t.Errorf("the identifiers are not as they were: %s", lines)
	}
	p.view(390, "dark")
	p.accessible("tail", text)
	p.keep("tail-dark-390", true)
	p.now(tailed + `[0].querySelector("a").dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }))`)
	p.until("the epoch in full", `document.querySelector(".panel h2") && location.search.includes("tail-where=")`)
	p.choose(section+" input", `value >`)
	p.says(section+" [role=alert]", "where: ")
	p.quiet()
}

// TestPageTailsMany: of very many frames the newest ten thousand are there, and few of them drawn.
func TestPageTailsMany(t *testing.T) {
	s := newScripted(t)
	p := start(t).open(s.URL + "/graphs/g?tail=outputs")
	p.view(1024, "light")
	one := s.next()
	one.say(`{"type":"result","id":1,"topics":[],"at":"1:4"}`, stands(t, nil))
	two := s.next()
	two.say(`{"type":"result","id":1,"topics":[],"at":"1:4"}`)
	const sent = 11000
	for i := 1; i <= sent; i++ {
		two.say(fmt.Sprintf(`{"type":"output","graph":"g","seq":%d,"incarnation":1,"output":"o","epoch":%d,"value":%d}`,
			4+i, i, i))
	}
	p.until("the newest", fmt.Sprintf(`%s[0].textContent.includes("o %d")`, tailed, sent))
	p.says("section[aria-labelledby=tail]", "Save 10,000 lines")
	if n := p.now(tailed + ".length"); len(n) > 2 {
		t.Errorf("%s rows are drawn", n)
	}
	p.now(`document.querySelector(".tail").scrollTop = 1e9`)
	p.until("the oldest", fmt.Sprintf(`%[1]s[%[1]s.length - 1].textContent.includes("o %d")`, tailed, sent-9999))
	two.say(`{"type":"output","graph":"g","seq":20000,"incarnation":1,"output":"o","epoch":20000,"value":1}`)
	p.says("section[aria-labelledby=tail]", "Go on, 1 new")
	p.quiet()
}
