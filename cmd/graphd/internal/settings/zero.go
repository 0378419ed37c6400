package settings

import (
	"errors"
	"strings"

	"github.com/spf13/pflag"
)

// isNought says that a flag was given a 0 that has no meaning of its own: it would be as if it had not been given, and
// who writes it may mean "none" as well as "no bound".
func isNought(f *pflag.Flag) bool {
	switch f.Value.Type() {
	case "int", "int64":
		return f.Value.String() == "0" && f.Name != "capacity" // which stands by
	case "duration":
		return f.Value.String() == "0s"
	}
	return false
}

// nought says what to write instead.
func nought(f *pflag.Flag) string {
	_, meant, _ := strings.Cut(f.Usage, " (default ")
	switch meant = strings.TrimSuffix(meant, ")"); {
	case meant == "no bound":
		meant = "for no bound"
	case meant == "":
		meant = "for its default, " + f.DefValue
	default:
		meant = "for its default, " + meant
	}
	return Key(f.Name) + " must be above 0; leave it out " + meant
}

// coded is a mistake with a code other than that of form.
type coded struct {
	error
	code string
}

// codeOf is the code of what a flag answers to a value that it does not take.
func codeOf(err error) string {
	if c, ok := errors.AsType[*coded](err); ok {
		return c.code
	}
	return CodeForm
}
