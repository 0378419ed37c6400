// Package trial is what callers send of a declaration: its text with the vars that they have set, and tests, which run
// within bounds and touch no graph. Begin with [Declaration] and [Bench.Test].
package trial

import (
	"errors"
	"net/http"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/spec/assembly"
)

// Declaration is one as it was sent.
type Declaration struct {
	Text []byte
	// Set are vars that get another value, by name.
	Set map[string]string
	// Place has mistakes name where they stand in what was sent; nil where that is the text.
	Place func(api.Diagnostics) api.Diagnostics
}

// Whole is the text with the vars that are set; from then on it is d's.
func (d *Declaration) Whole() ([]byte, error) {
	if len(d.Set) == 0 {
		return d.Text, nil
	}
	set, err := assembly.Make(d.Text, assembly.Options{Set: d.Set})
	if err != nil {
		return nil, &api.Error{Status: http.StatusBadRequest, Code: api.CodeInvalidParameter,
			Detail: "set: " + err.Error()}
	}
	d.Text, d.Place, d.Set = set.Text, set.Place, nil
	return d.Text, nil
}

// Placed has the mistakes in an error name where they stand in what was sent.
func Placed(err error, place func(api.Diagnostics) api.Diagnostics) error {
	if refused, ok := errors.AsType[*api.Error](err); ok && place != nil {
		refused.Diagnostics = place(refused.Diagnostics)
	}
	return err
}

// Misnamed refuses a document that declares another graph than it was sent for.
func Misnamed(declares, names string) error {
	if declares == names {
		return nil
	}
	return refuse(http.StatusUnprocessableEntity, api.CodeNameMismatch,
		"the document declares graph %q but the address names %q; make them equal", declares, names)
}
