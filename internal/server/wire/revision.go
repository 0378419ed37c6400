package wire

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/graphd/graphd/internal/api"
)

// IfMatch reads If-Match: 0 for none, -1 for "*", else the revision.
func IfMatch(h http.Header) (int64, error) {
	given := h.Values("If-Match")
	if len(given) == 0 {
		return 0, nil
	}
	if len(given) == 1 {
		text := strings.TrimSpace(given[0])
		if text == "*" {
			return -1, nil
		}
		if n := len(text); n > 2 && text[0] == '"' && text[n-1] == '"' {
			if revision, err := strconv.ParseInt(text[1:n-1], 10, 64); err == nil && revision > 0 {
				return revision, nil
			}
		}
	}
	// Whatever else it is, it is not the tag of any revision.
	return 0, Refuse(http.StatusPreconditionFailed, api.CodeRevisionConflict,
		`If-Match is not the ETag of a revision: use the ETag of GET, such as "3"`)
}

// IfNone reads If-None-Match: * of a request that is to make what is not there yet.
func IfNone(h http.Header) (bool, error) {
	given := h.Values("If-None-Match")
	if len(given) == 0 {
		return false, nil
	}
	if len(given) != 1 || strings.TrimSpace(given[0]) != "*" || len(h.Values("If-Match")) > 0 {
		return false, Refuse(http.StatusPreconditionFailed, api.CodeRevisionConflict,
			"If-None-Match is * alone, without If-Match: the graph is to be made, and there is to be none of its name")
	}
	return true, nil
}

// ETag is the tag of a revision.
func ETag(revision int64) string { return `"` + strconv.FormatInt(revision, 10) + `"` }
