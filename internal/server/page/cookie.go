package page

import "net/http"

// CookieName is that of a browser's session. Its prefix has the browser take it over TLS alone (or from this
// machine), for this host and no other, and for all paths.
const CookieName = "__Host-graphd"

// SetCookie has the browser keep the text of a session for some seconds, below 0 no more.
func SetCookie(w http.ResponseWriter, text string, age int) {
	http.SetCookie(w, &http.Cookie{Name: CookieName, Value: text, Path: "/", MaxAge: age, Secure: true, HttpOnly: true,
		SameSite: http.SameSiteStrictMode})
	w.Header().Set("Cache-Control", "no-store")
}

// Session is the text of the session that a request is sent in, "" without one: a page of another origin has none,
// whatever the browser sends along, and whether the origin is trusted or not.
func (r *Rules) Session(req *http.Request) string {
	cookie, err := req.Cookie(CookieName)
	if err != nil || !r.Own(req) {
		return ""
	}
	return cookie.Value
}
