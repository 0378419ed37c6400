package differential

import (
	"fmt"
	"iter"
	"os"
	"strings"
	"testing"
	"time"
)

// drawnSeeds are those of the declarations that a test draws: otherwise of them, as many as DIFF_MANY says, or the one
// that DIFF_SEED names.
func drawnSeeds(t *testing.T, otherwise int) iter.Seq[uint64] {
	t.Helper()
	read := func(name string, into any) bool {
		text := os.Getenv(name)
		if text == "" {
			return false
		}
		if _, err := fmt.Sscan(text, into); err != nil {
			t.Fatalf("%s=%s: %v", name, text, err)
		}
		return true
	}
	many, first := howMany(otherwise), uint64(0)
	if read("DIFF_SEED", &first) {
		many = 1
	}
	read("DIFF_MANY", &many)
	return func(yield func(uint64) bool) {
		for seed := first; seed < first+uint64(many) && yield(seed); seed++ {
		}
	}
}

// way is one way to run a declaration, which answers how it differs from a bounded run; "" when it does not.
type way struct {
	name string
	// fits says which declarations can go that way.
	fits func(w *wide, seed uint64) bool
	says saying
}

type saying func(w *wide, t *testing.T, doc tree, seed uint64, want *spoken) (string, error)

// lives says that a live graph answers what a run does.
func (w *wide) lives(uint64) bool { return !w.arrival }

// against compares what a way says with a run.
func against(says func(*wide, *testing.T, tree, uint64, *spoken) (*spoken, error)) saying {
	return func(w *wide, t *testing.T, doc tree, seed uint64, want *spoken) (string, error) {
		got, err := says(w, t, doc, seed, want)
		if err != nil {
			return "", err
		}
		return got.differs(want), nil
	}
}

func ways() []way {
	keeps := func(w *wide, _ uint64) bool {
		d, _ := w.doc["durability"].(tree)
		return !w.arrival && w.apart && d["mode"] != "none"
	}
	caughtUp := func(kills bool) saying {
		return against(func(w *wide, t *testing.T, doc tree, seed uint64, want *spoken) (*spoken, error) {
			return w.caughtUp(t, doc, seed, want, kills)
		})
	}
	return []way{
		{"test", func(*wide, uint64) bool { return true },
			func(w *wide, t *testing.T, doc tree, _ uint64, want *spoken) (string, error) {
				return w.tested(t, doc, want)
			}},
		{"restored", func(*wide, uint64) bool { return true }, against((*wide).restored)},
		{"catch-up", (*wide).lives, caughtUp(false)},
		{"kills", (*wide).lives, caughtUp(true)},
		{"steps", (*wide).lives, against((*wide).steps)},
		{"pushes", func(w *wide, _ uint64) bool { return !w.arrival && w.apart }, against((*wide).pushed)},
		{"paced", keeps, against((*wide).paced)},
	}
}

// M26: what a bounded run answers, the test of the declaration answers that pushes the same events, and a live graph
// that catches up, across kills, is pushed to, or reads its events as they happen. DIFF_SEED names one declaration,
// DIFF_SHRINK has one that differs made smaller for so long, DIFF_WAY names one way.
func TestM26WideEveryWayEqualsRun(t *testing.T) {
	t.Parallel()
	everyWay(t, howMany(60), ways())
}

// everyWay compares what so many declarations answer.
func everyWay(t *testing.T, many int, ways []way) {
	t.Helper()
	everyWayOf(t, many, newWide, ways)
}

// everyWayOf is that for declarations that are drawn otherwise.
func everyWayOf(t *testing.T, many int, draw func(seed uint64) *wide, ways []way) {
	t.Helper()
	compared := map[string]int{}
	seeds(t, many, func(t *testing.T, seed uint64) {
		w := draw(seed)
		want, err := w.run(t, w.doc)
		if err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, text(w.doc))
			return
		}
		for _, way := range ways {
			if only := os.Getenv("DIFF_WAY"); !way.fits(w, seed) || only != "" && only != way.name {
				continue
			}
			compared[way.name]++
			said, err := way.says(w, t, w.doc, seed, want)
			if within, bad := time.ParseDuration(os.Getenv("DIFF_SHRINK")); bad == nil && said != "" {
				w.shrunk(t, seed, way, within)
			}
			if err != nil || said != "" {
				t.Errorf("seed %d, %s: %s\n%s\n%s", seed, way.name, first(said, err), text(w.doc), w.told())
			}
		}
	})
	t.Logf("%v", compared)
}

// howMany is how many declarations a test draws: all that there are with DIFF_ALL, else so many.
func howMany(otherwise int) int {
	if os.Getenv("DIFF_ALL") != "" {
		return wideSeeds
	}
	return otherwise
}

// told are the events, as far as they can be read.
func (w *wide) told() string {
	var b strings.Builder
	for _, in := range w.inputs {
		for i, l := range in.lines {
			if i == 40 {
				fmt.Fprintf(&b, "%s: and %d more\n", in.name, len(in.lines)-i)
				break
			}
			fmt.Fprintf(&b, "%s: %s\n", in.name, l.text)
		}
	}
	return b.String()
}

// first is the first difference.
func first(said string, err error) string {
	if err != nil {
		return err.Error()
	}
	lines := strings.SplitN(said, "\n", 4)
	return strings.Join(lines[:min(len(lines), 3)], "\n")
}
