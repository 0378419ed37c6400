package outbound

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// maxRedirects bounds a chain of redirects.
const maxRedirects = 5

// maxHeaderBytes bounds the header of an answer.
const maxHeaderBytes = 256 << 10

// ErrRedirect is in the error of a redirect that is not followed.
var ErrRedirect = errors.New("the redirect is not followed")

// Header is a header field of a request, perhaps a secret.
type Header struct{ Name, Value string }

// Headers are header fields that were declared, as those of requests.
func Headers[H ~struct{ Name, Value string }](declared []H) []Header {
	list := make([]Header, len(declared))
	for i, h := range declared {
		list[i] = Header(h)
	}
	return list
}

// Client makes an HTTP client that dials through the guard: no proxy, no cookies, few
// redirects, and none of the given secrets to another origin than the first. Its calls are
// not bounded by Acquire; that is for the caller, who knows when a call ends.
func (g *Guard) Client(secrets []Header) *http.Client { return g.ClientOf(1, secrets) }

// ClientOf is a [Guard.Client] for so many callers at one time.
func (g *Guard) ClientOf(callers int, secrets []Header) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext:            g.DialContext,
			ForceAttemptHTTP2:      true,
			MaxIdleConnsPerHost:    callers,
			IdleConnTimeout:        90 * time.Second,
			TLSHandshakeTimeout:    dialTimeout,
			MaxResponseHeaderBytes: maxHeaderBytes,
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error { return checkRedirect(req, via, secrets) },
	}
}

// checkRedirect looks at the request that a redirect leads to. Where it goes is checked when
// it is dialled.
func checkRedirect(req *http.Request, via []*http.Request, secrets []Header) error {
	first := via[0]
	switch {
	case len(via) > maxRedirects:
		return fmt.Errorf("%w: there were %d before it", ErrRedirect, maxRedirects)
	case req.URL.Scheme != "http" && req.URL.Scheme != "https":
		return fmt.Errorf("%w: it leads to the scheme %q", ErrRedirect, req.URL.Scheme)
	case via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme == "http":
		return fmt.Errorf("%w: it leads from https to http", ErrRedirect)
	case req.Method != first.Method:
		return http.ErrUseLastResponse // a POST that became a GET delivers nothing
	}
	if req.URL.Scheme != first.URL.Scheme || req.URL.Host != first.URL.Host {
		for _, h := range secrets {
			req.Header.Del(h.Name)
		}
	}
	req.Header.Del("Referer") // the URL before may hold a secret
	return nil
}

// Cause is an error of a client without the URL, which may hold a secret.
func Cause(err error) error {
	var called *url.Error
	if errors.As(err, &called) {
		return called.Err
	}
	return err
}

// maxRetryAfter bounds what a server may ask for.
const maxRetryAfter = time.Hour

// RetryAfter is how long an answer asks to wait before the next try, 0 when it does not say.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	if text == "" {
		return 0
	}
	wait := time.Duration(0)
	if n, err := strconv.ParseInt(text, 10, 32); err == nil {
		wait = time.Duration(n) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), maxRetryAfter)
}

// Temporary reports whether a status says that the same request may succeed later.
func Temporary(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= 500
}

// HostsOf is the host of an address, if it has one.
func HostsOf(address string) []string {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return nil
	}
	return []string{u.Hostname()}
}

// Set puts header fields on a request.
func Set(h http.Header, fields []Header) {
	for _, f := range fields {
		h.Set(f.Name, f.Value)
	}
}
