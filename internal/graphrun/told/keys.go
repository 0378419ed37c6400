package told

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/boundary/partitioner"
	"github.com/graphd/graphd/internal/reactor"
)

// Key reads the key of a request to a graph whose keys have so many parts, which is JSON or "": a
// keyed graph needs one where must is set, and any other has none.
func Key(parts int, text string, must bool) (boundary.Key, error) {
	given := text != "" && text != "null"
	switch {
	case parts == 0 && given:
		return "", &api.Error{
			Status: http.StatusUnprocessableEntity, Code: "not_keyed", Detail: "this graph has no keys; leave key out",
		}
	case parts == 0 || !given && !must:
		return "", nil
	case !given:
		return "", &api.Error{
			Status: http.StatusUnprocessableEntity, Code: "key_required",
			Detail: "this graph has a state for each key; say which with key, or --key on the command line",
		}
	}
	v, err := boundary.NewDecoder(nil, boundary.Limits{MaxBytes: 2 * boundary.MaxKeyBytes}).Decode([]byte(text))
	if err != nil {
		return "", badKey(err)
	}
	values := []boundary.Value{v}
	if parts > 1 {
		values = values[:0]
		for item := range v.Items() {
			values = append(values, item)
		}
		if len(values) != parts {
			return "", badKey(fmt.Errorf("a key of this graph is a list of %d values", parts))
		}
	}
	key, err := boundary.AppendKey(nil, values)
	if err != nil {
		return "", badKey(err)
	}
	return boundary.Key(key), nil
}

func badKey(err error) error {
	return &api.Error{
		Status: http.StatusUnprocessableEntity, Code: "bad_key", Detail: "the key cannot be used: " + err.Error(),
	}
}

// Homes are the shards, of so many to which keys are dealt by a function, that a key can be meant to be in: its own,
// and that of the same as a text, see [Or].
func Homes(key boundary.Key, of int, by string) (at, asText int) {
	if of == 1 || key == "" {
		return 0, 0
	}
	f, _ := partitioner.Named(by)
	if at = f.Shard([]byte(key), of); key[0] == '"' || key[0] == '[' {
		return at, at
	}
	return at, f.Shard([]byte(boundary.KeyOf(boundary.String(string(key)))), of)
}

// Or is the key as a text instead, when that is the one that the core has: on the command
// line and in a URL nothing but quotes tells 7 from "7".
func Or(c *reactor.Core, key boundary.Key) boundary.Key {
	if key == "" || key[0] == '"' || key[0] == '[' || c.HasKey(key) {
		return key
	}
	if text := boundary.KeyOf(boundary.String(string(key))); c.HasKey(text) {
		return text
	}
	return key
}

func errNoKey(key string) error {
	return &api.Error{Status: http.StatusNotFound, Code: "key_not_found",
		Detail: "the graph has nothing for this key: nothing arrived for it yet, or it was evicted",
		Extra:  map[string]any{"key": json.RawMessage(key)}}
}

// LookUp says which key it was that the graph does not have.
func LookUp(err error, key boundary.Key) error {
	if errors.Is(err, reactor.ErrNoKey) {
		return errNoKey(string(key))
	}
	return err
}
