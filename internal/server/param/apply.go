package param

import (
	"encoding/json"
	"net/http"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/wire"
)

// Apply is what the query of an apply says: ?dry_run=, and ?set=, a JSON object of vars that get another value.
func Apply(r *http.Request) (dryRun bool, set map[string]string, err error) {
	values, err := Query(r, "dry_run", "set")
	if err != nil {
		return false, nil, err
	}
	if dryRun, err = Bool(values, "dry_run"); err != nil || !values.Has("set") {
		return dryRun, nil, err
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal([]byte(values.Get("set")), &given); err != nil {
		return false, nil, wire.Refuse(http.StatusBadRequest, api.CodeInvalidParameter,
			`set must be a JSON object of vars and their values, such as {"threshold": 0.1}`)
	}
	return dryRun, api.Vars(given), nil
}
