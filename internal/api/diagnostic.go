package api

import (
	"fmt"
	"strings"
)

// Diagnostic is one mistake in a declaration.
type Diagnostic struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Path    string `json:"path"`
	Code    string `json:"code"` // stable, snake_case
	Text    string `json:"text"` // what is wrong and what to do, one line
	Suggest string `json:"suggest,omitempty"`
}

// String is "file:line:column: code: text", the form editors understand.
func (d Diagnostic) String() string {
	file := d.File
	if file == "" {
		file = "-"
	}
	s := fmt.Sprintf("%s:%d:%d: %s: %s", file, d.Line, d.Column, d.Code, d.Text)
	if d.Suggest != "" {
		s += " (did you mean " + d.Suggest + "?)"
	}
	return s
}

// Diagnostics is a declaration's mistakes in the order of the document. It is
// an error when it is not empty; use [Diagnostics.Err] to turn it into one.
type Diagnostics []Diagnostic

// Error joins the diagnostics, one a line.
func (ds Diagnostics) Error() string {
	lines := make([]string, len(ds))
	for i, d := range ds {
		lines[i] = d.String()
	}
	return strings.Join(lines, "\n")
}

// Err is nil when there are none.
func (ds Diagnostics) Err() error {
	if len(ds) == 0 {
		return nil
	}
	return ds
}
