package page

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"net/http"
	"strings"
)

// form is the page that a browser logs in with.
//
//go:embed login.html
var form string

// Login answers with the form. Nothing in it runs but its own script, and it speaks to this daemon alone.
func Login(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; script-src '"+digest("script")+"'; style-src '"+
		digest("style")+"'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte(form)) // a client that went away is no error of ours
}

// digest is what a policy calls the text of the form's only element of a name.
func digest(element string) string {
	_, text, _ := strings.Cut(form, "<"+element+">")
	text, _, _ = strings.Cut(text, "</"+element+">")
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
