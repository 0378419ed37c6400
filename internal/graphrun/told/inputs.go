package told

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/spec"
)

// FindInput finds an input of a graph by its name, or refuses with 404.
func FindInput(g *spec.Graph, name string) (int, error) {
	for i := range g.Accumulators {
		if g.Accumulators[i].Name == name {
			return i, nil
		}
	}
	return 0, &api.Error{Status: http.StatusNotFound, Code: "accumulator_not_found",
		Detail: fmt.Sprintf("graph %s has no accumulator %q", g.Name, name),
		Extra:  map[string]any{"declared": inputNames(g)}}
}

func inputNames(g *spec.Graph) []string {
	names := make([]string, len(g.Accumulators))
	for i := range g.Accumulators {
		names[i] = g.Accumulators[i].Name
	}
	return names
}

// Injected checks the names and types of what a graph is to be fired with, and lays its values out by input. A value
// has at most so many bytes.
func Injected(u *compile.Unit, cache map[string]json.RawMessage, maxBytes int) ([]boundary.Value, error) {
	if len(cache) == 0 {
		return nil, &api.Error{
			Status: http.StatusUnprocessableEntity, Code: "empty_cache",
			Detail: "cache names no input; give at least one value",
			Extra:  map[string]any{"declared": inputNames(u.Spec)},
		}
	}
	values := make([]boundary.Value, len(u.Programs))
	for _, name := range slices.Sorted(maps.Keys(cache)) {
		i, err := FindInput(u.Spec, name)
		if err != nil {
			return nil, &api.Error{Status: http.StatusUnprocessableEntity, Code: "unknown_input",
				Detail: fmt.Sprintf("the graph has no input %q", name), Extra: map[string]any{
					"declared": inputNames(u.Spec),
				}}
		}
		v, err := boundary.NewDecoder(nil, boundary.Limits{MaxBytes: maxBytes}).Decode(cache[name])
		if err == nil {
			err = u.InputType(i).Accepts(v)
		}
		if err != nil {
			return nil, &api.Error{
				Status: http.StatusUnprocessableEntity, Code: "bad_value",
				Detail: fmt.Sprintf("the value for %q does not fit: %v", name, err),
			}
		}
		values[i] = v
	}
	return values, nil
}
