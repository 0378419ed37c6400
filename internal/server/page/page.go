// Package page decides what a web page in somebody's browser may do with a daemon that this browser reaches.
// Two things protect it, whether there are tokens or not: a request is answered only under a name of the daemon's
// own, because a page can have any name of its own resolve to the daemon's address; and a page of another origin is
// refused, unless the configuration names its origin.
package page

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/outbound"
)

// Rules are what is allowed. They do not change, and are safe for concurrent use.
type Rules struct {
	hosts, origins []string
}

// New makes rules of the names, without a port, that requests may be addressed to beside addresses and
// localhost, and of the origins, https://host[:port], of trusted pages.
func New(hosts, origins []string) (*Rules, error) {
	r := &Rules{hosts: []string{"localhost"}}
	for _, h := range hosts {
		if h == "" || strings.ContainsAny(h, ":/*@ ") {
			return nil, fmt.Errorf("host %q is no name: write names such as graphd.example.com, without a port",
				outbound.Shown(h))
		}
		r.hosts = append(r.hosts, strings.ToLower(h))
	}
	for _, o := range origins {
		u, err := url.Parse(o)
		if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" ||
			u.Scheme+"://"+u.Host != o {
			return nil, fmt.Errorf("origin %q is not of the form https://host[:port]", outbound.Shown(o))
		}
		r.origins = append(r.origins, whole(u))
	}
	return r, nil
}

// whole writes an origin as browsers do: in lower case, without the port that goes without saying.
func whole(u *url.URL) string {
	host := strings.ToLower(u.Host)
	if u.Scheme == "http" {
		host = strings.TrimSuffix(host, ":80")
	} else {
		host = strings.TrimSuffix(host, ":443")
	}
	return u.Scheme + "://" + host
}

// Known says whether the daemon answers to a request's Host. An address is always its own: no page has a
// name that is one.
func (r *Rules) Known(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if slices.Contains(r.hosts, strings.ToLower(host)) {
		return true
	}
	_, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	return err == nil
}

// Foreign says whether a page of another origin has sent req, and none of a trusted one. It is
// http.CrossOriginProtection for sockets and reading too, where that compares hosts alone and lets every GET pass.
func (r *Rules) Foreign(req *http.Request) bool {
	origin := req.Header.Get("Origin")
	if slices.Contains(r.origins, origin) {
		return false
	}
	switch req.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return false
	case "": // an old browser, or none
		return origin != "" && origin != own(req)
	}
	return true
}

// Own says whether a page of this daemon has sent req, or for reading somebody who typed its address: what a browser
// sends along by itself counts for such requests alone. Without an origin nobody knows whose a change is.
func (r *Rules) Own(req *http.Request) bool {
	reads := req.Method == http.MethodGet || req.Method == http.MethodHead
	origin := req.Header.Get("Origin")
	switch req.Header.Get("Sec-Fetch-Site") {
	case "same-origin":
	case "none":
		return reads && origin == ""
	case "":
		if origin != own(req) && (origin != "" || !reads) {
			return false
		}
	default:
		return false
	}
	// The standard library's look at the same, so that a mistake above has to be made twice.
	return (&http.CrossOriginProtection{}).Check(req) == nil
}

// Followed says whether somebody has followed a link: the page that has it sees nothing of the answer.
func Followed(req *http.Request) bool {
	return (req.Method == http.MethodGet || req.Method == http.MethodHead) &&
		req.Header.Get("Sec-Fetch-Mode") == "navigate" && req.Header.Get("Upgrade") == ""
}

// own is the origin that a page of this daemon would have.
func own(req *http.Request) string {
	u := url.URL{Scheme: "http", Host: req.Host}
	if req.TLS != nil {
		u.Scheme = "https"
	}
	return whole(&u)
}

// Allow has the browser show the answer to a page of a trusted origin.
func (r *Rules) Allow(h http.Header, req *http.Request) {
	if len(r.origins) == 0 {
		return
	}
	h.Add("Vary", "Origin")
	if origin := req.Header.Get("Origin"); slices.Contains(r.origins, origin) {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", "Allow, ETag, Idempotency-Replayed, Retry-After, WWW-Authenticate")
	}
}

// Preflight says whether a browser asks what a page may do, before it does that.
func Preflight(req *http.Request) bool {
	return req.Method == http.MethodOptions && req.Header.Get("Origin") != "" &&
		req.Header.Get("Access-Control-Request-Method") != ""
}

// Answer answers the preflight of a trusted page. It says nothing of the route: a browser asks without a token.
func Answer(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Access-Control-Allow-Methods", "GET, HEAD, PUT, POST, DELETE")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Content-Encoding, Graphd-Tenant, "+
		"Idempotency-Key, If-Match, If-None-Match, Prefer")
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
}
