package watch

import "testing"

// A place that no watcher can have been at is refused: what follows it would be no number of a frame.
func TestParsePlace(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		"7:18": true, "7:0": true, "7:9223372036854775806": true,
		"": false, "7": false, "7:": false, "7:x": false, "7:-1": false, "-7:1": false, "7:9223372036854775807": false,
		"7:9223372036854775808": false,
	} {
		if _, err := ParsePlace(text); (err == nil) != ok {
			t.Errorf("%q: got %v", text, err)
		}
	}
}
