package library

import (
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression/pattern"
	"github.com/graphd/graphd/internal/expression/rules"
)

const (
	// Captures is the name of the function that finds the groups of a pattern.
	Captures = "captures"
	// MaxGroups bounds the groups of its pattern.
	MaxGroups = 100
)

// capturesOf compiles a constant pattern once.
func capturesOf(constants []value) call {
	if written, ok := constants[1].AsString(); ok {
		if re, err := pattern.Compile(written); err == nil {
			return func(e *env, at site, args []value) value { return groups(e, at, re, args[0]) }
		}
	}
	return captures
}

func captures(e *env, at site, args []value) value {
	re, err := pattern.Compile(str(args[1]))
	if err != nil {
		return e.Fail(at, rules.CodeInvalidArgument, "%s", err)
	}
	return groups(e, at, re, args[0])
}

// groups is the first match in a text and its groups; null when there is none.
func groups(e *env, at site, re *pattern.Pattern, text value) value {
	s, ok := text.AsString() // null holds nothing
	if !e.Charge(at, re.Work(len(s))) {
		return value{}
	}
	places := re.FindStringSubmatchIndex(s)
	if !ok || places == nil {
		return boundary.Null()
	}
	found := make([]value, len(places)/2)
	for i := range found {
		found[i] = boundary.Null()
		if from := places[2*i]; from >= 0 {
			found[i] = boundary.String(s[from:places[2*i+1]])
		}
	}
	return e.List(at, found)
}
