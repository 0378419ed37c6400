package told

import (
	"context"
	"errors"
	"net/http"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/reactor"
)

// Refusal turns a reactor's error into the control plane's.
func Refusal(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, reactor.ErrState):
		return &api.Error{
			Status: http.StatusConflict, Code: "state_forbids",
			Detail: "the graph's state forbids this command; see its health",
		}
	case errors.Is(err, reactor.ErrNotPaused):
		return &api.Error{Status: http.StatusConflict, Code: "not_paused", Detail: err.Error()}
	case errors.Is(err, live.ErrStopped):
		return &api.Error{
			Status: http.StatusConflict, Code: "graph_not_running",
			Detail: "the graph has just stopped; look at its health",
		}
	case errors.Is(err, context.DeadlineExceeded):
		return &api.Error{
			Status: http.StatusGatewayTimeout, Code: "command_timeout",
			Detail: "the graph did not come to an epoch boundary in time; try again, or look at its health",
		}
	}
	return err
}

// NotDurable is the refusal of a command that is in effect, and in no checkpoint.
func NotDurable(err error) error {
	if errors.Is(err, live.ErrStopped) || errors.Is(err, context.DeadlineExceeded) {
		return Refusal(err)
	}
	return &api.Error{Status: http.StatusServiceUnavailable, Code: "not_durable",
		Detail: "it is in effect, but the checkpoint could not be written, so a crash would undo it: " + err.Error()}
}

// BadCursor refuses a cursor that no list has given out.
func BadCursor() error {
	return &api.Error{Status: http.StatusBadRequest, Code: "bad_cursor",
		Detail: "before is not a cursor of this list; leave it out to start at the newest"}
}
