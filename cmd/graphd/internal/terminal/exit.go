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

// Usage is a mistake in the command line of cmd, with where to read on.
func Usage(cmd *cobra.Command, err error) error {
	return Exit(ExitUsage, fmt.Errorf("%w\nsee %s --help", err, cmd.CommandPath()))
}

// Positional is a check of positional arguments whose error is one of usage.
func Positional(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return Usage(cmd, fmt.Errorf("%w; usage: %s", err, cmd.UseLine()))
		}
		return nil
	}
}
