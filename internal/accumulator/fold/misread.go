package fold

import (
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/expression"
)

// Misread says in words what is wrong with what a join goes by when it reads a name as if that were in scope, as others
// or the input's own are elsewhere, and no such field is known of what is handed over: event of event.id. It is "" when
// nothing is.
func Misread(x *expression.Program, own string, names []expression.Name, of expression.Type) string {
	for _, r := range x.Reads() {
		name := names[r.Name].Name
		if len(r.Path) == 0 || slices.Contains(of.Fields(), name) ||
			!slices.Contains([]string{"event", "meta", "vars", own}, name) {
			continue
		}
		return "a join reads the fields of what its sides hand over by their bare names, and there is no " + name +
			": write " + strings.ReplaceAll(strings.TrimSpace(x.Text()), name+".", "") + " (where events do have a " +
			"field " + name + ", say so in schema or emit)"
	}
	return ""
}
