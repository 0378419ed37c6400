// Package param reads what the path, the query and the head of a request give.
package param

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/wire"
)

// Name says whether s is a name: [a-z][a-z0-9_]{0,63}.
func Name(s string) bool {
	if len(s) == 0 || len(s) > 64 || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	for i := 1; i < len(s); i++ {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_') {
			return false
		}
	}
	return true
}

// NameForm is what a name looks like, for people.
const NameForm = "[a-z][a-z0-9_]{0,63}"

// MaxCursor bounds what a client may send as a cursor, key or identifier; they go to the store as they are.
const MaxCursor = 1024

// MaxPlaces bounds a cursor over the shards of a graph, which has a place for each of 1,024 (M48). It stays below what
// the head of a request may have, also where each byte is written as three.
const MaxPlaces = 16 << 10

// Query parses the query and refuses parameters that the route does not have: a
// misspelled dry_run must not apply.
func Query(r *http.Request, known ...string) (url.Values, error) {
	if r.URL.RawQuery == "" {
		return nil, nil
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, wire.Refuse(http.StatusBadRequest, api.CodeInvalidParameter,
			"the query is not of the form name=value&…")
	}
	for name, given := range values {
		if !slices.Contains(known, name) {
			has := "no parameters"
			if len(known) > 0 {
				has = strings.Join(known, ", ")
			}
			return nil, wire.Refuse(http.StatusBadRequest, api.CodeUnknownParameter,
				fmt.Sprintf("unknown parameter %q: this route knows %s", wire.Clip(name), has))
		}
		if len(given) > 1 {
			return nil, wire.Refuse(http.StatusBadRequest, api.CodeInvalidParameter,
				fmt.Sprintf("parameter %s is given more than once", name))
		}
	}
	return values, nil
}

// Shard is ?shard=; nil where it is not given. It does not stand beside a key, which has its shard.
func Shard(values url.Values) (*int, error) {
	if !values.Has("shard") {
		return nil, nil
	}
	if values.Get("key") != "" {
		return nil, wire.Refuse(http.StatusBadRequest, api.CodeInvalidParameter,
			"give key or shard: a key has its shard")
	}
	n, err := Number(values, "shard", 0, 1023)
	shard := int(n)
	return &shard, err
}

// Key is ?key= as the engine takes it.
func Key(values url.Values) (string, error) {
	text := values.Get("key")
	if len(text) > MaxCursor {
		return "", wire.Refuse(http.StatusBadRequest, api.CodeInvalidParameter,
			fmt.Sprintf("key can have %d bytes at most", MaxCursor))
	}
	return wire.Key(text), nil
}

// Bool reads a parameter that is there or not: "1", "true", "0", "false".
func Bool(values url.Values, name string) (bool, error) {
	if !values.Has(name) {
		return false, nil
	}
	switch text := values.Get(name); text {
	case "1", "true":
		return true, nil
	case "0", "false":
		return false, nil
	default:
		return false, wire.Refuse(http.StatusBadRequest, api.CodeInvalidParameter,
			fmt.Sprintf("%s is %q, and must be 1 or 0", name, wire.Clip(text)))
	}
}

// Number is a parameter that is a number, 0 where it is not given.
func Number(values url.Values, name string, least, most int64) (int64, error) {
	if !values.Has(name) {
		return 0, nil
	}
	text := values.Get(name)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		return 0, wire.Refuse(http.StatusBadRequest, api.CodeInvalidParameter,
			fmt.Sprintf("%s is %q, and must be a number from %d to %d", name, wire.Clip(text), least, most))
	}
	return n, nil
}

// Tenant is the tenant that a request asks to speak for, "" where it names none.
func Tenant(h http.Header) (string, error) {
	named := h["Graphd-Tenant"]
	switch {
	case len(named) == 0:
		return "", nil
	case len(named) > 1 || !Name(named[0]):
		return "", wire.Refuse(http.StatusBadRequest, api.CodeInvalidTenant,
			"the header Graphd-Tenant must be given once, with a name of the form "+NameForm)
	}
	return named[0], nil
}

// Host is where a request came from, without the port.
func Host(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	return host
}

// maxAgent bounds what is kept of a caller's name for itself.
const maxAgent = 200

// Author is the caller as one who changes a declaration.
func Author(r *http.Request, who *access.Principal) api.Author {
	a := api.Author{Agent: strings.ToValidUTF8(r.UserAgent(), "\uFFFD"), Host: Host(r)}
	if who.Vouched() {
		a.Token = who.Subject
	}
	if len(a.Agent) > maxAgent {
		a.Agent = strings.ToValidUTF8(a.Agent[:maxAgent], "")
	}
	return a
}

// LeastWait is how long a push waits at least: so long it may take where there is room.
const LeastWait = 200 * time.Millisecond

// Patience is how long a full queue may hold a request up: as long as the daemon allows, or fewer seconds where the
// client says so (RFC 7240).
func Patience(h http.Header, allowed time.Duration) time.Duration {
	if given := h["Prefer"]; len(given) == 1 {
		text, ok := strings.CutPrefix(given[0], "wait=")
		if n, err := strconv.ParseUint(text, 10, 31); ok && err == nil {
			return min(allowed, max(LeastWait, time.Duration(n)*time.Second))
		}
	}
	return allowed
}
