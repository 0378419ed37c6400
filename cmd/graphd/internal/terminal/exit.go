package terminal

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// The exit codes are a promise to scripts.
const (
	ExitOK         = 0
	ExitFailed     = 1
	ExitUsage      = 2
	ExitNotFound   = 3
	ExitConflict   = 4
	ExitDenied     = 5
	ExitDependency = 69 // the daemon, or something it needs, is not available
	ExitDeadline   = 75 // too late; trying again may help
	ExitFormat     = 78 // a declaration, configuration or data is not in the form it must have

	ExitInterrupted = 130 // a signal ended what had an end of its own
)

// ErrSaid ends a command that failed and has said so already.
var ErrSaid = errors.New("")

// ExitError is an error with the code to exit with.
type ExitError struct {
	Code int
	Err  error
	// Word is the error's own code, "" for that of its kind; Mistakes is a list for people and
	// programs. Both are of use where errors are printed as data.
	Word     string
	Mistakes any
}

func (e *ExitError) Error() string { return e.Err.Error() }

// Unwrap is the error itself.
func (e *ExitError) Unwrap() error { return e.Err }

// Exit gives err the code to exit with.
func Exit(code int, err error) error { return &ExitError{Code: code, Err: err} }

// Report says err to the person at the terminal and answers with the code to exit with.
func (t *Terminal) Report(err error) int {
	if err == nil {
		return ExitOK
	}
	if t.Structured() && err.Error() != "" {
		return t.reportData(err)
	}
	before := "graphd: "
	for line := range strings.Lines(err.Error()) {
		t.Say("%s%s", before, strings.TrimRight(line, "\n"))
		before = ""
	}
	if e, ok := errors.AsType[*ExitError](err); ok {
		return e.Code
	}
	return ExitFailed
}

// Structured reports whether errors are to be printed as data.
func (t *Terminal) Structured() bool { return t.Format == FormatJSON || t.Format == FormatYAML }

// failure is an error as data.
type failure struct {
	Code   string `json:"code"`
	Detail string `json:"detail"`
	Exit   int    `json:"exit"`
	Errors any    `json:"errors,omitempty"`
}

func (t *Terminal) reportData(err error) int {
	f := failure{Detail: err.Error(), Exit: ExitFailed}
	if e, ok := errors.AsType[*ExitError](err); ok {
		f.Code, f.Exit, f.Errors = e.Word, e.Code, e.Mistakes
	}
	f.Code = Or(f.Code, kindOfExit(f.Exit))
	text, encodeErr := Encode(f, t.Format)
	if encodeErr != nil {
		text = []byte(f.Detail + "\n")
	}
	if t.Format != FormatJSON && t.IsScreen(t.Err) {
		text = cleanLines(text)
	}
	_, _ = t.Err.Write(text) // as with Say
	return f.Exit
}

// kindOfExit is an exit code in a word.
func kindOfExit(code int) string {
	switch code {
	case ExitUsage:
		return "usage"
	case ExitNotFound:
		return "not_found"
	case ExitConflict:
		return "conflict"
	case ExitDenied:
		return "denied"
	case ExitDependency:
		return "dependency"
	case ExitDeadline:
		return "deadline"
	case ExitFormat:
		return "format"
	case ExitInterrupted:
		return "interrupted"
	}
	return "failed"
}

// FormatOf is the format that a command line asks for, for errors that come before its flags are
// read.
func FormatOf(args []string) string {
	for i, arg := range args {
		for _, name := range []string{"-o", "--output", "--format"} {
			value, ok := strings.CutPrefix(arg, name)
			if value == "" && ok && i+1 < len(args) {
				value = args[i+1]
			}
			if value = strings.TrimPrefix(value, "="); ok && (value == FormatJSON || value == FormatYAML) {
				return value
			}
		}
	}
	return FormatTable
}

// Usage is a mistake in the command line of cmd, with where to read on.
func Usage(cmd *cobra.Command, err error) error {
	return Exit(ExitUsage, fmt.Errorf("%w\nsee %s --help", err, cmd.CommandPath()))
}

// Positional is a check of positional arguments whose error is one of usage. Where there are too few or too many, it
// names the first that is missing or too many.
func Positional(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		if err == nil {
			return nil
		}
		if strings.Contains(err.Error(), " arg(s), ") { // cobra's own words for it
			err = miscounted(cmd.Use, args)
		}
		return Usage(cmd, fmt.Errorf("%w; usage: %s", err, cmd.UseLine()))
	}
}

// miscounted says which argument is missing or too many of a command that is used so: "get [GRAPH]".
func miscounted(use string, args []string) error {
	var most int
	for _, word := range strings.Fields(use)[1:] {
		if strings.HasPrefix(word, "--") {
			break
		}
		if most++; !strings.HasPrefix(word, "[") && most > len(args) {
			return fmt.Errorf("%s is missing", word)
		}
	}
	return fmt.Errorf("%q is one argument too many", args[min(most, len(args)-1)])
}
