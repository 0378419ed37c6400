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

// pendingName is the cookie of a browser whose user is at the issuer. It comes along when the issuer sends the browser
// back, which no cookie of SameSite=Strict does.
const pendingName = "__Host-graphd-login"

// SetPending has the browser keep a login that it has begun for some seconds, below 0 no more.
func SetPending(w http.ResponseWriter, text string, age int) {
	http.SetCookie(w, &http.Cookie{Name: pendingName, Value: text, Path: "/", MaxAge: age, Secure: true,
		HttpOnly: true, SameSite: http.SameSiteLaxMode})
	w.Header().Set("Cache-Control", "no-store")
}

// Pending is the login that the browser has begun, "" where it has none. The issuer's page sends it, so that its origin
// counts for nothing: what it brings has to fit.
func Pending(req *http.Request) string {
	cookie, err := req.Cookie(pendingName)
	if err != nil {
		return ""
	}
	return cookie.Value
}
