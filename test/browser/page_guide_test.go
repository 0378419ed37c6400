package browser

import (
	"fmt"
	"testing"

	"github.com/graphd/graphd"
)

// TestPageGuides: the graph of the demo is shown by a look around, each step of which is ticked off once it is seen to
// be done, and has the focus; whoever leaves it or is through is not asked again, and no other graph has it.
func TestPageGuides(t *testing.T) {
	port, _ := run(t, graphd.Config{Declarations: demo(t)})
	at, text := "http://localhost:"+port, axe(t)
	b := start(t)
	p := b.open(at + "/graphs/market_maker")
	p.view(1440, "light")
	p.says(".guide", "New here?")
	p.click(".guide", "Look around")
	step := func(name, does string) {
		t.Helper()
		p.until(name, fmt.Sprintf(`document.activeElement.closest(".guide") &&
			document.activeElement.textContent.startsWith(%q)`, name))
		if does != "" {
			p.click(".guide", does)
		}
	}
	seen := func(what string) {
		t.Helper()
		p.says(".guide .good", what)
		p.click(".guide", "Go on")
	}
	step("It moves", "Go on")
	step("What fired, and why", "Open the newest epoch")
	p.until("the epoch", `document.querySelector(".panel h2").textContent.startsWith("Epoch ")`)
	p.accessible("guide", text)
	p.keep("guide-light-1440", false)
	seen("It stands beside the picture")
	step("And why not", "Ask why signals is silent")
	p.until("why", `document.querySelector("section[aria-labelledby=silent] .says")`)
	seen("The route decide")
	step("Force it", "Open Fire")
	p.click(".act", "Fire")
	seen("That was one.")
	step("Break it", "Send it")
	p.says(".guide .good", "There it is")
	p.click(".guide", "Show dead letters")
	p.until("the dead letter", `document.querySelector(".letters > li").textContent.includes("limits")`)
	p.view(390, "dark")
	p.until("that nothing is wider than the page", `document.documentElement.scrollWidth <= innerWidth`)
	p.accessible("guide", text)
	p.keep("guide-dark-390", false)
	p.click(".guide", "Go on")
	step("See it recover", "Stop the order book")
	p.says(".notice", "orderbook stopped")
	p.click(".guide", "Bring it back")
	p.says(".guide .good", "It is well again")
	p.click(".guide", "Close")
	p.until("that it is over", `!document.querySelector(".guide")`)
	p.quiet()

	p = b.open(at + "/graphs/market_maker")
	p.until("the graph", `document.querySelector(".firings tbody tr") && !document.querySelector(".guide")`)
	p.now(`localStorage.removeItem("guide")`)
	p = b.open(at + "/graphs/spread")
	p.until("another graph", `document.querySelector(".firings tbody tr") && !document.querySelector(".guide")`)
	p = b.open(at + "/graphs/market_maker")
	p.click(".guide", "No, thanks")
	p.until("that it was refused", `!document.querySelector(".guide") && localStorage.getItem("guide") === "over"`)
}
