package daemon

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/graphd/graphd"
)

// TestHostsOfAnInsecureDaemon: without tokens and on whatever address, a page cannot reach the daemon under a name
// that it has resolve to that.
func TestHostsOfAnInsecureDaemon(t *testing.T) {
	d := startDaemon(t, graphd.Config{Store: "memory:", Insecure: true, Hosts: []string{"gw.internal"}})
	for host, status := range map[string]int{"": 200, "localhost": 200, "gw.internal:8080": 200, "evil.example": 421} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.base+"/v1/graphs", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != status || status == 421 && !strings.Contains(string(body), "--hosts") {
			t.Errorf("host %q: got %d %s, want %d", host, res.StatusCode, body, status)
		}
	}
}
