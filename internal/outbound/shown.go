package outbound

import (
	"regexp"
	"strings"
)

var before = regexp.MustCompile(`[^\s/@"']+@`)

// Shown is an address as it may be told: without what stands before an @, which may be a password, and behind a
// question mark.
func Shown(address string) string {
	address, _, _ = strings.Cut(address, "?")
	return before.ReplaceAllString(address, "…@")
}
