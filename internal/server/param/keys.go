package param

import (
	"fmt"
	"net/http"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/wire"
)

// MaxKeyCursor bounds a cursor over keys, which holds one: as JSON, where one letter may be six, and that for URLs.
const MaxKeyCursor = 12 << 10

// Keys is the query of …/keys: ?search=, ?sort=, ?limit= and ?before=.
func Keys(r *http.Request) (q api.KeyQuery, err error) {
	values, err := Query(r, "search", "sort", "limit", "before")
	if err != nil {
		return q, err
	}
	q.Search, q.Sort, q.Before = values.Get("search"), values.Get("sort"), values.Get("before")
	for name, most := range map[string]int{"search": MaxCursor, "before": MaxKeyCursor} {
		if len(values.Get(name)) > most {
			return q, wire.Refuse(http.StatusBadRequest, api.CodeInvalidParameter,
				fmt.Sprintf("%s can have %d bytes at most", name, most))
		}
	}
	limit, err := Number(values, "limit", 1, 1000)
	q.Limit = int(limit)
	return q, err
}
