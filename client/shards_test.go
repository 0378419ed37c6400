package client

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// M48: an epoch is asked for by its shard; the first needs no name.
func TestM48FiringOfAShard(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.String()
		_, _ = w.Write([]byte(`{"epoch":12,"shard":3}`))
	}))
	defer s.Close()
	c, err := New(Config{BaseURL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	for shard, want := range []string{"/v1/graphs/g/firings/12", "/v1/graphs/g/firings/12?shard=1"} {
		f, err := c.FiringOf(t.Context(), "g", shard, 12)
		if got := <-asked; err != nil || got != want || f.Shard != 3 {
			t.Errorf("shard %d: %s, %+v, %v", shard, got, f, err)
		}
	}
}
