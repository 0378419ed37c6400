package param

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/wire"
)

// Row is the key of a row as JSON, "" when none is asked for.
func Row(r *http.Request) (string, error) {
	values, err := Query(r, "row")
	if err != nil {
		return "", err
	}
	key, err := Key(url.Values{"key": values["row"]})
	if err == nil && key == "" && values.Has("row") {
		err = wire.Refuse(http.StatusBadRequest, api.CodeInvalidParameter,
			"a table has no row of this key; write a text as it is, the empty one as \"\", another key as JSON")
	}
	return key, err
}

// OfKey is ?key= or ?shard= of what one key or one shard has.
func OfKey(r *http.Request) (key string, shard *int, err error) {
	values, err := Query(r, "key", "shard")
	if err == nil {
		key, err = Key(values)
	}
	if err == nil {
		shard, err = Shard(values)
	}
	return key, shard, err
}

// List is ?limit=&before=, which has at most so many bytes, and whatever else the list has.
func List(r *http.Request, most int, also ...string) (api.Query, error) {
	values, err := Query(r, append(also, "limit", "before")...)
	if err != nil {
		return api.Query{}, err
	}
	key, err := Key(values)
	if err != nil {
		return api.Query{}, err
	}
	shard, err := Shard(values)
	if err != nil {
		return api.Query{}, err
	}
	q := api.Query{Before: values.Get("before"), Key: key, Shard: shard}
	if len(q.Before) > most {
		return q, wire.Refuse(http.StatusBadRequest, api.CodeInvalidParameter,
			fmt.Sprintf("before can have %d bytes at most", most))
	}
	limit, err := Number(values, "limit", 1, 1000)
	if err != nil {
		return q, err
	}
	q.Limit = int(limit)
	return q, nil
}
