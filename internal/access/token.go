package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"hash/crc32"
	"path"
	"strings"
	"time"
)

const (
	// prefix makes tokens easy to find for those who search repositories and logs for them.
	prefix = "gd_"
	// idLen and secretLen are characters of base62: 71 and 256 bits.
	idLen, secretLen, sumLen = 12, 43, 6
	textLen                  = len(prefix) + idLen + 1 + secretLen + 1 + sumLen
	base62                   = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

const (
	// DefaultLife is how long a token lasts where nothing is said.
	DefaultLife = 90 * 24 * time.Hour
	// MaxLife is how long a token can last.
	MaxLife = 366 * 24 * time.Hour
	// AllTenants in the place of a tenant's name is every one.
	AllTenants = "*"
	// DefaultTenant is the one of those who name none.
	DefaultTenant = "default"
	maxName       = 100
	maxGlobs      = 100
)

// Token is a token as it is kept: all of it but the secret.
type Token struct {
	ID string
	// Tenant is the one it is for, or AllTenants.
	Tenant string
	// Name is what people call it.
	Name  string
	Role  Role
	Scope Scope
	// Sum is the SHA-256 of its text.
	Sum [sha256.Size]byte
	// CreatedBy is the subject that made it.
	CreatedBy        string
	Created, Expires time.Time
	// Used is when it was last used, within some minutes; Revoked when it was revoked; zero for never.
	Used, Revoked time.Time
}

// Live says whether the token opens anything at a moment.
func (t *Token) Live(now time.Time) bool { return t.Revoked.IsZero() && now.Before(t.Expires) }

// Admits says whether the token is good for a tenant.
func (t *Token) Admits(tenant string) bool { return t.Tenant == AllTenants || t.Tenant == tenant }

// Principal is whom the token's bearer acts as in a tenant that it admits.
func (t *Token) Principal(tenant string) Principal {
	return Principal{Tenant: tenant, Subject: t.Name, Role: t.Role, Token: t.ID, Scope: t.Scope}
}

// Validate says what of a token that is to be made cannot be, in words for whoever asks for it.
func (t *Token) Validate() error {
	switch {
	case t.Name == "" || len(t.Name) > maxName || !printable(t.Name):
		return fmt.Errorf("name must say what the token is for, in 1 to %d printable characters of ASCII", maxName)
	case reserved(t.Name):
		return errors.New("name must not be one that others have in records: graphd, others, what has a =, and what " +
			"begins with --, anonymous, unknown@, oidc:, spiffe:, Config. or graphd and a space")
	case t.Role == NoRole || t.Role >= roles:
		return errors.New("role must be one of viewer, pusher, operator, author, tenant-admin, platform-admin")
	case t.Role == PlatformAdmin && t.Tenant != AllTenants:
		return errors.New("a platform-admin is one of all tenants: the tenant must be " + AllTenants)
	case t.Role >= TenantAdmin && t.Scope.Narrow():
		return fmt.Errorf("a %s cannot be narrowed: what it gives on to others would be wider", t.Role)
	case !t.Expires.After(t.Created) || t.Expires.Sub(t.Created) > MaxLife:
		return fmt.Errorf("a token lasts %d days at most, and longer than nothing", MaxLife/(24*time.Hour))
	case len(t.Scope.Graphs) > maxGlobs:
		return fmt.Errorf("graphs can be %d globs at most", maxGlobs)
	}
	for _, glob := range t.Scope.Graphs {
		if _, err := path.Match(glob, "x"); err != nil || glob == "" || len(glob) > maxName || !printable(glob) {
			return fmt.Errorf("graphs has %q, which is no glob: write a name, with * for any letters", glob)
		}
	}
	return nil
}

// reserved says whether a name is one of somebody who comes without a token, as the audit tells of him.
func reserved(name string) bool {
	for _, prefix := range []string{"--", "anonymous", "unknown@", "oidc:", "spiffe:", "Config.", "graphd "} {
		if strings.HasPrefix(strings.ToLower(name), strings.ToLower(prefix)) {
			return true
		}
	}
	return name == "graphd" || name == "others" || strings.Contains(name, "=")
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

// Mint makes the text of a new token and puts its id and sum into t. The text is nowhere else.
func Mint(t *Token) (text string) {
	t.ID = letters(idLen)
	body := prefix + t.ID + "_" + letters(secretLen)
	text = body + "_" + checksum(body)
	t.Sum = sha256.Sum256([]byte(text))
	return text
}

// Opens says whether text is the token's, in a time that tells nothing of it.
func (t *Token) Opens(text string) bool {
	sum := sha256.Sum256([]byte(text))
	return subtle.ConstantTimeCompare(sum[:], t.Sum[:]) == 1
}

// IDOf is the id in the text of a token; ok is false for what cannot be one. The sum over the text
// is no secret: it tells a mistyped token without a look into the store.
func IDOf(text string) (id string, ok bool) {
	if len(text) != textLen || !strings.HasPrefix(text, prefix) {
		return "", false
	}
	body, sum := text[:textLen-sumLen-1], text[textLen-sumLen:]
	id = body[len(prefix) : len(prefix)+idLen]
	secret, between := body[len(prefix)+idLen+1:], body[len(prefix)+idLen]
	if between != '_' || text[len(body)] != '_' || !ValidID(id) || !only62(secret) || sum != checksum(body) {
		return "", false
	}
	return id, true
}

// ValidID says whether a token can have this id.
func ValidID(id string) bool { return len(id) == idLen && only62(id) }

func only62(s string) bool {
	for i := range len(s) {
		if strings.IndexByte(base62, s[i]) < 0 {
			return false
		}
	}
	return true
}

// letters are n random characters of base62, each as likely as any.
func letters(n int) string {
	out := make([]byte, 0, n)
	var random [64]byte
	for len(out) < n {
		_, _ = rand.Read(random[:]) // it never fails: the program would end
		for _, b := range random {
			// 248 is the greatest multiple of 62: what is above would favour the first letters.
			if b < 248 && len(out) < n {
				out = append(out, base62[b%62])
			}
		}
	}
	return string(out)
}

// SecretLen is how long a Secret is.
const SecretLen = secretLen

// Secret is a random text of 256 bits for what lives shortly.
func Secret() string { return letters(secretLen) }

// checksum is the CRC-32 of a text in six characters of base62.
func checksum(text string) string {
	n := crc32.ChecksumIEEE([]byte(text))
	var out [sumLen]byte
	for i := sumLen - 1; i >= 0; i-- {
		out[i] = base62[n%62]
		n /= 62
	}
	return string(out[:])
}
