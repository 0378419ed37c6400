package server

import (
	"net/http"
	"testing"
	"time"
)

// A client may say how long its push is to wait for room: less than the daemon allows, and no less than it takes
// where there is room.
func TestPatience(t *testing.T) {
	t.Parallel()
	s := &Server{cfg: Config{PushTimeout: 5 * time.Second}}
	for prefer, want := range map[string]time.Duration{
		"": 5 * time.Second, "wait=0": leastWait, "wait=2": 2 * time.Second, "wait=60": 5 * time.Second,
		"wait=-1": 5 * time.Second, "respond-async": 5 * time.Second,
	} {
		r := &http.Request{Header: http.Header{"Prefer": {prefer}}}
		if got := s.patience(&request{Request: r}); got != want {
			t.Errorf("Prefer: %s waits %v, want %v", prefer, got, want)
		}
	}
	if got := s.patience(&request{Request: &http.Request{}}); got != s.cfg.PushTimeout {
		t.Errorf("without a wish it waits %v", got)
	}
}
