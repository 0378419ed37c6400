package decode

import (
	"slices"
	"strings"
)

// Unsure are the names in some sections of a declaration of whose values nothing is known, since what says what they
// are has a mistake: any but one in the fields apart, on which no value's type rests. Who reads such a value has made
// no mistake that could be told.
func Unsure(ds Diagnostics, sections, apart []string) map[string]bool {
	var names map[string]bool
	for i := range ds {
		path := strings.Split(ds[i].Path, ".")
		if len(path) < 2 || !slices.Contains(sections, path[0]) || len(path) > 2 && slices.Contains(apart, path[2]) {
			continue
		}
		if names == nil {
			names = make(map[string]bool)
		}
		names[path[1]] = true
	}
	return names
}
