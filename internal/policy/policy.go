// Package policy says what a declaration may reach outside of itself: which kinds of parts it may
// have, which files, which variables of the environment, which secrets.
//
// A declaration is code: it reads files, reads the environment, dials and writes. Who may start the
// daemon may have it do all that; who can merely send it a declaration may not. So there are two
// origins. What the operator has put into a file of the daemon's own folder of declarations, or names
// on the command line, is the operator's: a nil *Policy, to which nothing is denied. What
// came over the network has a [Policy], which denies what it does not list.
//
// It is asked twice: when a declaration is read, so that its author is told what is denied and which
// setting would allow it ([Policy.MayReach], [Policy.MayUse], [Policy.Resolve]), and again where
// the thing is opened ([Policy.Open], [Policy.Append], …), for a path may mean another file by then.
//
// Whoever asks, files are opened without waiting, so that a pipe that nobody writes to keeps nothing
// up, and what is read as a whole is read up to a bound.
//
// # Concurrency
//
// A Policy does not change once it is in use, and is safe for concurrent use.
package policy

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Policy says what declarations may reach that came over the network. The zero Policy allows all kinds and
// nothing beside; a nil one is the operator's, and denies nothing.
type Policy struct {
	// Tenant is whose settings those are that would allow what is denied; "" is the daemon itself.
	Tenant string
	// Kinds are those that may be used, as source.file or sink.kafka; nil means all.
	Kinds []string
	// Folders are those below which files may be read and written.
	Folders []string
	// Closed are folders and files that stay closed although they are below one of Folders. Of two that
	// a path is below, the nearer one counts.
	Closed []string
	// Secrets is the folder below which ${file:…} reads, "" for none.
	Secrets string
	// Variable reads the environment; nil is that of the process.
	Variable func(name string) (value string, ok bool)
}

// DeniedError is what the policy does not allow, and which setting would.
type DeniedError struct{ What, Advice string }

func (e *DeniedError) Error() string { return e.What + "; " + e.Advice }

// Denied marks it for those who do not know this package, with its whole text.
func (e *DeniedError) Denied() string { return e.Error() }

// orTrusted is the way that is always open.
const orTrusted = ", or to put the declaration into the folder of --graphs"

// Validate reports what is wrong with a policy's kinds; known are those that there are.
func (p *Policy) Validate(known []string) error {
	var errs []error
	for _, name := range p.Kinds {
		if !slices.Contains(known, name) {
			errs = append(errs, fmt.Errorf("cannot allow %q: there are the kinds %s", name, strings.Join(known, ", ")))
		}
	}
	return errors.Join(errs...)
}

// MayUse says whether a kind may be used, as source.file.
func (p *Policy) MayUse(kind string) error {
	if p == nil || p.Kinds == nil || slices.Contains(p.Kinds, kind) {
		return nil
	}
	return &DeniedError{
		fmt.Sprintf("%s is not among the kinds that declarations from the network may use here (%s)",
			strings.Replace(kind, ".", " ", 1), orNone(strings.Join(p.Kinds, ", "))),
		p.setting("--allow-kinds", kind),
	}
}

// setting tells of the setting that would allow something: a flag of the daemon, or what the tenant's section has.
func (p *Policy) setting(flag, value string) string {
	if p.Tenant == "" {
		return "ask the operator of the daemon to start it with " + strings.TrimSpace(flag+" "+value) + orTrusted
	}
	key := strings.ReplaceAll(strings.TrimPrefix(flag, "--"), "-", "_")
	if value != "" {
		key += " (" + value + ")"
	}
	return fmt.Sprintf("ask the operator of the daemon to set %s of the tenant %s in its configuration", key, p.Tenant)
}

func orNone(s string) string {
	if s == "" {
		return "there is none"
	}
	return s
}

// Prefix is what the names of those variables of the environment begin with that are meant for
// declarations from the network.
const Prefix = "GRAPHD_VAR_"

// maxSecret bounds the file of a secret.
const maxSecret = 64 << 10

// Resolve reads what a reference of a declaration stands for: NAME is a variable of the
// environment, file:PATH a file. ok is false when it is not there.
func (p *Policy) Resolve(ref string) (value string, ok bool, err error) {
	if path, is := strings.CutPrefix(ref, "file:"); is && path != "" {
		data, err := p.secret(path)
		if errors.Is(err, os.ErrNotExist) {
			return "", false, nil
		}
		if err != nil {
			return "", false, err
		}
		return strings.TrimRight(string(data), "\r\n"), true, nil // the newline that editors and echo leave
	}
	if p == nil {
		value, ok = os.LookupEnv(ref)
		return value, ok, nil
	}
	if !strings.HasPrefix(ref, Prefix) {
		advice := fmt.Sprintf("write it as %s%s and ask the operator of the daemon to set that%s", Prefix,
			strings.ToUpper(ref), orTrusted)
		if p.Tenant != "" {
			advice = "write it so, and " + p.setting("--variables", Prefix+strings.ToUpper(ref))
		}
		return "", false, &DeniedError{
			fmt.Sprintf("a declaration from the network reads only the variables that begin with %s", Prefix), advice}
	}
	if p.Variable != nil {
		value, ok = p.Variable(ref)
	} else {
		value, ok = os.LookupEnv(ref)
	}
	return value, ok, nil
}
