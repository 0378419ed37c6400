package answers

import "testing"

// What is foreseen wrongly once in eight times goes on, more often ends; and what has ended does so for good, whatever
// those that were asked before turn out to be.
func TestTrustEndsForGood(t *testing.T) {
	t.Parallel()
	kept := MostTrust
	for n := range 10_000 {
		kept.Judge(n%9 != 0)
	}
	if kept <= 0 {
		t.Errorf("one in nine is wrong, and it ends at %d", kept)
	}
	lost := MostTrust
	for n := 0; lost > 0 && n < 10_000; n++ {
		lost.Judge(n%7 != 0)
	}
	for range 100 {
		lost.Judge(true)
	}
	if lost > 0 {
		t.Errorf("one in seven was wrong, and it is %d", lost)
	}
}
