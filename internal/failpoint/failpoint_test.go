package failpoint

import "testing"

func TestHit(t *testing.T) {
	t.Parallel()
	var none *Set
	none.Hit("cut") // nothing is armed
	s, err := FromEnv(func(string) (string, bool) { return "cut:3", true })
	if err != nil {
		t.Fatal(err)
	}
	died := 0
	s.die = func() { died++ }
	for range 2 {
		s.Hit("cut")
		s.Hit("admit")
	}
	if died != 0 {
		t.Error("it ended too early")
	}
	s.Hit("cut")
	s.Hit("cut")
	if died != 1 {
		t.Errorf("it ended %d times", died)
	}
	if s, err := FromEnv(func(string) (string, bool) { return "", false }); s != nil || err != nil {
		t.Errorf("unset: %v, %v", s, err)
	}
	for _, text := range []string{"cut", "cut:0", "cut:x"} {
		if _, err := FromEnv(func(string) (string, bool) { return text, true }); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}
