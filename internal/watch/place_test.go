package watch

import "testing"

// A place that no watcher can have been at is refused: what follows it would be no number of a frame.
func TestParsePlaces(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		"7:18": true, "7:0": true, "7:9223372036854775806": true,
		"7:18,2/7:31": true, "3/1:0": true,
		"": false, "7": false, "7:": false, "7:x": false, "7:-1": false, "-7:1": false,
		"7:9223372036854775807": false, "7:9223372036854775808": false,
		"7:18,": false, "7:18,7:19": false, "1/7:1,1/7:2": false, "/7:1": false,
		"-1/7:1": false, "x/7:1": false, "70000/7:1": false, "1/2/7:1": false,
	} {
		at, err := ParsePlaces(text)
		if (err == nil) != ok {
			t.Errorf("%q: got %v", text, err)
		}
		if err == nil && at.String() != text {
			t.Errorf("%q is written %q", text, at)
		}
	}
}
