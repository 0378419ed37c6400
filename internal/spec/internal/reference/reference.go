// Package reference expands ${NAME}, ${NAME:-default} and ${file:/path} in texts.
package reference

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// The codes of errors.
const (
	CodeBad      = "bad_reference"
	CodeUnset    = "unset_variable"
	CodeFailed   = "reference_failed"
	CodeDenied   = "denied"
	CodeTooLarge = "too_large"
)

// Error is a reference that could not be expanded. Its text never holds what a
// reference resolves to.
type Error struct{ Code, Text string }

func (e *Error) Error() string { return e.Text }

// Expander expands the references of one document. The zero Expander knows none of
// them. It is used by one goroutine.
type Expander struct {
	// Lookup resolves "NAME" or "file:/path"; ok is false when it is not set.
	Lookup func(name string) (value string, ok bool, err error)
	// Budget is how many bytes references may still expand to: a long secret referred
	// to from every line must not exhaust the memory.
	Budget int

	known map[string]resolution
}

// resolution is what a reference resolved to; each is asked for once, so that all
// places see the same.
type resolution struct {
	text string
	ok   bool
	err  error
}

// Expand resolves the references in raw. found tells whether there are any; $${
// stands for ${ and is none. An error is an *Error.
func (x *Expander) Expand(raw string) (text string, found bool, err error) {
	if !strings.Contains(raw, "${") {
		return raw, false, nil
	}
	var b strings.Builder
	rest := raw
	for {
		i := strings.Index(rest, "${")
		if i < 0 {
			b.WriteString(rest)
			return b.String(), found, nil
		}
		if i > 0 && rest[i-1] == '$' {
			b.WriteString(rest[:i-1] + "${")
			rest = rest[i+2:]
			continue
		}
		b.WriteString(rest[:i])
		inner, after, closed := strings.Cut(rest[i+2:], "}")
		if !closed {
			return "", true, &Error{CodeBad, "a ${ is not closed; " + forms}
		}
		part, err := x.resolve(inner)
		if err != nil {
			return "", true, err
		}
		if x.Budget -= len(part); x.Budget < 0 {
			return "", true, &Error{
				CodeTooLarge, "the references of the declaration expand to too much; shorten what they stand for",
			}
		}
		b.WriteString(part)
		found = true
		rest = after
	}
}

const forms = "write ${NAME}, ${NAME:-default} or ${file:/path}, or $${ for the two characters"

var validName = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*|file:[^\s:][^:]*)$`)

// SecretPrefix is what the names of variables begin with that hold secrets.
const SecretPrefix = "GRAPHD_SECRET_"

// Blank is a raw text with its secret references replaced: files, and variables that are named as secrets.
func Blank(raw, by string) string {
	var b strings.Builder
	for rest := raw; ; {
		i := strings.Index(rest, "${")
		if i < 0 {
			return b.String() + rest
		}
		inner, after, closed := strings.Cut(rest[i+2:], "}")
		name, _, _ := strings.Cut(inner, ":-")
		if i > 0 && rest[i-1] == '$' || !closed {
			b.WriteString(rest[:i+2])
			rest = rest[i+2:]
			continue
		}
		if strings.HasPrefix(name, "file:") || strings.HasPrefix(name, SecretPrefix) {
			b.WriteString(rest[:i] + by)
		} else {
			b.WriteString(rest[:i] + "${" + inner + "}")
		}
		rest = after
	}
}

// resolve resolves what stands between ${ and }. As in a shell, the default also
// replaces what is set but empty.
func (x *Expander) resolve(inner string) (string, error) {
	name, fallback, hasDefault := strings.Cut(inner, ":-")
	shown := shorten(name)
	if !validName.MatchString(name) {
		return "", &Error{CodeBad, fmt.Sprintf("%q is no reference; %s", "${"+shorten(inner)+"}", forms)}
	}
	r := x.lookup(name)
	switch {
	case r.err != nil:
		if refused, ok := errors.AsType[denied](r.err); ok {
			return "", &Error{CodeDenied, fmt.Sprintf("%q is denied: %s", "${"+shown+"}", refused.Denied())}
		}
		return "", &Error{CodeFailed, fmt.Sprintf("%q cannot be read: %s", "${"+shown+"}", cause(r.err))}
	case hasDefault && (!r.ok || r.text == ""):
		return fallback, nil
	case !r.ok && strings.HasPrefix(name, "file:"):
		return "", &Error{
			CodeUnset, fmt.Sprintf("there is no file %q; create it or give a default with ${%s:-…}",
				shown[len("file:"):], shown),
		}
	case !r.ok:
		return "", &Error{
			CodeUnset, fmt.Sprintf("%s is not set; set it in the environment or give a default with ${%s:-…}", shown,
				shown),
		}
	}
	return r.text, nil
}

func (x *Expander) lookup(name string) resolution {
	if r, ok := x.known[name]; ok {
		return r
	}
	var r resolution
	if x.Lookup != nil {
		r.text, r.ok, r.err = x.Lookup(name)
	}
	if x.known == nil {
		x.known = make(map[string]resolution)
	}
	x.known[name] = r
	return r
}

// denied is an error that says what is not allowed, and how it would be.
type denied interface {
	error
	Denied() string
}

// cause is the innermost reason, on one line: what wraps it only repeats the name.
func cause(err error) string {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return shorten(strings.Join(strings.Fields(err.Error()), " "))
}

// shorten cuts a text to a length that can be shown.
func shorten(s string) string {
	n := 100
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
