package testbed

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"syscall"
	"testing"
)

// FreeAddr is an address of loopback that nobody listens on, and that no connection goes out from: a daemon may come to
// it minutes later, so its port is below those that systems deal to connections.
func FreeAddr(t testing.TB) string {
	t.Helper()
	for {
		ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20000+rand.IntN(12000)))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		return ln.Addr().String()
	}
}
