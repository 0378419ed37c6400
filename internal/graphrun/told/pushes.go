package told

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/api"
)

// TakenBefore says how many events of a push were taken before it was refused.
func TakenBefore(n int) string {
	switch n {
	case 0:
		return "no event was taken"
	case 1:
		return "only the first event was taken"
	}
	return fmt.Sprintf("only the first %d events were taken", n)
}

// Turned is what to answer to a push to an input that was not taken to its end, where err is one that mailboxes and
// other members give: why the rest is to be sent again, or what the push is refused with. closing says that the daemon
// is.
func Turned(err error, graph, input string, taken int, closing bool) (why *api.Reason, refusal error) {
	away, isAway := errors.AsType[*pump.AwayError](err)
	refused, isRefused := errors.AsType[*api.Error](err) // of another member, or of a key
	switch {
	case errors.Is(err, pump.ErrClosed):
		return nil, &api.Error{
			Status: http.StatusServiceUnavailable, Code: api.CodeGraphStopping,
			Detail: fmt.Sprintf("graph %s is being stopped; %s", graph, TakenBefore(taken)),
		}
	case errors.Is(err, pump.ErrStopped):
		return nil, &api.Error{Status: http.StatusConflict, Code: "input_stopped",
			Detail: fmt.Sprintf("an operator has stopped input %s of graph %s; %s; the start command lets it go on",
				input, graph, TakenBefore(taken))}
	case errors.Is(err, pump.ErrElsewhere) && closing:
		return api.ReasonOf(api.CodeGraphStopping,
			fmt.Sprintf("graph %s is being stopped with this daemon", graph)), nil
	case errors.Is(err, pump.ErrElsewhere):
		return api.ReasonOf(api.CodeOwnerMoved, fmt.Sprintf(
			"graph %s has just moved to another daemon, or is about to", graph)), nil
	case errors.Is(err, pump.ErrAnew):
		return nil, &api.Error{Status: http.StatusServiceUnavailable, Code: api.CodeGraphRestarted,
			Detail: fmt.Sprintf("graph %s was taken anew from what was durable while the push waited; send it again "+
				"with the same Idempotency-Key: what is missing is taken", graph)}
	case isAway:
		return api.ReasonOf(away.Code, away.Detail), nil
	case isRefused:
		return nil, refused
	}
	return nil, nil
}
