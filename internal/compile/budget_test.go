package compile_test

import (
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/builtin"
)

// M25: a budget of the epoch that cancels it is its time, and one that lets nodes keep what they had goes with no
// journal: a replay measures nothing.
func TestM25BudgetOfTheReactor(t *testing.T) {
	t.Parallel()
	for rest, want := range map[string]time.Duration{
		"reactor: { budget: 1s, on_overrun: cancel_epoch }":                           time.Second,
		"reactor: { budget: 1m, on_overrun: cancel_epoch }":                           30 * time.Second,
		"reactor: { budget: 1s }":                                                     30 * time.Second,
		"reactor: { budget: 1s, on_overrun: degrade }":                                30 * time.Second,
		"reactor: { budget: 1s, on_overrun: degrade }\ndurability: { mode: journal }": 0,
	} {
		u, diagnostics := (&builtin.Kinds{}).Parse([]byte("graph: g\naccumulators: { a: {} }\n"+rest+"\n"), "g.yaml")
		if want == 0 {
			err := diagnostics.Err()
			if err == nil || !strings.Contains(err.Error(), "conflict: what comes of the epochs") {
				t.Errorf("%s: %v", rest, err)
			}
			continue
		}
		if err := diagnostics.Err(); err != nil {
			t.Fatal(err)
		}
		if got := u.Reactor().EpochTimeout; got != want {
			t.Errorf("%s: an epoch may take %v, want %v", rest, got, want)
		}
	}
}
