package checkpoint

import (
	"context"
	"fmt"
	"time"
)

// Declaration is a graph's document as applied.
type Declaration struct {
	Tenant, Graph string
	Revision      int64
	// Text is the document as the user sent it: references to secrets unresolved.
	Text string
	// Origin is "api" or "file:PATH".
	Origin  string
	Updated time.Time
	// By is who has applied it, and Change what it changed, in a word. They are read back by
	// Revisions alone.
	By     Author
	Change string
	// Most is how many graphs the tenant may have where this one makes another; 0 is no bound. It is not kept.
	Most int
}

// TooManyError says that a tenant has as many graphs as it may have.
type TooManyError struct{ Have int }

func (e *TooManyError) Error() string {
	return fmt.Sprintf("the tenant has %d graphs, and may have no more", e.Have)
}

// Author is who has changed a declaration, as far as it is known.
type Author struct {
	// Token is the name of the caller's token, "" of a caller without one.
	Token string
	// Agent is what the caller's program calls itself, Host where the call came from.
	Agent, Host string
}

// Declarations keeps the graphs that were applied.
type Declarations interface {
	// PutDeclaration stores d with the next revision and returns it. ifRevision 0 means any,
	// -1 means the graph must not exist; otherwise ErrConflict when it is not the current one.
	// One that makes more graphs of its tenant than d.Most is a TooManyError, whoever else makes some meanwhile.
	PutDeclaration(ctx context.Context, d Declaration, ifRevision int64) (int64, error)
	Declarations(ctx context.Context) ([]Declaration, error)
	// DeleteDeclaration removes the graph; with state, all it ever persisted and its revisions
	// too. ErrNotFound.
	DeleteDeclaration(ctx context.Context, id ID, state bool) error
}

// KeepRevisions is how many revisions of a graph a store keeps, with the current one.
const KeepRevisions = 50

// Revisions is what PutDeclaration has stored of a graph: the newest KeepRevisions.
type Revisions interface {
	// Revisions lists them, newest first, without their Text.
	Revisions(ctx context.Context, id ID) ([]Declaration, error)
	// Revision is one of them; ErrNotFound.
	Revision(ctx context.Context, id ID, revision int64) (Declaration, error)
}
