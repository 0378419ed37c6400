package browser

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/internal/api"
)

// view is one that the page has: where it is, and what it shows once it is there.
type view struct{ name, at, shows string }

// views are all there are, in a daemon with the graphs of [viewed].
var views = []view{
	{"overview", "/", `document.querySelectorAll(".graphs .body .row").length === 8 &&
		[...document.querySelectorAll(".body .c-epochs")].some(c => /[1-9].*\/s/.test(c.textContent)) &&
		document.querySelector(".row.needy[aria-rowindex='2'] .c-graph a").textContent === "inverses"`},
	{"graph", "/graphs/market_maker", `document.querySelectorAll(".picture .box").length === 13 &&
		document.querySelectorAll(".firings tbody tr").length > 5 &&
		/\d/.test(document.querySelector('[data-id="n:mid"] .text').textContent) &&
		/[1-9]/.test(document.querySelector(".figure dd").textContent)`},
	{"epoch", "/graphs/market_maker?epoch=1&at=n%3Aedge", `document.querySelectorAll(".panel .nodes li").length === 5 &&
		document.querySelector(".panel .sentence") && document.querySelector(".piece h3")`},
	{"keys", "/graphs/spread?keys=1&of=%22S1%22", `
		document.querySelectorAll("[aria-labelledby=keys] tbody tr").length > 5 &&
		document.querySelector(".one .value")`},
	{"letters", "/graphs/inverses?letters=1", `document.querySelectorAll(".letters > li").length === 3`},
	{"tail", "/graphs/fast?tail=both", `document.querySelectorAll(".tail li").length > 5 &&
		document.querySelector(".tail li a").textContent.includes(",")`},
	{"editor", "/?new=1", `document.querySelector(".checked").textContent.includes("No mistake")`},
	{"revisions", "/graphs/steps?declared=1&revision=1", `
		document.querySelectorAll(".revisions tbody tr").length === 2 &&
		document.querySelector("[aria-labelledby=declared] ins")`},
	{"silent", "/graphs/waiting?silent=1&happened=1", `document.querySelector("[aria-labelledby=silent] .says")`},
	{"push", "/graphs/steps?do=push", `document.querySelector(".act textarea").value !== ""`},
	{"fire", "/graphs/market_maker?do=fire&mode=with", `document.querySelector(".act textarea").value.includes("ask")`},
	{"docs", "/docs/declaration", `document.querySelector("main h1")`},
	{"guide", "/graphs/market_maker", `document.querySelector(".firings tbody tr") &&
		(document.querySelector(".guide").textContent.includes("It moves") ||
			[...document.querySelectorAll(".guide button")].find(b =>
			b.textContent === "Look around")?.click())`},
	{"signin", "/", `document.getElementById("token")`},
}

// viewed runs a daemon with what the views show, and is where it is.
func viewed(t *testing.T) (at string, c *client.Client) {
	t.Helper()
	all := demo(t)
	// Its first epoch is looked at when the views before it have been, however long those take.
	all["market_maker"] = append(all["market_maker"], "\nhistory: { keep: 100000 }\n"...)
	all["inverses"], all["fast"] = []byte(inverses), []byte(strings.Replace(fast, "1ms", "10ms", 1))
	port, _ := run(t, graphd.Config{Declarations: all})
	at = "http://localhost:" + port
	c, err := client.New(client.Config{BaseURL: at})
	if err != nil {
		t.Fatal(err)
	}
	pushed(t, c, "inverses", "ticks", "0", `"no"`, "0")
	for _, expression := range []string{"a * 2", "a * 3"} {
		text := strings.NewReplacer("a * 2", expression, "mine", "steps").Replace(right)
		if _, err := c.Apply(t.Context(), "steps", []byte(text), 0, false); err != nil {
			t.Fatal(err)
		}
	}
	return at, c
}

// TestPage: every view of the page, in both themes and at three widths: it shows what there is, nothing is wider than
// the page, axe objects to nothing, and the page complains of nothing.
func TestPage(t *testing.T) {
	at, c := viewed(t)
	text := axe(t)
	all, whole := widths, os.Getenv("GRAPHD_SCREENSHOTS") != ""
	if whole { // those who look at pictures look at large ones, too, and axe looks at each
		all = append(slices.Clone(all), 2560)
	}
	b := start(t)
	for _, v := range views {
		t.Run(v.name, func(t *testing.T) {
			b.t = t
			if v.name == "signin" { // from the first token on the daemon asks for one
				_, err := c.CreateToken(t.Context(), api.TokenRequest{Name: "root", Role: "platform-admin"})
				if err != nil {
					t.Fatal(err)
				}
			}
			p := b.open(at + v.at)
			p.view(1440, "light")
			p.until("it", v.shows)
			for _, theme := range []string{"light", "dark"} {
				for _, width := range all {
					p.view(width, theme)
					name := fmt.Sprintf("%s-%s-%d", v.name, theme, width)
					p.until(name+" no wider than the page", `document.documentElement.scrollWidth <= innerWidth`)
					if whole || theme == "light" && width > 1024 || theme == "dark" && width < 1024 {
						p.accessible(name, text)
					}
					p.keep(name, true)
				}
			}
			if v.name == "signin" {
				b.said = nil // that it asks for a token
			}
			p.quiet()
			p.leave()
		})
		b.t = t
	}
}
