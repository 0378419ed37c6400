// Package pattern compiles regular expressions whose cost is known: how large they are before they are compiled, and
// how much work a text of some length can be before it is looked at.
package pattern

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

// MaxSteps bounds a pattern, in instructions: a repetition of repetitions writes millions in a few bytes. Twenty
// thousand compile in a hundredth of a second.
const MaxSteps = 20_000

// Pattern is a compiled pattern. It is immutable.
type Pattern struct {
	*regexp.Regexp
	steps int
}

// Compile compiles a pattern, which must not be too large.
func Compile(text string) (*Pattern, error) {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	n := steps(tree)
	if n > MaxSteps {
		return nil, fmt.Errorf("the pattern is too large: its repetitions make more than %d steps of it", MaxSteps)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	return &Pattern{re, n}, nil
}

// steps is about how many instructions a pattern is, at most a little more than MaxSteps.
func steps(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)/2
	for _, sub := range re.Sub {
		if n += steps(sub); n > MaxSteps {
			return n
		}
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return n
}

// Work is what a match in a text of n bytes may take at most, in the units of an evaluation's work: each step for each
// byte, which Go's patterns never exceed.
func (p *Pattern) Work(n int) int {
	const stepsPerJob = 16
	return (p.steps + 1) * n / stepsPerJob
}

// Steps is how large the pattern is, in instructions.
func (p *Pattern) Steps() int { return p.steps }

// Made is the work of having compiled it.
func (p *Pattern) Made() int {
	const jobsPerStep = 16
	return 64 + p.steps*jobsPerStep
}
