package reasons

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/api"
)

// Moment reads a time, or a duration back from now; "" is the zero time. name is how the parameter is called.
func Moment(name, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return at, nil
	}
	back, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n float64
		n, err = strconv.ParseFloat(days, 64)
		back = time.Duration(n * 24 * float64(time.Hour))
	}
	if err != nil || back < 0 {
		return time.Time{}, &api.Error{Status: http.StatusBadRequest, Code: api.CodeInvalidParameter,
			Detail: fmt.Sprintf("%s: %q is neither a time (2026-11-22T10:00:00Z) nor a duration back from now "+
				"(90m, 7d)",
				name, text)}
	}
	return now.Add(-back), nil
}
