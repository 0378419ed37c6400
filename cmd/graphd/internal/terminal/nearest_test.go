package terminal

import "testing"

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"market_maker", "flights", "a"}
	for word, want := range map[string]string{
		"market_maker": "market_maker",
		"markte_maker": "market_maker", // swapped
		"marketmaker":  "market_maker",
		"flihgts":      "flights",
		"flight":       "flights",
		"b":            "a",
		"orders":       "",
		"":             "a",
	} {
		if got := Nearest(word, names); got != want {
			t.Errorf("%s: got %q, want %q", word, got, want)
		}
	}
	for _, tc := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "", 3}, {"", "abc", 3}, {"abc", "acb", 1}, {"kitten", "sitting", 3}, {"ab", "ba", 1}} {
		if got := distance(tc.a, tc.b); got != tc.want {
			t.Errorf("%s to %s: got %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}
