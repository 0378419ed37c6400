package api

import "testing"

// TestPayload: a dead letter shows what it holds as plainly as it can, and says how.
func TestPayload(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string][2]string{
		`{"x": 1}`: {`{"x": 1}`, "json"},
		`{"x <`:    {`"{\"x <"`, "text"},
		"":         {`""`, "text"},
		"\xff\xfe": {`"//4="`, "base64"},
	} {
		if shown, how := Payload([]byte(raw)); string(shown) != want[0] || how != want[1] {
			t.Errorf("%q is shown as %s (%s), want %s (%s)", raw, shown, how, want[0], want[1])
		}
	}
}

// TestStateChange is what a recovery event says about an update.
func TestStateChange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		change *StateChange
		want   string
	}{
		{nil, "no state was there to keep"},
		{&StateChange{Kept: []string{"a"}}, "the state of all names was kept"},
		{&StateChange{Kept: []string{"a", "b"}, Dropped: []string{"c", "d"}}, "dropped: c; d; kept: a, b"},
		{&StateChange{Dropped: []string{"c"}}, "dropped: c"},
	} {
		if got := c.change.String(); got != c.want {
			t.Errorf("%+v says %q, want %q", c.change, got, c.want)
		}
	}
}
