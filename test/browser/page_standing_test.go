package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/client"
)

const followed = `graph: followed
accumulators: { ticks: { source: { generator: { every: 50ms, expr: i } } } }
nodes: { double: { expr: ticks * 2 } }
outputs: { doubles: { from: double, sink: { followers: {} } } }
`

const follows = `graph: follows
accumulators: { doubles: { source: { follow: { name: followed, output: doubles } } } }
nodes: { sum: { expr: doubles + 1 } }
outputs: { o: { from: sum, sink: { drop: {} } } }
`

// TestPageOfStanding: the page says what comes along the lines of the picture, how long epochs take, what of the graph
// is kept and where it runs, how far its inputs are, who follows an output, and what has happened to it.
func TestPageOfStanding(t *testing.T) {
	port, _ := run(t, graphd.Config{Declarations: map[string][]byte{"followed": []byte(followed)}})
	at, text := "http://localhost:"+port, axe(t)
	c, err := client.New(client.Config{BaseURL: at})
	if err != nil {
		t.Fatal(err)
	}
	apply := func(graph, declaration string) {
		t.Helper()
		if _, err := c.Apply(t.Context(), graph, []byte(declaration), 0, false); err != nil {
			t.Fatal(err)
		}
	}
	apply("follows", follows)
	p := start(t).open(at + "/graphs/followed")
	p.view(1440, "light")
	p.until("what comes along a line", `
		[...document.querySelectorAll(".picture text.label")].some(x => /\d\/s/.test(x.textContent))`)
	p.until("how long epochs took", `
		/half took at most [\d.]+ .s.*99 of 100/.test(document.querySelector(".bars").ariaLabel)`)
	p.says("section[aria-labelledby=kept]", "Its state is kept in checkpoints")
	p.until("the last checkpoint", `/epoch \d/.test(document.querySelector("section[aria-labelledby=kept]").innerText)`)
	p.says("section[aria-labelledby=outputs]", "follows follows it, by doubles")
	const section = "section[aria-labelledby=happened]"
	p.click(section, "Show")
	p.says(section, "Nothing has")
	apply("followed", strings.Replace(followed, "ticks * 2", "ticks * 4", 1))
	p.until("the update", fmt.Sprintf(`document.querySelector(%q).textContent.includes("updated")`, section+" li"))
	p.now(`document.querySelector("` + section + ` summary").click()`)
	p.accessible("standing", text)
	p.keep("standing-light-1440", true)
	for _, width := range []int{390, 2560} {
		p.view(width, "dark")
		p.until("that nothing is wider than the page", `document.documentElement.scrollWidth <= innerWidth`)
		p.accessible("standing", text)
		p.keep(fmt.Sprintf("standing-dark-%d", width), true)
	}
	p.now(`document.querySelector("section[aria-labelledby=outputs] .reasons a").click()`)
	p.until("who follows", `document.querySelector("h1").textContent === "follows"`)
	p.says("section[aria-labelledby=marks]", "doubles")
	p.quiet()
}
