package share

// AwayError says that another member has taken nothing of a push, or that it is not known what.
type AwayError struct {
	Code, Detail string
	// Refused is what it has refused its part with, of which it has taken nothing; nil where it did not answer, or
	// has the shards no more.
	Refused error
}

func (e *AwayError) Error() string { return e.Code + ": " + e.Detail }

// Unwrap is what the member has refused its part with.
func (e *AwayError) Unwrap() error { return e.Refused }
