package param

import (
	"net/http"
	"testing"
	"time"
)

// A client may say how long its push is to wait for room: less than the daemon allows, and no less than it takes
// where there is room.
func TestPatience(t *testing.T) {
	t.Parallel()
	const allowed = 5 * time.Second
	for prefer, want := range map[string]time.Duration{
		"": 5 * time.Second, "wait=0": LeastWait, "wait=2": 2 * time.Second, "wait=60": 5 * time.Second,
		"wait=-1": 5 * time.Second, "respond-async": 5 * time.Second,
	} {
		if got := Patience(http.Header{"Prefer": {prefer}}, allowed); got != want {
			t.Errorf("Prefer: %s waits %v, want %v", prefer, got, want)
		}
	}
	if got := Patience(nil, allowed); got != allowed {
		t.Errorf("without a wish it waits %v", got)
	}
}
