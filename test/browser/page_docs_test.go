package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/client"
)

// TestDocumentationIsSearched: the documentation that the daemon serves is searched as one types, what is found leads
// there, and its pages keep nobody out.
func TestDocumentationIsSearched(t *testing.T) {
	port, _ := run(t, graphd.Config{})
	at, text := "http://localhost:"+port, axe(t)
	p := start(t).open(at + "/docs")
	p.view(1440, "light")
	p.until("the contents", `document.querySelectorAll("#_contents a").length > 30`)
	p.now(`document.dispatchEvent(new KeyboardEvent("keydown", { key: "/", bubbles: true, cancelable: true }))`)
	p.until("that the search has the focus", `document.activeElement.id === "_find"`)
	p.choose("#_find", "replay dead letters")
	p.until("what was found", `document.querySelectorAll("#_found li a").length > 2 &&
		/section/.test(document.querySelector("#_count").textContent)`)
	p.accessible("found", text)
	p.keep("docs-found-light-1440", false)
	p.choose("#_find", "nosuchword")
	p.says("body", "Nothing has all of these words")
	p.choose("#_find", "retries_exhausted")
	p.now(`document.querySelector("#_found li a").click()`)
	p.until("the page that has it", `location.pathname.startsWith("/docs/") && document.querySelector("h1") &&
		document.querySelector("main").innerText.includes("retries_exhausted")`)
	p = p.b.open(at + "/docs/codes#not_finite")
	p.until("where another page has the code",
		`location.pathname === "/docs/diagnostics" && location.hash === "#not_finite"`)
	for i, name := range []string{"", "/codes", "/declaration", "/getting-started"} {
		width, theme := []int{390, 1440}[i%2], []string{"dark", "light"}[i/2]
		p = p.b.open(at + "/docs" + name)
		p.view(width, theme)
		p.until("the page", `document.querySelector("h1")`)
		p.until("that nothing is wider than the page", `document.documentElement.scrollWidth <= innerWidth`)
		p.accessible("docs "+name, text)
		p.keep(fmt.Sprintf("docs-%s-%s-%d", strings.Trim(name, "/"), theme, width), false)
	}
	p.quiet()
}

// TestPageLeadsToDocumentation: where the page names what is wrong, and where nothing is, a link leads to what the
// documentation says of it, and is not a dead one.
func TestPageLeadsToDocumentation(t *testing.T) {
	port, _ := run(t, graphd.Config{Declarations: map[string][]byte{"inverses": []byte(inverses)}})
	at := "http://localhost:" + port
	c, err := client.New(client.Config{BaseURL: at})
	if err != nil {
		t.Fatal(err)
	}
	pushed(t, c, "inverses", "ticks", "0", "0", "0", "0")
	p := start(t).open(at + "/graphs/inverses?silent=1&letters=1&tail=outputs&happened=1")
	p.until("the health's reason", `document.querySelector('.notice a[href="/docs/runbook#epochs_failing"]')`)
	p.until("the codes", `document.querySelectorAll(".reasons a.badge").length > 0 &&
		document.querySelectorAll(".letters li").length === 4`)
	p.until("empty views", `document.querySelectorAll(".empty a[href^='/docs/']").length === 2`)
	missing := p.try(`(async () => {
		const bad = [], pages = new Map(), read = page => fetch("/docs/" + page).then(r => r.text())
		const codes = await read("diagnostics") + await read("runbook")
		for (const a of document.querySelectorAll("main a[href^='/docs/']")) {
			const [page, id] = a.getAttribute("href").split("#")
			if (!pages.has(page)) pages.set(page, await fetch(page).then(r => r.ok ? r.text() : ""))
			const is = new DOMParser().parseFromString(pages.get(page), "text/html")
			if (!pages.get(page) || id && !is.getElementById(id) &&
				!(page === "/docs/codes" && codes.includes('id="' + id + '"'))) bad.push(a.getAttribute("href"))
		}
		return bad.join() || pages.size + " pages"
	})()`)
	if missing != "5 pages" {
		t.Errorf("links lead nowhere: %s", missing)
	}
}
