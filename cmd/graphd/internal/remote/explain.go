package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"

	"github.com/graphd/graphd/cmd/graphd/internal/describe"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/api"
)

// explain turns what a verb failed with into words for the person who gave it, with the
// code to exit with. A declaration's mistakes are printed here, a line each, in the form
// in which editors find the place.
func (a *Verbs) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*terminal.ExitError](err); ok {
		return err
	}
	if p, ok := errors.AsType[*api.Problem](err); ok {
		detail := terminal.Or(p.Detail, p.Title)
		if a.Structured() {
			e := &terminal.ExitError{Code: problemCode(p), Err: errors.New(detail), Word: p.Code}
			if len(p.Errors) > 0 {
				e.Mistakes = p.Errors
			} else if len(p.Shards) > 0 {
				e.Mistakes = p.Shards
			}
			return e
		}
		for _, d := range p.Errors {
			a.Say("%s", d)
		}
		for _, line := range describe.Refused(p.Shards) {
			a.Say("%s", line)
		}
		return terminal.Exit(problemCode(p), fmt.Errorf("%s (%s)", detail, p.Code))
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return terminal.Exit(terminal.ExitDeadline, fmt.Errorf("no answer from %s within %v; --timeout waits longer",
			a.server, a.timeout))
	case ctx.Err() != nil:
		return terminal.Exit(terminal.ExitFailed, errors.New("interrupted"))
	case isConnect(err):
		return terminal.Exit(terminal.ExitDependency,
			fmt.Errorf("no daemon answers at %s: %s; start one with graphd serve, or name it with --server", a.server,
				reason(err)))
	}
	return terminal.Exit(terminal.ExitFailed, err)
}

// problemCode is the exit code of a refusal.
func problemCode(p *api.Problem) int {
	if len(p.Errors) > 0 {
		return terminal.ExitFormat
	}
	switch p.Status {
	case http.StatusBadRequest:
		return terminal.ExitUsage
	case http.StatusNotFound, http.StatusGone:
		return terminal.ExitNotFound
	case http.StatusConflict, http.StatusPreconditionFailed:
		return terminal.ExitConflict
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusMisdirectedRequest:
		return terminal.ExitDenied
	case http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return terminal.ExitDeadline
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusFailedDependency:
		return terminal.ExitDependency
	}
	return terminal.ExitFailed
}

// isConnect reports whether err came from the way to the daemon.
func isConnect(err error) bool {
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return true
	}
	_, ok := errors.AsType[*net.DNSError](err)
	return ok
}

// reason is the innermost words of a connection error.
func reason(err error) string {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if o, ok := errors.AsType[*net.OpError](err); ok {
		err = o.Err
	}
	if s, ok := errors.AsType[*os.SyscallError](err); ok {
		err = s.Err
	}
	return err.Error()
}
