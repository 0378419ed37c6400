package page

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html"
	"net/http"
	"strings"
)

// form is the page that a browser logs in with.
//
//go:embed login.html
var form string

// back is the page that a browser sees which comes back from the issuer. Its cookie of SameSite=Strict does not come
// along where a redirect of the issuer leads, but does where a page of the daemon's own does.
//
//go:embed back.html
var back string

// Login answers with the form, with what leads to the issuer where that is offered.
func Login(w http.ResponseWriter, offered bool) {
	text := form
	if offered {
		text = strings.Replace(form, `<div id="issuer" hidden>`, `<div id="issuer">`, 1)
	}
	write(w, http.StatusOK, text, "script-src '"+digest("script")+"'; connect-src 'self'; ")
}

// Back answers a browser that comes back from the issuer with what has become of its login, and leads it to the page:
// by itself, where it is logged in.
func Back(w http.ResponseWriter, status int, told string) {
	text := strings.Replace(back, "{{told}}", html.EscapeString(told), 1)
	if status != http.StatusOK {
		text = strings.Replace(text, `<meta http-equiv="refresh" content="0;url=/">`, "", 1)
	}
	write(w, status, text, "")
}

// write writes a page. Nothing in it runs but its own script, and it speaks to this daemon alone.
func write(w http.ResponseWriter, status int, text, allows string) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; "+allows+"style-src '"+digest("style")+
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // a client that went away is no error of ours
}

// digest is what a policy calls the text of the form's only element of a name.
func digest(element string) string {
	_, text, _ := strings.Cut(form, "<"+element+">")
	text, _, _ = strings.Cut(text, "</"+element+">")
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
