package wire

import (
	"errors"
	"net/http"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
)

// StoreAway is the refusal of what the store was needed for, where err says that it is away, or not this release's to
// write any more; nil for every other error. Where the store is stands in the log alone.
func StoreAway(err error) *api.Error {
	switch {
	case errors.Is(err, checkpoint.ErrNewerSchema):
		return Refuse(http.StatusServiceUnavailable, "store_newer", "a newer release has raised the store beyond what "+
			"this daemon reads: ask one of that release, or start it in this one's place")
	case checkpoint.Ailment(err) != "":
		return Refuse(http.StatusServiceUnavailable, "store_unreachable",
			"the daemon's store does not answer; try again, and look at the store or at the daemon's log")
	}
	return nil
}
