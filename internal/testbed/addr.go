package testbed

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"testing"
)

// dealt are the ports that this process has been given: who has one may not listen on it yet.
var dealt sync.Map

// FreeAddr is an address of loopback that nobody listens on, and that no connection goes out from: a daemon may come to
// it minutes later, so its port is below those that systems deal to connections.
func FreeAddr(t testing.TB) string {
	t.Helper()
	for {
		port := 20000 + rand.IntN(12000)
		if _, twice := dealt.LoadOrStore(port, true); twice {
			continue
		}
		ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
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
