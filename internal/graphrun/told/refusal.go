package told

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/reactor"
)

// Refusal turns a reactor's error into the control plane's.
func Refusal(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, reactor.ErrTable):
		return &api.Error{Status: http.StatusUnprocessableEntity, Code: "bad_value", Detail: err.Error()}
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
	case errors.Is(err, reactor.ErrUnanswered):
		return &api.Error{Status: http.StatusGatewayTimeout, Code: "call_unanswered",
			Detail: "nothing was fired, and nothing is changed: " + err.Error() +
				"; look at what is called, or raise reactor.epoch_timeout",
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
	return &api.Error{Status: http.StatusServiceUnavailable, Code: api.CodeNotDurable,
		Detail: "it is in effect, but the checkpoint could not be written, so a crash would undo it: " + err.Error()}
}

// NotDrained says what a drain has waited for in vain.
func NotDrained(s *api.GraphSummary) error {
	var held []string
	for i := range s.Outputs {
		switch o := &s.Outputs[i]; {
		case o.Pending == 0:
		case o.Stopped != nil:
			held = append(held,
				fmt.Sprintf("output %s is stopped by %s, and %d of its values wait", o.Name, o.Stopped.By, o.Pending))
		case o.Error != "":
			held = append(held, fmt.Sprintf("%d values of output %s wait: %s", o.Pending, o.Name, o.Error))
		default:
			held = append(held, fmt.Sprintf("%d values of output %s wait", o.Pending, o.Name))
		}
	}
	if len(held) == 0 {
		held = append(held, "the graph was still firing")
	}
	return &api.Error{Status: http.StatusGatewayTimeout, Code: "drain_timeout",
		Detail: "the time was up: " + strings.Join(held, "; ")}
}

// BadCursor refuses a cursor that no list has given out.
func BadCursor() error {
	return &api.Error{Status: http.StatusBadRequest, Code: "bad_cursor",
		Detail: "before is not a cursor of this list; leave it out to start at the newest"}
}

// CannotDeal refuses an update that would deal the keys otherwise; nothing is changed.
func CannotDeal(why string) error {
	return &api.Error{Status: http.StatusFailedDependency, Code: "update_failed",
		Detail: "the keys are not dealt anew, and the graph runs on as it was: " + why}
}
