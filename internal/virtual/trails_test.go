package virtual_test

import (
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/reactor/form"
)

// M26, M28, M29: that a side trails no more is of the same moment as what the core has taken in: the checkpoint says
// so, and what the journal has behind it; an earlier release does not say it, and a side of another join begins.
func TestM28WhichSidesTrailIsKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		now           string
		before, after bool // that it was caught up before the checkpoint, and behind it
		says, trails  bool
	}{
		"sealed":               {joinedOn, true, true, true, false},
		"sealed, and trails":   {joinedOn, true, false, true, true},
		"journaled":            {joinedOn, false, true, true, false},
		"never":                {joinedOn, false, false, true, true},
		"the join is the same": {joinedLonger, true, true, true, false},
		"of another join":      {joinedOnAt, true, true, true, true},
		"of another source": {strings.Replace(joinedOn, "a: {", "a: { source: { file: { path: x.ndjson } },", 1), true,
			true, true, true},
		"no join":                 {notJoined, true, true, true, true},
		"an earlier release":      {joinedOn, true, true, false, true},
		"it says nothing of that": {joinedOn, false, false, false, true},
	} {
		for _, sealed := range []bool{false, true} {
			j := newJournaled(t, declared(t, joinedOn))
			j.core.Trail(0, !c.before)
			j.entries = append(j.entries, j.core.DrainJournal()...)
			j.takeInto(0, 100, order("x", 100))
			if sealed {
				j.seal()
			}
			j.core.Trail(0, !c.after)
			j.entries = append(j.entries, j.core.DrainJournal()...)
			if j.core.Trails(0) == c.after {
				t.Errorf("%s: it trails: %t", name, !c.after)
			}
			if !c.says {
				m, there, err := form.ReadMeta(j.head.Meta)
				if err != nil {
					t.Fatal(err)
				}
				if m.Caught = nil; there {
					j.head.Meta = m.Append(nil)
				}
				for i := range j.entries { // such a name is nobody's, so it is as if it were not there
					j.entries[i].Data = []byte(strings.ReplaceAll(string(j.entries[i].Data), " caught", " elders"))
				}
			}
			j.u = declared(t, c.now)
			if core := j.replayed(); core.Trails(0) != c.trails || !core.Trails(1) {
				t.Errorf("%s, sealed %t: the sides trail: %t, %t", name, sealed, core.Trails(0), core.Trails(1))
			}
		}
	}

	// A start that an earlier release has written behind the checkpoint does not say it.
	for elder, trails := range map[string]bool{" caught": false, " elders": true} {
		j := newJournaled(t, declared(t, joinedOn))
		j.core.Trail(0, false)
		j.takeInto(0, 100, order("x", 100))
		j.seal()
		j.core.Begin()
		j.entries = append(j.entries, j.core.DrainJournal()...)
		for i := range j.entries {
			j.entries[i].Data = []byte(strings.ReplaceAll(string(j.entries[i].Data), " caught", elder))
		}
		if core := j.replayed(); core.Trails(0) != trails {
			t.Errorf("%s: it trails: %t", elder, core.Trails(0))
		}
	}
}
