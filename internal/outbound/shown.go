package outbound

import (
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
)

// CheckHostPort refuses an address that is not host:port with a port to connect to.
func CheckHostPort(address string) error {
	host, port, err := net.SplitHostPort(address)
	n, bad := strconv.ParseUint(port, 10, 16)
	if err != nil || bad != nil || n == 0 || host == "" || strings.ContainsAny(host, "@/ ") {
		return fmt.Errorf("%q is not host:port", Shown(address))
	}
	return nil
}

var before = regexp.MustCompile(`[^\s/@"']+@`)

// Shown is an address as it may be told: without what stands before an @, which may be a password, and behind a
// question mark.
func Shown(address string) string {
	address, _, _ = strings.Cut(address, "?")
	return before.ReplaceAllString(address, "…@")
}
