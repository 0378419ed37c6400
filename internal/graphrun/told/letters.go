package told

import (
	"errors"
	"net/http"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/live"
)

// NotReplayable refuses to replay a letter.
func NotReplayable(why string) error {
	return &api.Error{Status: http.StatusConflict, Code: "not_replayable",
		Detail: why + "; discard it when it has been dealt with"}
}

// NotResent says why a value of a dead letter was not sent again; nil when it was.
func NotResent(why error) error {
	switch {
	case why == nil:
		return nil
	case errors.Is(why, live.ErrReplaying):
		return &api.Error{Status: http.StatusConflict, Code: "replay_under_way",
			Detail: "the letter is replayed already, and the store has not said so yet; look again in a moment"}
	case errors.Is(why, live.ErrNoRoom):
		return &api.Error{Status: http.StatusTooManyRequests, Code: "queue_full",
			Detail: "the output has as much waiting as it may: see why its sink does not take it"}
	}
	return NotReplayable(why.Error())
}
