package suggest

import "testing"

func TestNearest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		word, want string
		candidates []string
	}{
		{"sorce", "source", []string{"schema", "source"}},
		{"soruce", "source", []string{"source"}}, // a swap is one slip
		{"Source", "source", []string{"source"}},
		{"source", "sources", []string{"source", "sources"}}, // never the word itself
		{"orderbok", "orderbook", []string{"orders", "orderbook", "order"}},
		{"kep", "keep", []string{"capacity", "keep"}},
		{"x", "", []string{"y"}},
		{"ab", "ac", []string{"ac"}},
		{"ab", "", []string{"cd"}},
		{"completely", "", []string{"different"}},
		{"${SECRET}", "", []string{"secret"}},
		{"", "", []string{"a"}},
		{"grün", "grun", []string{"grun"}},
		{"maxRows", "max_rows", []string{"maxrow", "max_rows"}}, // as others write it, and nothing that is as near
		{"a-b-c-d", "a_b_c_d", []string{"a_b_c_d"}},
		{"rate-limit", "rate_limit", []string{"rate_limit"}},
		{"onNoConvergence", "on_no_convergence", []string{"on_error", "on_no_convergence"}},
		{"max_rows", "", []string{"max_rows"}},
	} {
		f := Finder{Budget: 100}
		if got := f.Nearest(c.word, c.candidates); got != c.want {
			t.Errorf("%q among %q: got %q, want %q", c.word, c.candidates, got, c.want)
		}
	}
}

func TestBudget(t *testing.T) {
	t.Parallel()
	f := Finder{Budget: 2}
	if got := f.Nearest("sorce", []string{"a", "b", "source"}); got != "" {
		t.Errorf("got %q beyond the budget", got)
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"OrderBook": "order_book", "order-book": "order_book", "order book!": "order_book", "1st": "", "é": "",
		"_x": "x", "URL": "url",
	} {
		if got := Name(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"7d": "168h", "2 weeks": "336h", "5 sec": "5s", "10 minutes": "10m", "1 hour": "1h", "3 hrs": "3h",
		"20 msec": "20ms", "5 us": "5us",
		"30": "30s", "5000": "5000ms", "soon": "", "99999999999d": "", "5 parsecs": "",
	} {
		if got := Duration(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestNumber(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"10k": 10_000, "64MiB": 64 << 20, "64 MB": 64_000_000, "1.5k": 1500, "1e6": 1_000_000, "2Gi": 2 << 30,
		"512 bytes": 512, "1.5": -1, "ten": -1, "10x": -1, "0.1e1": 1, "99999999T": -1, "": -1, "k": -1, "1,5 kB": 1500,
	} {
		if got := Number(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
