package pump

import "testing"

// M26: a look answers who has asked before it began, and nobody who has asked since.
func TestM26ALookAnswersWhoHasAskedBefore(t *testing.T) {
	t.Parallel()
	l := NewLine(LineConfig{})
	told := func() (looks []int64) {
		for _, p := range l.Take(nil) {
			looks = append(looks, p.Look)
		}
		return looks
	}
	l.Looked(l.Look()) // of its own accord
	if got := told(); got != nil {
		t.Errorf("told of %v that nobody has asked for", got)
	}
	one := l.Ask()
	if l.Ask() != one {
		t.Error("a look that has not begun does not do for who asks meanwhile")
	}
	<-l.Asked()
	look := l.Look()
	two := l.Ask()
	if look != one || two == one {
		t.Errorf("asked for %d, then for %d: look %d", one, two, look)
	}
	<-l.Asked()
	l.Looked(look)
	l.Looked(look)
	if got := told(); len(got) != 1 || got[0] != one {
		t.Errorf("told of %v, want %d", got, one)
	}
	l.Looked(l.Look())
	if got := told(); len(got) != 1 || got[0] != two {
		t.Errorf("told of %v, want %d", got, two)
	}
}
