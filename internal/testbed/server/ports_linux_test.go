package server

import "testing"

// A port is dealt once, though nothing listens on it yet.
func TestPortsAreDealtOnce(t *testing.T) {
	t.Parallel()
	dealt := map[int]bool{}
	for range 3 {
		ports, err := freePorts(200)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range ports {
			if dealt[p] {
				t.Errorf("the port %d was dealt twice", p)
			}
			dealt[p] = true
		}
	}
}
