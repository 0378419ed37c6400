package param

import (
	"fmt"
	"math"
	"net/http"

	"github.com/google/uuid"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/wire"
)

// None refuses every parameter.
func None(r *http.Request) (none struct{}, err error) {
	_, err = Query(r)
	return none, err
}

// Why is the query of …/why: ?epoch= with ?shard=, ?firing_id= or ?key=, of which one is given at most.
func Why(r *http.Request) (q api.WhyQuery, err error) {
	values, err := Query(r, "epoch", "shard", "firing_id", "key")
	if err != nil {
		return q, err
	}
	if q.Key, err = Key(values); err != nil {
		return q, err
	}
	if q.Shard, err = Shard(values); err != nil {
		return q, err
	}
	given := 0
	for _, name := range []string{"epoch", "firing_id", "key"} {
		if values.Get(name) != "" {
			given++
		}
	}
	if given > 1 {
		return q, wire.Refuse(http.StatusBadRequest, api.CodeInvalidParameter,
			"give one of epoch, firing_id and key, or none for the newest epoch")
	}
	if values.Has("epoch") {
		epoch, err := Number(values, "epoch", 0, math.MaxInt64)
		if err != nil {
			return q, err
		}
		q.Epoch = &epoch
	}
	if id := values.Get("firing_id"); id != "" {
		known, err := uuid.Parse(id)
		if err != nil {
			return q, wire.Refuse(http.StatusBadRequest, api.CodeInvalidParameter, fmt.Sprintf("firing_id %q is "+
				"not of the form 6ba7b810-9dad-51d1-80b4-00c04fd430c8", wire.Clip(id)))
		}
		q.FiringID = known.String()
	}
	return q, nil
}

// WhyNot is the query of …/why-not: ?key=, ?output= and ?since=.
func WhyNot(r *http.Request) (q api.WhyNotQuery, err error) {
	values, err := Query(r, "key", "output", "since")
	if err != nil {
		return q, err
	}
	if q.Key, err = Key(values); err != nil {
		return q, err
	}
	q.Output, q.Since = values.Get("output"), values.Get("since")
	if q.Output != "" && !Name(q.Output) {
		return q, wire.Refuse(http.StatusBadRequest, api.CodeInvalidName, fmt.Sprintf("output %q is no name: it is %s",
			wire.Clip(q.Output), NameForm))
	}
	if len(q.Since) > MaxCursor {
		return q, wire.Refuse(http.StatusBadRequest, api.CodeInvalidParameter,
			"since is a time (2026-11-22T10:00:00Z) or a duration back from now (90m, 7d)")
	}
	return q, nil
}
