package api

import (
	"context"
	"encoding/json"
	"time"
)

// IfNone is the revision of a graph that is not there.
const IfNone = -1

// Change is how a declaration is to be applied.
type Change struct {
	IfMatch int64 // the revision that the graph must be at; 0 for any, IfNone for none
	DryRun  bool  // change nothing, but say what would
	By      Author
	// Set are vars that get another value than the document gives them, by name.
	Set map[string]string
	// Place has what is told of the document name the files that it was put together from; nil where it is as somebody
	// has written it. It may change the list.
	Place func(found Diagnostics) Diagnostics
	// Sees says which graphs the declaration may name; nil is every one.
	Sees func(graph string) bool
	// Reads says whose entries of the audit the declaration may read, "*" for those of no tenant; nil is everybody's.
	Reads func(tenant string) bool
	// Before is called when it is known what would change, before anything does; its error refuses the change.
	// It is not called where nothing would. Nil is none.
	Before func(ctx context.Context, g Ref, would *ApplyResult) error
}

// Would has Before told of what would change, if anything would.
func (c *Change) Would(ctx context.Context, g Ref, res *ApplyResult) error {
	if c.Before == nil || c.DryRun || !res.Changed && !res.Restated {
		return nil
	}
	return c.Before(ctx, g, res)
}

// Placed are mistakes in the document as its author is told them.
func (c *Change) Placed(found Diagnostics) Diagnostics {
	if c.Place == nil {
		return found
	}
	return c.Place(found)
}

// Author is who has applied a declaration, as far as it is known.
type Author struct {
	Token string `json:"token,omitempty"` // the name of the caller's token
	Agent string `json:"agent,omitempty"` // what the caller's program calls itself
	Host  string `json:"host,omitempty"`  // where the call came from
}

// Revision is a declaration as it was applied.
type Revision struct {
	Revision int64     `json:"revision"`
	At       time.Time `json:"at"`
	By       Author    `json:"by"`
	Origin   string    `json:"origin"` // "api" or "file:PATH"
	// Change is what it changed, in a word; "" where that was not recorded.
	Change string `json:"change"`
	// Current says that it is the one that counts.
	Current bool `json:"current"`
	// Declaration is the document as it was sent, comments and all; a list leaves it out.
	Declaration string `json:"declaration,omitempty"`
}

// RollbackRequest is the body of POST …/rollback.
type RollbackRequest struct {
	// Revision is the one to go back to; nil for that before the present one.
	Revision *int64 `json:"revision"`
	DryRun   bool   `json:"dry_run"`
}

// File is a file that a declaration names by a relative path.
type File struct {
	Of   string `json:"of"`   // "accumulator NAME" or "output NAME"
	Path string `json:"path"` // as declared
	File string `json:"file"` // the file that it is
}

// TestRequest is the body of POST …/test.
type TestRequest struct {
	// Declaration and Tests are the two documents, as YAML or JSON.
	Declaration string `json:"declaration"`
	Tests       string `json:"tests"`
	// Set are vars of the declaration that get another value.
	Set map[string]json.RawMessage `json:"set,omitempty"`
}

// Vars are vars that are to get another value, each as a declaration has it.
func Vars(given map[string]json.RawMessage) map[string]string {
	set := make(map[string]string, len(given))
	for name, raw := range given {
		var text string
		if json.Unmarshal(raw, &text) != nil || string(raw) == "null" {
			text = string(raw)
		}
		set[name] = text
	}
	return set
}

// CompletionRequest is the body of POST …/complete.
type CompletionRequest struct {
	// Declaration is the document as it is being typed.
	Declaration string `json:"declaration"`
	// Line and Column are where the cursor is, counted as those of mistakes are.
	Line   int `json:"line"`
	Column int `json:"column"`
}

// Completion is what can be put at a place of a declaration.
type Completion struct {
	// Before and After are how many characters around the cursor are replaced.
	Before int     `json:"before"`
	After  int     `json:"after"`
	Items  []Offer `json:"items"`
	// More says that there are more than were to be told.
	More bool `json:"more,omitempty"`
}

// Offer is something that can be put at a place.
type Offer struct {
	Sort   string `json:"sort"`
	Label  string `json:"label"`
	Text   string `json:"text"`
	Detail string `json:"detail,omitempty"`
	About  string `json:"about,omitempty"`
}

// TestResult is what became of the cases of a declaration's tests.
type TestResult struct {
	Passed int        `json:"passed"`
	Failed int        `json:"failed"`
	Cases  []TestCase `json:"cases"`
}

// TestCase is one of them.
type TestCase struct {
	Case     string        `json:"case"`
	Line     int           `json:"line"`
	Passed   bool          `json:"passed"`
	Failures []TestFailure `json:"failures"`
}

// TestFailure is what differed, at a line of the tests.
type TestFailure struct {
	Line int    `json:"line"`
	Text string `json:"text"`
}
