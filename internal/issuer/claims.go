package issuer

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/access"
)

// claim is a claim that is given something.
type claim struct {
	name  string
	path  []string // the name in parts, for a claim within others
	value string
	grant access.Grant
}

func parseClaims(lines []string) ([]claim, error) {
	grants, err := access.ParseGrants(lines)
	if err != nil {
		return nil, err
	}
	list := make([]claim, 0, len(grants))
	for _, g := range grants {
		name, value, ok := strings.Cut(g.Name, "=")
		if !ok || name == "" || value == "" {
			return nil, fmt.Errorf("%q names no claim with its value: write CLAIM=VALUE=ROLE@TENANT", g.Name)
		}
		list = append(list, claim{name, strings.Split(name, "."), value, g.Grant})
	}
	return list, nil
}

// find is the claim of a name, else of one within others.
func (c *claim) find(all map[string]any) any {
	if found, ok := all[c.name]; ok {
		return found
	}
	last := len(c.path) - 1
	for _, part := range c.path[:last] {
		all, _ = all[part].(map[string]any)
	}
	return all[c.path[last]]
}

// in says whether a token has the claim with the value, or a list with it. An email counts when the issuer says
// that it was verified: else it is what somebody has written.
func (c *claim) in(all map[string]any) bool {
	if c.name == "email" && all["email_verified"] != true {
		return false
	}
	switch found := c.find(all).(type) {
	case string:
		return found == c.value
	case []any:
		return slices.Contains(found, any(c.value))
	}
	return false
}

// isAccess says whether a token that is good is one to come in with. An ID token tells a client who its user is: it
// goes where access tokens do not, and an application that was given one must not act with it here. Issuers mark
// kinds in their own ways; what has no mark of another kind is taken.
func isAccess(text string, claims map[string]any) bool {
	head, _, _ := strings.Cut(text, ".")
	raw, err := base64.RawURLEncoding.DecodeString(head)
	var header struct {
		Type string `json:"typ"`
	}
	if err != nil || json.Unmarshal(raw, &header) != nil {
		return false
	}
	switch strings.TrimPrefix(strings.ToLower(header.Type), "application/") {
	case "at+jwt":
		return true // RFC 9068
	case "", "jwt":
	default:
		return false
	}
	switch kind, _ := claims["typ"].(string); strings.ToLower(kind) {
	case "", "bearer", "at+jwt", "jwt", "access":
	default:
		return false
	}
	for _, mark := range []string{"nonce", "at_hash", "c_hash", "events"} {
		if _, marked := claims[mark]; marked {
			return false
		}
	}
	return true
}
