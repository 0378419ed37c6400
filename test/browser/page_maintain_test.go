package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/internal/api"
)

const maintained = `graph: maintained
accumulators:
  lines: { strategy: sequential, source: { file: { path: %q, format: ndjson, follow: true } } }
  limit: { passive: true, default: 1 }
nodes: { n: { expr: lines + limit } }
outputs: { o: { from: n, sink: { drop: {} } } }
`

// comesTo waits until a graph is live and its daemon says of it what there has to be.
func comesTo(t *testing.T, c *client.Client, graph string, is func(s *api.GraphSummary) bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; <-time.After(20 * time.Millisecond) {
		s, err := c.Graph(t.Context(), graph)
		if err != nil {
			t.Fatal(err)
		}
		if s.Health == "live" && is(&s) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("it has not come to what it has to: %+v", s)
		}
	}
}

// TestPageMaintains: what keeps a graph going or has it begin anew says what it will do, does it when it is told to and
// not before, and says what it has done; whoever may not do it is told which role may.
func TestPageMaintains(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lines.ndjson")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("1\n2\n3\n")
	port, _ := run(t, graphd.Config{Declarations: map[string][]byte{"maintained": fmt.Appendf(nil, maintained, path)}})
	at, text := "http://localhost:"+port, axe(t)
	c, err := client.New(client.Config{BaseURL: at})
	if err != nil {
		t.Fatal(err)
	}
	p := start(t).open(at + "/graphs/maintained")
	p.view(1440, "light")
	p.until("what was read", epochs+` === "3,2,1"`)
	p.click(".buttons", "More")
	p.says(".act", "let an input go on behind what its source has lost")
	p.accessible("more", text)
	p.keep("more-light-1440", false)
	p.click(".act", "✕")

	const confirm = `.act input[name=confirm]`
	for _, does := range []struct {
		verb, button, label string
		prepare             func()
		with                map[string]string // what is typed and chosen
		will, did, then     string
		// What the answer tells of the graph it tells after a second, however far that is by then.
		is func(s *api.GraphSummary) bool
	}{
		{verb: "checkpoint", button: "Checkpoint", label: "Take a checkpoint",
			will: "is written to the store", did: "A checkpoint that covers epoch 3 is durable."},
		{verb: "drain", button: "Drain", label: "Drain",
			will: "It fires until nothing is left to fire now", did: "and a checkpoint covers epoch 3."},
		{verb: "restart", button: "Restart", label: "Restart",
			will: "begins anew from that", did: "It has begun anew, behind epoch 3, with start number ",
			is: func(s *api.GraphSummary) bool { return s.Epoch == 3 && s.Incarnation == 2 }},
		{verb: "restart-input", button: "Restart", label: "Restart", with: map[string]string{".act select": "lines"},
			will: "Its siblings go on.", did: "lines has begun anew, and is ",
			is: func(s *api.GraphSummary) bool { return s.Accumulators[0].Restarts == 1 }},
		{verb: "rewind", button: "Rewind", label: "Rewind",
			with: map[string]string{".act input[name=position]": "2", confirm: "maintained"},
			will: "What is read twice counts twice", did: "lines reads on from 2", then: epochs + ` === "5,4,3,2,1"`},
		{verb: "skip-lost", button: "Skip what is lost", label: "Skip what is lost", prepare: func() {
			write("7\n")
			p.until("that something is lost", `document.querySelector(".inputs button").textContent.includes("Skip")`)
		}, will: "cannot be taken back", did: "lines goes on behind what is lost"},
		{verb: "reset", button: "Reset", label: "Reset", with: map[string]string{confirm: "maintained"},
			will: "All state is taken from it",
			did:  "its epochs are numbered on: ", then: epochs + `.startsWith("7,")`},
	} {
		if does.prepare != nil {
			does.prepare()
		}
		p.click(".buttons", "More")
		p.click(".act", does.button)
		for field, value := range does.with {
			p.choose(field, value)
		}
		p.says(".act", does.will)
		p.keep(does.verb+"-light-1440", false)
		p.click(".act .actions", does.label)
		p.says(".act .did", does.did)
		if does.then != "" {
			p.until("what "+does.verb+" leads to", does.then)
		}
		if does.is != nil {
			comesTo(t, c, "maintained", does.is)
		}
	}
	p.choose(confirm, "another")
	p.until("that it takes the graph's name", `document.querySelector(".act .actions button").disabled`)
	p.view(390, "dark")
	p.until("that nothing is wider than the page", `document.documentElement.scrollWidth <= innerWidth`)
	p.accessible("reset", text)
	p.keep("reset-dark-390", false)
	p.quiet()

	root, err := c.CreateToken(t.Context(), api.TokenRequest{Name: "root", Role: "platform-admin"})
	if err != nil {
		t.Fatal(err)
	}
	if c, err = client.New(client.Config{BaseURL: at, Token: root.Text}); err != nil {
		t.Fatal(err)
	}
	p.leave()
	for role, mine := range map[string]string{"viewer": "", "operator": "checkpoint,drain,restart,skip-lost"} {
		made, err := c.CreateToken(t.Context(), api.TokenRequest{Name: "one-" + role, Role: role})
		if err != nil {
			t.Fatal(err)
		}
		p = p.b.open(at + "/graphs/maintained?do=more")
		p.signIn(made.Text)
		p.until("who it is", `document.querySelector(".me")`)
		p.until("what a "+role+" may", fmt.Sprintf(`[...document.querySelectorAll(".verbs button")].length === %d`,
			len(strings.FieldsFunc(mine, func(r rune) bool { return r == ',' }))))
		for verb, least := range map[string]string{"checkpoint": "operator", "drain": "operator", "restart": "operator",
			"skip-lost": "operator", "rewind": "author", "reset": "author"} {
			p.now(fmt.Sprintf(`(history.pushState(null, "", "?do=%s"), dispatchEvent(new Event("popstate")))`, verb))
			if strings.Contains(mine, verb) {
				p.until("that "+verb+" is not refused", `document.querySelector(".act .actions") &&
					!document.querySelector(".act .refused")`)
				continue
			}
			p.says(".act .refused", "and this takes the role "+least+" or one that may more.")
			p.until("that it cannot be done", `document.querySelector(".act button.main").disabled`)
		}
		p.click(".top", "Sign out")
	}
}
