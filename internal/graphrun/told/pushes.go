package told

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/quota"
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
// other members give: why the rest is to be sent again, or what it is refused with. closing says that the daemon is.
func Turned(err error, graph, input string, taken int, closing bool) (why *api.Reason, refusal *api.Error) {
	silent := unanswered(err)
	refused, isRefused := errors.AsType[*api.Error](err) // of another member, or of a key
	switch {
	case silent != nil && silent.Code == api.CodeOwnerUnreachable: // what others say is not true of its part
		return api.ReasonOf(silent.Code, silent.Detail), nil
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
	case silent != nil:
		return api.ReasonOf(silent.Code, silent.Detail), nil
	case isRefused:
		return nil, refused
	}
	return nil, nil
}

// unanswered is what a member is told of that has not answered, or has moved: of the part of one that has not answered
// it is not known what was taken, whatever others have refused theirs with, so that it goes before one that has moved.
// nil where there is none.
func unanswered(err error) (found *pump.AwayError) {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range several.Unwrap() {
			if away := unanswered(one); away != nil && (found == nil || away.Code == api.CodeOwnerUnreachable) {
				found = away
			}
		}
		return found
	}
	if away, ok := errors.AsType[*pump.AwayError](err); ok && away.Refused == nil {
		return away
	}
	return nil
}

// OverQuota is the answer to a push that the tenant's quota leaves no room for: none of it was taken.
func OverQuota(err error) (api.PushResult, error) {
	over, ok := errors.AsType[*quota.ExceededError](err)
	if !ok {
		return api.PushResult{Rejected: []api.Rejection{}, Full: true}, nil // the caller has gone
	}
	return api.PushResult{Rejected: []api.Rejection{}, Full: true, After: over.After,
		Why: api.ReasonOf(over.Code(), over.Error())}, nil
}
