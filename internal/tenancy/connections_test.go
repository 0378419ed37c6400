package tenancy

import (
	"strings"
	"testing"
)

// TestConnectionsTellNoAddress: what is no connection is refused without a word of it, for it may be an address with
// its password, and so is one in which another begins (A9).
func TestConnectionsTellNoAddress(t *testing.T) {
	t.Parallel()
	const address = "postgres://u:hunter2@db.internal/shop"
	for _, text := range []string{address, address + "?sslmode=disable", "=" + address, "U=" + address,
		"a=" + address + ",b=" + address, "a=" + address + ",store=store", "a=" + address + "; b=kafka://x:hunter2@y:1",
		"a=" + address + "\nb=" + address, "a=mysql://u:hunter2@db.internal"} {
		_, err := Connections([]string{text}, func(string) {})
		if err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "db.internal") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if named, err := Connections([]string{"a=" + address, "b=kafka://x:1,y:2"}, func(string) {}); err != nil ||
		len(named) != 2 {
		t.Errorf("%v, %v", named, err)
	}
}
