package answers

import (
	"fmt"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/kind"
)

// An answer is remembered by its key, for a while of engine time and up to a bound; the one that was used the longest
// ago goes first.
func TestWhatIsRemembered(t *testing.T) {
	t.Parallel()
	m, asked, at := &Memory{}, 0, time.Unix(1000, 0)
	ask := func(key string, after time.Duration) string {
		r := &kind.Request{Keep: kind.Keep{Key: key, TTL: time.Minute, Max: 2}, At: at.Add(after)}
		a := m.Find(3, r)
		if a == nil {
			asked++
			a = &kind.Answer{Text: fmt.Sprint(asked)}
			m.Learn(3, r, a)
		}
		return a.Text
	}
	for _, c := range []struct {
		key   string
		after time.Duration
		want  string
	}{
		{"a", 0, "1"}, {"a", 59 * time.Second, "1"}, {"a", time.Minute, "2"}, {"b", time.Minute, "3"},
		{"a", time.Minute, "2"}, {"c", time.Minute, "4"}, {"a", time.Minute, "2"}, {"b", time.Minute, "5"},
	} {
		m.Begin()
		if got := ask(c.key, c.after); got != c.want {
			t.Errorf("%s after %v: %s, want %s", c.key, c.after, got, c.want)
		}
		m.End()
	}
	two := m.Weigh()
	if m.Hits(3) != 3 || m.Hits(4) != 0 || two <= 0 {
		t.Errorf("%d were remembered, which weigh %d", m.Hits(3), two)
	}
	// An epoch that comes to nothing has remembered nothing, and one that asks twice has its own answer.
	m.Begin()
	ask("x", time.Minute)
	m.Begin()
	if first, second := ask("x", time.Minute), ask("x", time.Minute); first != "7" || second != "7" {
		t.Errorf("one epoch is answered %s and %s", first, second)
	}
	m.End()
	if m.Hits(3) != 4 || m.Weigh() != two {
		t.Errorf("%d were remembered, which weigh %d and not %d", m.Hits(3), m.Weigh(), two)
	}
	if m.Find(3, &kind.Request{At: at}) != nil || m.Find(4, &kind.Request{Keep: kind.Keep{Key: "x", TTL: 1}}) != nil {
		t.Error("what is not remembered is answered")
	}
}

// Of epochs that would ask for what is remembered the first asks, and the next when that one has come to nothing; they
// are looked at again when it is there.
func TestOneAsksForAll(t *testing.T) {
	t.Parallel()
	m := &Memory{}
	r := kind.Request{Keep: kind.Keep{Key: "k", TTL: time.Minute, Max: 9}, At: time.Unix(1, 0)}
	first, second := &Epoch{key: "1"}, &Epoch{key: "2"}
	for i, e := range []*Epoch{first, second} {
		e.Known, e.Asked = true, []Ask{{Node: 1, Request: r}, {Node: 2, Request: kind.Request{Body: []byte{byte(i)}}}}
	}
	next := func(fresh bool, epochs ...*Epoch) int {
		var asks []Ask
		l := Line{Memory: m}
		for _, e := range epochs {
			asks = l.Next(asks, e, fresh)
		}
		return len(asks)
	}
	if n := next(true, first, second); n != 3 {
		t.Errorf("%d questions, want 3", n)
	}
	if n := next(false, first, second); n != 0 {
		t.Errorf("%d questions are told again", n)
	}
	if n := next(false, second); n != 1 { // the first is not there any more
		t.Errorf("%d questions, want 1", n)
	}
	next(false, first, second)
	stale := func() bool { return (&Line{Memory: m}).Stale(second) }
	if stale() || !(&Line{Memory: m}).Stale(nil) || !(&Line{Memory: m}).Stale(&Epoch{}) {
		t.Error("what is known is looked at again, or what is not is not")
	}
	m.Learn(1, &r, &kind.Answer{})
	if m.End(); !stale() {
		t.Error("what waits is not looked at again when the answer is there")
	}
}
