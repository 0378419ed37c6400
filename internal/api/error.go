package api

import (
	"net/http"
	"strconv"
	"time"
)

// Error is a refusal with a stable code. The server maps Status to HTTP, and the command
// line to its exit codes.
type Error struct {
	Status int    // an HTTP status
	Code   string // stable, snake_case
	Detail string // what is wrong and what to do
	// Diagnostics are a declaration's mistakes (422).
	Diagnostics Diagnostics
	// Extra are further members of the problem document, such as the declared names.
	Extra map[string]any
	// After is when to try again, where that is known: the answer's Retry-After.
	After time.Duration
}

func (e *Error) Error() string { return e.Code + ": " + e.Detail }

// Invalid refuses a declaration for its mistakes.
func Invalid(ds Diagnostics) *Error {
	return &Error{Status: http.StatusUnprocessableEntity, Code: CodeDeclarationInvalid,
		Detail: "the declaration has " + Mistakes(len(ds)) + "; nothing was changed", Diagnostics: ds}
}

// Mistakes is "a mistake", "2 mistakes".
func Mistakes(n int) string {
	if n == 1 {
		return "a mistake"
	}
	return strconv.Itoa(n) + " mistakes"
}

// Problem is a refusal as it stands on the wire (RFC 9457), for whoever reads it.
type Problem struct {
	Status int    `json:"status"`
	Code   string `json:"code"` // stable
	Title  string `json:"title"`
	Detail string `json:"detail"`
	// Instance names an internal failure in the daemon's log.
	Instance string `json:"instance"`
	// Errors are a declaration's mistakes.
	Errors Diagnostics `json:"errors"`
	// Declared are the names there are, where a name was unknown.
	Declared []string `json:"declared"`
	// Shards are what each shard did on a command that not all of them have carried out.
	Shards []ShardResult `json:"shards"`
	// NextIndex is the first event of a push that was not taken because the queue was full.
	NextIndex *int `json:"next_index"`
	// RetryAfter is how long the daemon asks to wait, of the header; 0 where it does not say.
	RetryAfter time.Duration `json:"-"`
}

func (p *Problem) Error() string {
	if p.Detail == "" {
		return p.Code + ": " + p.Title
	}
	return p.Code + ": " + p.Detail
}
