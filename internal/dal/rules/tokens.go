package rules

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/checkpoint"
)

// TokenColumns are the columns of a token in the order of TokenArgs and of a TokenRow.
const TokenColumns = "id, tenant, name, role, graphs, read_only, sum, created_by, created, expires, used, revoked"

// TokenArgs are a token's columns; no glob holds the end of a line.
func TokenArgs(t *access.Token) []any {
	return []any{t.ID, t.Tenant, t.Name, t.Role.String(), strings.Join(t.Scope.Graphs, "\n"), t.Scope.Reading, t.Sum[:],
		t.CreatedBy, Nanos(t.Created), Nanos(t.Expires), Nanos(t.Used), Nanos(t.Revoked)}
}

// TokenRow is a token as it stands in a store.
type TokenRow struct {
	ID, Tenant, Name, Role, Graphs  string
	Reading                         bool
	Sum                             []byte
	CreatedBy                       string
	Created, Expires, Used, Revoked int64
}

// Token is the row's; what it says is not believed where it cannot be: a role that this release does
// not know gives nothing, and so does a sum that is none.
func (r *TokenRow) Token() (access.Token, error) {
	role, known := access.ParseRole(r.Role)
	if !known || len(r.Sum) != sha256.Size {
		return access.Token{}, fmt.Errorf("%w: token %s has the role %q and a sum of %d bytes", checkpoint.ErrCorrupt,
			r.ID, r.Role, len(r.Sum))
	}
	t := access.Token{
		ID: r.ID, Tenant: r.Tenant, Name: r.Name, Role: role, Scope: access.Scope{Reading: r.Reading},
		Sum: [sha256.Size]byte(r.Sum), CreatedBy: r.CreatedBy, Created: FromNanos(r.Created),
		Expires: FromNanos(r.Expires), Used: FromNanos(r.Used), Revoked: FromNanos(r.Revoked),
	}
	if r.Graphs != "" {
		t.Scope.Graphs = strings.Split(r.Graphs, "\n")
	}
	return t, nil
}
