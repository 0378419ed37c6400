package wire

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
)

// Refuse is a refusal of the server's own.
func Refuse(status int, code, detail string) *api.Error {
	return &api.Error{Status: status, Code: code, Detail: detail}
}

// Forbidden refuses what a principal may not do. It says the same whatever there is.
func Forbidden(who *access.Principal, need access.Permission) *api.Error {
	detail := fmt.Sprintf("this takes the permission %q, and the role %s does not give it", need, who.Role)
	if who.Role.Gives(need) {
		detail = fmt.Sprintf("this takes the permission %q, and the token is narrowed", need)
	}
	return Refuse(http.StatusForbidden, api.CodeForbidden, detail+"; ask whoever gives tokens for another")
}

// NotJSON is the refusal of a text, called what, that is not JSON.
func NotJSON(what string, bad Bad) *api.Error {
	detail := "the " + what + " is not JSON"
	switch bad.Code {
	case api.CodeTooDeep:
		detail = "the " + what + " is nested too deeply"
	case api.CodeInvalidUTF8:
		detail = "the " + what + " is not UTF-8"
	}
	e := Refuse(http.StatusBadRequest, bad.Code, detail+" at byte "+strconv.Itoa(bad.Offset))
	e.Extra = map[string]any{"offset": bad.Offset}
	return e
}

// Status is e's HTTP status; one that is no error status is the engine's mistake, and so a 500.
func Status(e *api.Error) int {
	if e.Status < 400 || e.Status > 599 {
		return http.StatusInternalServerError
	}
	return e.Status
}

// AppendProblem encodes e as a problem document (RFC 9457): the standard members, then
// errors, then e.Extra in the order of its names. instance may be "".
func AppendProblem(dst []byte, e *api.Error, instance string) []byte {
	status := Status(e)
	dst = append(dst, `{"type":`...)
	dst = AppendString(dst, api.ProblemType+e.Code)
	dst = append(dst, `,"title":`...)
	dst = AppendString(dst, http.StatusText(status))
	dst = append(dst, `,"status":`...)
	dst = strconv.AppendInt(dst, int64(status), 10)
	dst = append(dst, `,"code":`...)
	dst = AppendString(dst, e.Code)
	dst = append(dst, `,"detail":`...)
	dst = AppendString(dst, e.Detail)
	if instance != "" {
		dst = append(dst, `,"instance":`...)
		dst = AppendString(dst, instance)
	}
	return append(AppendExtra(dst, e), '}')
}

// AppendExtra encodes what e has beside code and detail, each member after a comma.
func AppendExtra(dst []byte, e *api.Error) []byte {
	if len(e.Diagnostics) > 0 {
		dst = appendMember(dst, "errors", e.Diagnostics)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Extra)) {
		switch name {
		case "type", "title", "status", "code", "detail", "instance", "errors", "id": // ours, and said once
		default:
			dst = appendMember(dst, name, e.Extra[name])
		}
	}
	return dst
}

// appendMember adds a member to an object that has one already. A value that
// cannot be encoded becomes null: a problem must always get out.
func appendMember(dst []byte, name string, v any) []byte {
	dst = append(dst, ',')
	dst = AppendString(dst, name)
	dst = append(dst, ':')
	raw, err := json.Marshal(v)
	if err != nil {
		raw = []byte("null")
	}
	return append(dst, raw...)
}

// Clip keeps what a client sent from filling logs and answers.
func Clip(s string) string {
	const maxLen = 80
	if len(s) <= maxLen {
		return s
	}
	return strings.ToValidUTF8(s[:maxLen], "") + "…"
}

// Seconds is a time as Retry-After has it: whole seconds, and one at least.
func Seconds(d time.Duration) string {
	return strconv.FormatInt(max(1, int64(math.Ceil(d.Seconds()))), 10)
}

// WriteProblem answers a refusal as a problem document.
func WriteProblem(w http.ResponseWriter, e *api.Error, instance string) {
	status := Status(e)
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Del("ETag")
	if status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="graphd"`)
	}
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable ||
		e.Code == api.CodeIdempotencyBusy {
		h.Set("Retry-After", Seconds(e.After))
	}
	w.WriteHeader(status)
	_, _ = w.Write(AppendProblem(nil, e, instance)) // a client that went away is no error of ours
}
