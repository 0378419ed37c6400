package traced

import (
	"strings"
	"testing"
)

// TestTraceparent: the header of the W3C is read strictly, and written as it was.
func TestTraceparent(t *testing.T) {
	t.Parallel()
	const good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	c, ok := Parse(good)
	if !ok || c.String() != good || !c.Sampled {
		t.Errorf("%v %s", ok, c.String())
	}
	for _, later := range []string{"cc" + good[2:], "cc" + good[2:] + "-what-comes"} {
		if got, ok := Parse(later); !ok || got != c {
			t.Errorf("%s: %v", later, ok)
		}
	}
	for _, bad := range []string{"", "00", good[:54], good + "0", good + "-x", "ff" + good[2:], "0g" + good[2:],
		strings.ToUpper(good), strings.Replace(good, "-", "_", 1), "00-" + strings.Repeat("0", 32) + good[35:],
		good[:36] + strings.Repeat("0", 16) + good[52:], "é" + good[2:], strings.Repeat("x", 1<<16)} {
		if got, ok := Parse(bad); ok || got != (Context{}) {
			t.Errorf("%.80s was read as %v", bad, got)
		}
	}
}

// TestLinksAreBounded: joined links are those of both, as many as there may be, and neither changes.
func TestLinksAreBounded(t *testing.T) {
	t.Parallel()
	var all *Links
	for i := range byte(2 * Max) {
		one := From(Context{Trace: [16]byte{i + 1}, Span: [8]byte{1}}, false)
		before := count(all)
		joined := all.Join(one)
		if count(all) != before || count(one) != 1 || count(joined) != min(int(i)+1, Max) {
			t.Fatalf("%d: %d, %d, %d", i, count(all), count(one), count(joined))
		}
		all = joined
	}
	n := 0
	for range all.Join(all).All() {
		n++
	}
	if n != Max || (*Links)(nil).Join(nil) != nil {
		t.Errorf("%d links", n)
	}
}

func count(l *Links) (n int) {
	for range l.All() {
		n++
	}
	return n
}
