package told

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/live"
	"github.com/graphd/graphd/internal/reactor"
)

// Row looks a row of input i, a table, up by its key as JSON; nil without one. command runs something on
// the graph's reactor.
func Row[R any](ctx context.Context, in *reactor.Input, i int, key string,
	command func(context.Context, func(context.Context, *live.Reactor) error) (R, error),
) (*api.TableRow, error) {
	switch {
	case key == "":
		return nil, nil
	case in.Table == nil:
		return nil, &api.Error{
			Status: http.StatusUnprocessableEntity, Code: "bad_key",
			Detail: fmt.Sprintf("%s is no table, so it has no rows; leave row out", in.Name),
		}
	}
	ctx, cancel := context.WithTimeout(ctx, BusyAfter)
	defer cancel()
	var rows boundary.Rows
	if _, err := command(ctx, func(ctx context.Context, r *live.Reactor) error {
		return r.Look(ctx, func(c *reactor.Core, _ time.Time) { rows, _ = c.Table(i).AsTable() })
	}); err != nil {
		return nil, err
	}
	found := &api.TableRow{Key: json.RawMessage(key), Value: json.RawMessage("null"), Rows: rows.Len()}
	if v, ok := rows.Row(boundary.Key(key).Value()); ok {
		found.Found, found.Value = true, v.AppendJSON(nil)
	}
	return found, nil
}

// JoinRows is what two shards have of a row: at most one of them has it. Either may be nil.
func JoinRows(a, b *api.TableRow) *api.TableRow {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case b.Found:
		a, b = b, a
	}
	both := *a
	both.Rows += b.Rows
	return &both
}
