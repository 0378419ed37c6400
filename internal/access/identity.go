package access

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Grant is what somebody is given whom others vouch for.
type Grant struct {
	// Tenant is a tenant's name, or AllTenants.
	Tenant string
	Role   Role
}

// Admits says whether the grant is good for a tenant.
func (g Grant) Admits(tenant string) bool { return g.Tenant == AllTenants || g.Tenant == tenant }

// Granted is a grant and to whom it is given: a name that those who vouch for him have for him.
type Granted struct {
	Name string
	Grant
}

var tenantForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// ParseGrants reads lines of the form NAME=ROLE@TENANT, in which the name may hold "=" too; *
// is every tenant, and a platform-admin's tenant goes without saying. One name may be given several.
func ParseGrants(lines []string) ([]Granted, error) {
	list := make([]Granted, 0, len(lines))
	for _, line := range lines {
		cut := strings.LastIndexByte(line, '=')
		if cut < 1 {
			return nil, fmt.Errorf("%q gives nothing to anybody: write NAME=ROLE@TENANT", line)
		}
		g := Granted{Name: line[:cut]}
		word, tenant, named := strings.Cut(line[cut+1:], "@")
		role, known := ParseRole(word)
		if !named && role == PlatformAdmin {
			tenant = AllTenants
		}
		g.Grant = Grant{tenant, role}
		switch {
		case !known:
			return nil, fmt.Errorf("%q gives the role %q: write viewer, pusher, operator, author, tenant-admin or "+
				"platform-admin, and after @ the tenant", line, word)
		case several(g.Name):
			return nil, fmt.Errorf("%q gives several things: write each as a member of its own, in the environment on "+
				"a line of its own", line)
		case tenant != AllTenants && !tenantForm.MatchString(tenant):
			return nil, fmt.Errorf("%q names the tenant %q: write ROLE@TENANT, or ROLE@* for every one", line, tenant)
		case role == PlatformAdmin && tenant != AllTenants:
			return nil, fmt.Errorf("%q: a platform-admin is one of all tenants", line)
		}
		list = append(list, g)
	}
	return list, nil
}

// several says that a name holds what would be given to another one, by somebody who takes commas for what is between
// members: a role behind a part of it.
func several(name string) bool {
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == ',' || r == ';' || r == '\n' })
	for i, part := range parts {
		cut := strings.LastIndexByte(part, '=')
		if i == len(parts)-1 || cut < 0 {
			continue
		}
		word, _, tenant := strings.Cut(strings.TrimSpace(part[cut+1:]), "@")
		// A platform-admin goes without a tenant, and without a name before it is the value of a subject's attribute.
		_, known := ParseRole(word)
		if known && (tenant || strings.ContainsAny(part[:cut], "=/")) {
			return true
		}
	}
	return false
}

// Identity is somebody whom others vouch for, the authority of a certificate or an issuer of tokens, with what
// the configuration gives to him.
type Identity struct {
	// Subject is a name for records and logs.
	Subject string
	// Grants are in the order of the configuration; none opens nothing.
	Grants []Granted
	// Proof is what vouches for him, but the grant that counts.
	Proof Proof
	// Holds says whether what vouches for him is good at a moment.
	Holds func(now time.Time) bool
}

// Principal is whom the identity acts as in a tenant, "" for that of the first grant; ok is false where no grant
// is good for the tenant.
func (i *Identity) Principal(tenant string) (who Principal, ok bool) {
	for _, g := range i.Grants {
		if tenant == "" || g.Admits(tenant) {
			who = Principal{Tenant: tenant, Subject: i.Subject, Role: g.Role, Holds: i.Holds, Proof: i.Proof}
			who = who.at(g.Tenant)
			if len(who.Proof.Chain) == 0 {
				who.Proof.Grant = g.Name
			}
			return who, true
		}
	}
	return Principal{}, false
}

// at fills in the tenant where none was asked for.
func (p Principal) at(tenant string) Principal {
	if p.Tenant != "" {
		return p
	}
	if p.Tenant = tenant; tenant == AllTenants {
		p.Tenant = DefaultTenant
	}
	return p
}
