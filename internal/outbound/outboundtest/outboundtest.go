// Package outboundtest has the guards that tests dial with.
package outboundtest

import (
	"testing"

	"github.com/graphd/graphd/internal/outbound"
)

// Guard is a guard that dials what is allowed beside public addresses: where nothing is named,
// this machine, where the servers of tests are.
func Guard(t testing.TB, allow ...string) *outbound.Guard {
	t.Helper()
	if len(allow) == 0 {
		allow = []string{"loopback"}
	}
	g, err := outbound.New(outbound.Config{Allow: allow})
	if err != nil {
		t.Fatal(err)
	}
	return g
}
