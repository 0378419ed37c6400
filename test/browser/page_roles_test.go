package browser

import (
	"fmt"
	"testing"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/internal/api"
)

// signIn gives the page a token, once it asks for one.
func (p *page) signIn(token string) {
	p.b.t.Helper()
	p.until("that it asks for a token", `document.getElementById("token")`)
	p.now(fmt.Sprintf(`(token => { document.getElementById("token").value = token
		document.querySelector("button.main").click() })(%q)`, token))
}

// TestPageOffersWhatOneMayDo: who may only look is offered nothing else, and is told why where an address leads to it;
// the daemon is asked anew who looks when another signs in.
func TestPageOffersWhatOneMayDo(t *testing.T) {
	port, _ := run(t, graphd.Config{Declarations: map[string][]byte{"limited": []byte(limited),
		"inverses": []byte(inverses)}})
	at, text := "http://localhost:"+port, axe(t)
	c, err := client.New(client.Config{BaseURL: at})
	if err != nil {
		t.Fatal(err)
	}
	pushed(t, c, "inverses", "ticks", "0")
	root, err := c.CreateToken(t.Context(), api.TokenRequest{Name: "root", Role: "platform-admin"})
	if err != nil {
		t.Fatal(err)
	}
	if c, err = client.New(client.Config{BaseURL: at, Token: root.Text}); err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, q := range []api.TokenRequest{{Name: "ada", Role: "viewer"}, {Name: "bob", Role: "operator"},
		{Name: "cyd", Role: "author", ReadOnly: true}} {
		made, err := c.CreateToken(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		texts[q.Name] = made.Text
	}
	const offered = `[...document.querySelectorAll(".buttons button")].map(b => b.textContent.trim()).join()`
	p := start(t).open(at + "/graphs/limited?do=pause")
	p.view(390, "light")
	p.signIn(texts["ada"])
	p.says(".act .refused", "You are ada, viewer in default, and this takes the role operator or one that may more.")
	p.until("that it cannot be done", `document.querySelector(".act button.main").disabled`)
	p.now(`(history.pushState(null, "", "?do=push"), dispatchEvent(new Event("popstate")))`)
	p.says(".act .refused", "this takes the role pusher or one that may more.")
	p.now(`(history.back(), 1)`)
	p.says(".act .refused", "this takes the role operator or one that may more.")
	p.until("that nothing else is offered", `!document.querySelector(".buttons") &&
		document.querySelector(".me").textContent.trim() === "viewer"`)
	const apart = `[...document.querySelectorAll(".top > *, .top .crumbs a")].map(e => e.getBoundingClientRect()).every(
		(is, i, all) => is.right <= document.documentElement.clientWidth && all.slice(0, i).every(was =>
			is.left >= was.right || is.top >= was.bottom || is.left >= was.left && is.right <= was.right))`
	p.until("that nothing of the head lies over another", apart)
	p.accessible("viewer", text)
	p.keep("roles-light-390", false)
	p.view(1440, "dark")
	p.keep("roles-dark-1440", false)
	p.click(".top", "Sign out")
	p.signIn(texts["bob"])
	p.until("what an operator may", offered+` === "Pause …,Fire …,Push …,More …"`)
	p.until("that nothing is refused", `!document.querySelector(".act .refused")`)
	p.click(".act", "Pause")
	p.says(".act .did", "Paused behind epoch 0.")
	p.click(".top", "Sign out")
	p.signIn(texts["cyd"])
	p.says(".act .refused", "You are cyd, whose token is narrowed to reading.")
	p.view(390, "light")
	p.until("that nothing of the head lies over another", apart)
	p.keep("roles-narrowed-390", false)
	p.b.said = nil // that it asks for a token

	p = p.b.open(at + "/graphs/inverses?letters=1&declared=1")
	p.until("the letter", `document.querySelectorAll(".letters > li").length === 1`)
	p.until("that it is only shown", `document.querySelector(".me") && !document.querySelector(".letters button")`)
	p.says(".refused", "You may not change it. You are cyd, whose token is narrowed to reading.")
	p.quiet()
}
