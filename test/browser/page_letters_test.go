package browser

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/internal/api"
)

const inverses = `graph: inverses
accumulators:
  ticks: { strategy: sequential }
  offset: { passive: true, default: 0 }
nodes: { inverse: { expr: 10 / (ticks - offset) } }
outputs: { o: { from: inverse, sink: { drop: {} } } }
`

// pushed are events that a client pushes one after the other.
func pushed(t *testing.T, c *client.Client, graph, accumulator string, events ...string) {
	t.Helper()
	for _, event := range events {
		if _, err := c.Push(t.Context(), graph, accumulator, json.RawMessage(event)); err != nil {
			t.Fatal(err)
		}
	}
}

// click clicks on the button of this text within a part of the page, once it is there.
func (p *page) click(within, text string) {
	p.b.t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll(%q)].find(b => b.textContent.trim().startsWith(%q) &&
		!b.disabled)`,
		within+" button", text)
	p.until("the button "+text, find)
	p.now(find + ".click()")
}

// choose has a field of the page come to a value, as typing and choosing do.
func (p *page) choose(field, value string) {
	p.b.t.Helper()
	p.until("the field "+field, fmt.Sprintf(`document.querySelector(%q)`, field))
	p.now(fmt.Sprintf(`(field => { field.value = %q
		for (const what of ["input", "change"]) field.dispatchEvent(new Event(what, { bubbles: true })) })(
		document.querySelector(%q))`, value, field))
}

// TestPageOfDeadLetters: dead letters are listed and chosen by what an address says, a replay says what it comes to
// before it is done and what it came to behind it, and one is discarded when that was confirmed.
func TestPageOfDeadLetters(t *testing.T) {
	port, _ := run(t, graphd.Config{Declarations: map[string][]byte{"inverses": []byte(inverses)}})
	at, text := "http://localhost:"+port, axe(t)
	c, err := client.New(client.Config{BaseURL: at})
	if err != nil {
		t.Fatal(err)
	}
	pushed(t, c, "inverses", "ticks", "0", `"no"`, "0")
	p := start(t).open(at + "/graphs/inverses")
	p.view(1440, "light")
	const section, listed = `section[aria-labelledby=letters]`, `document.querySelectorAll(".letters > li").length`
	p.click(section, "Show dead letters")
	p.until("three letters", listed+` === 3 && location.search.includes("letters=1")`)
	p.now(`document.querySelector(".letters summary").click()`)
	p.until("one in full", `document.querySelector(".letters details[open] .value").textContent === "0"`)
	p.accessible("letters", text)
	p.keep("letters", true)
	p.choose(section+" input[placeholder^=event]", "event == 0")
	p.until("those that fit", listed+` === 2 && location.search.includes("letter-where=")`)
	if _, err := c.PushAll(t.Context(), "inverses", "ticks", []byte(strings.Repeat("0\n", 298))); err != nil {
		t.Fatal(err)
	}
	p.until("that there are others", `document.querySelector("`+section+`").innerText.includes("Look again, 298 new")`)
	pushed(t, c, "inverses", "offset", "1")
	p.click(section, "Look again")
	p.until("the newest that fit", listed+` === 50`)
	p.click(section, "Replay all that fit")
	p.until("what would become of them", `document.querySelector(".act").innerText.includes("300 letters would pass")`)
	p.view(390, "dark")
	p.accessible("replay", text)
	p.keep("letters-replay", true)
	p.until("that nothing has been replayed", listed+` === 50`)
	p.click(".act", "Replay")
	p.until("what has become of them", `document.querySelector(".act").innerText.includes("300 letters have passed.")`)
	p.until("that none is left", `document.querySelector("`+section+` .empty")`)
	p.until("their epochs", `document.querySelector(".figures").textContent.includes(" 601 in all") &&
		!document.querySelector(".firings tbody tr").classList.contains("failed")`)
	p.choose(section+" input[placeholder^=event]", "")
	p.until("the one that is left", listed+` === 1`)
	p.click(section, "Replay all that fit")
	p.until("what would become of it",
		`document.querySelector(".act").innerText.includes("Of 1 letter none would pass.")`)
	p.click(".act", "Cancel")
	p.until("that it is not done", `!document.querySelector(".act") && `+listed+` === 1`)
	p.now(`document.querySelector(".letters summary").click()`)
	p.click(".letters", "Discard")
	p.until("what that is", `document.querySelector(".act").innerText.includes("removed for good")`)
	p.click(".act", "Discard for good")
	p.until("that it is gone",
		`document.querySelector(".act").innerText.includes("1 letter is gone.") && `+listed+` === 0`)
	letters, err := c.DeadLetters(t.Context(), "inverses", api.LetterQuery{})
	if err != nil || len(letters.Items) != 0 {
		t.Errorf("there are %d letters: %v", len(letters.Items), err)
	}
	p.quiet()
}
