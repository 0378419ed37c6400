package access

import "fmt"

// Permission is what a route or a command of a socket asks for.
type Permission uint8

// The permissions. The zero value is given to nobody, so that what names none is closed.
const (
	Nobody Permission = iota
	// Public is given to everybody, with a token or without.
	Public
	// Known is given to whoever is known, whatever the role.
	Known
	// Read looks at graphs and changes nothing.
	Read
	// Push hands events to accumulators.
	Push
	// Operate fires, pauses, replays.
	Operate
	// Author applies, dry-runs and deletes declarations, and what takes state from a graph.
	Author
	// Administer gives and revokes the tenant's tokens, and reads its audit.
	Administer
	// Platform is for the daemon as a whole, across tenants.
	Platform
	permissions
)

// permissionNames are the names in the order of the constants.
var permissionNames = [permissions]string{"nobody", "public", "known", "read", "push", "operate", "author",
	"administer", "platform"}

func (p Permission) String() string {
	if p < permissions {
		return permissionNames[p]
	}
	return fmt.Sprintf("Permission(%d)", uint8(p))
}

// Role is what a principal is for. The zero value may do nothing.
type Role uint8

// The roles.
const (
	NoRole Role = iota
	Viewer
	Pusher
	Operator
	AuthorRole
	TenantAdmin
	PlatformAdmin
	roles
)

// roleNames are the names in the order of the constants.
var roleNames = [roles]string{"none", "viewer", "pusher", "operator", "author", "tenant-admin", "platform-admin"}

func (r Role) String() string {
	if r < roles {
		return roleNames[r]
	}
	return fmt.Sprintf("Role(%d)", uint8(r))
}

// Roles are all that can be given, in the order in which they can do more.
func Roles() []Role { return []Role{Viewer, Pusher, Operator, AuthorRole, TenantAdmin, PlatformAdmin} }

// ParseRole reads a role's name.
func ParseRole(name string) (Role, bool) {
	for _, r := range Roles() {
		if roleNames[r] == name {
			return r, true
		}
	}
	return NoRole, false
}

// Gives says whether the role alone is enough for a permission.
func (r Role) Gives(p Permission) bool {
	if r == NoRole || r >= roles {
		return p == Public
	}
	switch p {
	case Public, Known:
		return true
	case Read:
		return r != Pusher
	case Push:
		return r != Viewer
	case Operate:
		return r >= Operator
	case Author:
		return r >= AuthorRole
	case Administer:
		return r >= TenantAdmin
	case Platform:
		return r == PlatformAdmin
	}
	return false
}
