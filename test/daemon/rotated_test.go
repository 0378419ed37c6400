package daemon

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphd/graphd"
)

// TestAnotherSecretIsTold: a secret that is another one by now, in the file that the declaration names or by another
// name, is told as changed, without its value and without a sum that it could be guessed by, and is in use when that
// was applied.
func TestAnotherSecretIsTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	seen := make(chan string, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		seen <- r.Header.Get("Authorization")
	}))
	defer hook.Close()
	d := startDaemon(t, graphd.Config{Data: filepath.Join(dir, "data"), SecretsDir: dir,
		AllowOutbound: []string{"loopback"}})
	root := d.token("", "platform-admin", "*")
	values := []string{"secret-of-monday-7", "secret-of-tuesday-8", "secret-of-friday-9"}
	const path = "/v1/graphs/hooks"
	put := func(query, name string) string {
		t.Helper()
		status, text := d.sent(root, "", "PUT", path+query, fmt.Sprintf("graph: hooks\naccumulators: { a: {} }\n"+
			"outputs: { o: { from: a, sink: { http: { url: %q, headers: { Authorization: \"${file:%s}\" } } } } }\n",
			hook.URL, name))
		if status/100 != 2 {
			t.Fatalf("%d: %s", status, text)
		}
		for _, value := range values {
			sum := sha256.Sum256([]byte(value))
			for _, form := range []string{value, hex.EncodeToString(sum[:]),
				base64.StdEncoding.EncodeToString(sum[:])} {
				if strings.Contains(text, form) {
					t.Errorf("%s %s tells %s: %s", query, name, form, text)
				}
			}
		}
		return text
	}
	use := func(want string) {
		t.Helper()
		d.sent(root, "", "POST", path+"/accumulators/a/events", "1")
		if got := <-seen; got != want {
			t.Errorf("the hook is sent %q, want %q", got, want)
		}
	}
	write("token", values[0])
	put("", "token")
	use(values[0])
	if text := put("?dry_run=1", "token"); !strings.Contains(text, `"changed":false`) {
		t.Errorf("the same is told as changed: %s", text)
	}
	write("token", values[1])
	const behind = "changed the value of a reference: ${file:token}"
	if text := put("?dry_run=1", "token"); !strings.Contains(text, behind) ||
		!strings.Contains(text, `"changed":true`) {
		t.Errorf("a secret in the place of another is not told of: %s", text)
	}
	use(values[0])
	put("", "token")
	use(values[1])
	write("other", values[2])
	const other = "changed outputs.o.sink.http.headers.Authorization"
	if text := put("?dry_run=1", "other"); !strings.Contains(text, other) {
		t.Errorf("another reference is not told of: %s", text)
	}
}
