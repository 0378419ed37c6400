package access

import (
	"crypto/x509"
	"path"
	"time"
)

// Principal is whom a request acts as. Nothing of it comes from the request but by the one who
// has looked its credentials up. The zero value may do nothing that is not public.
type Principal struct {
	// Tenant is the one that the request speaks for: the only one that handlers know.
	Tenant string
	// Asked says that the request has named the tenant, where several would have been its.
	Asked bool
	// Subject is a name for records and logs.
	Subject string
	Role    Role
	// Token is the id of the token it came with, "" without one.
	Token string
	Scope Scope
	// Holds says at a moment whether what vouches for it is good, where that is no token; nil where nothing does,
	// or a token.
	Holds func(now time.Time) bool
	// Proof is what other daemons on the store can find the same by; the zero value where Holds is nil.
	Proof Proof
	// Session is the sum of the browser's session that it came with; "" without one.
	Session string
}

// Proof is what vouches for somebody, as it can be looked at again: a certificate with its chain, as it came, or a
// claim of an issuer's token.
type Proof struct {
	Chain [][]byte
	// Grant is the line of the configuration that fits the token, as CLAIM=VALUE, and Until the token's end.
	Grant string
	Until time.Time
}

// Vouched says whether somebody vouches for the principal, and not its address alone.
func (p *Principal) Vouched() bool { return p.Token != "" || p.Holds != nil }

// Holder is whose rates and shares it counts for: the token's, or that of whom others vouch for; "" where nobody
// vouches, which is the case on this machine alone.
func (p *Principal) Holder() string {
	switch {
	case p.Token != "":
		return p.Token
	case p.Holds != nil:
		return p.Subject
	}
	return ""
}

// Scope narrows what a role gives. The zero value narrows nothing.
type Scope struct {
	// Graphs are globs, of which a graph's name must match one; none are all graphs.
	Graphs []string
	// Reading leaves only what changes nothing.
	Reading bool
}

// Narrow says whether the scope leaves out anything.
func (s *Scope) Narrow() bool { return s.Reading || len(s.Graphs) > 0 }

// Sees says whether a graph's name is in the scope.
func (s *Scope) Sees(graph string) bool {
	for _, glob := range s.Graphs {
		if ok, err := path.Match(glob, graph); ok && err == nil {
			return true
		}
	}
	return len(s.Graphs) == 0
}

// May says whether the principal has a permission. What concerns more than graphs, and what is
// given on to others, takes one that is not narrowed.
func (p *Principal) May(need Permission) bool {
	switch {
	case !p.Role.Gives(need):
		return false
	case need == Public || need == Known || need == Read:
		return true
	case need == Administer || need == Platform:
		return !p.Scope.Narrow()
	}
	return !p.Scope.Reading
}

// Sees says whether a graph of the principal's tenant is one it may know of.
func (p *Principal) Sees(graph string) bool { return p.Role != NoRole && p.Scope.Sees(graph) }

// Looks says whether a list is of what a tenant has: of its own, and for one of all tenants who has named none
// of every one's.
func (p *Principal) Looks(tenant string) bool { return p.Tenant == tenant || p.SeesAll() && !p.Asked }

// Reads says whether it may read a tenant's entries of the audit, or of another name than a tenant's those that are
// of none.
func (p *Principal) Reads(tenant string) bool {
	return p.SeesAll() || p.May(Administer) && p.Tenant == tenant
}

// SeesAll says whether it may know of every tenant and of the daemon as a whole.
func (p *Principal) SeesAll() bool { return p.May(Platform) }

// All are the permissions that it has of those that not everybody known has.
func (p *Principal) All() []Permission {
	var all []Permission
	for need := Read; need < permissions; need++ {
		if p.May(need) {
			all = append(all, need)
		}
	}
	return all
}

// Guard keeps a T for principals that have a permission. The zero Guard keeps nothing for nobody.
type Guard[T any] struct {
	needs Permission
	what  T
}

// Needs wraps what in the permission it takes.
func Needs[T any](p Permission, what T) Guard[T] { return Guard[T]{p, what} }

// Permission is the one it takes.
func (g *Guard[T]) Permission() Permission { return g.needs }

// For gives what is kept to a principal that may have it.
func (g *Guard[T]) For(who *Principal) (what T, ok bool) {
	if !who.May(g.needs) {
		return what, false
	}
	return g.what, true
}

// Credentials are what a request shows of who sends it, as it came: nothing of it is true yet.
type Credentials struct {
	// Given says that there were credentials of any form; Bearer is a token, Ticket one for a socket.
	Given          bool
	Bearer, Ticket string
	// Session is that of a browser which is logged in.
	Session string
	// Chain is the client's certificate and what is between it and its authority, nil without one.
	Chain []*x509.Certificate
	// Tenant is the one asked for, "" for that which follows from the token.
	Tenant string
	// From is the address it came from.
	From string
}
