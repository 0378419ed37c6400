package differential

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/api"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

// M21, M26: a graph that halts on a failed epoch has said by then what a bounded run says before that epoch, and says
// nothing more, however often it is killed and tries again. A graph that ticks is not killed here: what a tick had fail
// is not tried again by the next life where the next epoch is another key's, and that goes on (seed 109).
func TestM21WideHaltsBeforeWhatFails(t *testing.T) {
	t.Parallel()
	compared := 0
	seeds(t, howMany(60), func(t *testing.T, seed uint64) {
		w := newWide(seed)
		want, err := w.run(t, w.doc)
		if err != nil {
			t.Fatal(err)
		}
		if w.arrival || want.failed == 0 {
			return
		}
		compared++
		for _, kills := range []bool{false, true} {
			if kills && w.ticks() {
				continue
			}
			got, at, err := w.halted(t, seed, want.failed, kills)
			if err == nil {
				got.books = nil // of what is behind the halt nothing is promised
				said := got.differs(want.before(min(at, want.failed)))
				if said != "" {
					err = fmt.Errorf("%s", said)
				}
			}
			if err != nil {
				t.Errorf("seed %d, kills %t: %v\n%s\n%s", seed, kills, err, text(w.doc), w.told())
			}
		}
	})
	t.Logf("%d declarations have an epoch that fails", compared)
}

// before is what was said before an epoch, without the books.
func (s *spoken) before(epoch int64) *spoken {
	b := newSpoken()
	for name, lines := range s.outputs {
		for _, line := range lines {
			if n, _, _ := strings.Cut(line, " "); atoi(n) < epoch {
				b.outputs[name] = append(b.outputs[name], line)
			}
		}
	}
	return b
}

func atoi(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// halted is what a live graph says that catches up and halts, and at which epoch that is.
func (w *wide) halted(t *testing.T, seed uint64, at int64, kills bool) (s *spoken, halted int64, err error) {
	dir := t.TempDir()
	for _, in := range w.inputs {
		if err := in.append(dir, in.texts()...); err != nil {
			return nil, 0, err
		}
	}
	live, err := written(w.doc, func(doc tree) {
		w.overFiles(dir, false)(doc)
		d := w.often(doc, seed)
		d["on_failure"] = "halt"
		doc["durability"] = d
	})
	if err != nil {
		return nil, 0, err
	}
	store, out := memstore.NewSeeded(seed), &safeBuffer{}
	defer store.Close()
	for life := int64(0); life < 300; life++ {
		commits := int64(eternal)
		if kills {
			commits = min(life, 1) + life/4
		}
		l, err := begin(t, newMortal(store, commits), live, out)
		if err == nil {
			halted, err = l.halts(at, w.ticks())
		}
		_ = l.e.Close() // a dead store cannot take the last checkpoint
		if l.died() {
			continue
		}
		s = newSpoken()
		if err == nil {
			err = s.values(out.b.Bytes())
		}
		if err == nil {
			err = s.files(dir, false)
		}
		return s, halted, err
	}
	return nil, 0, fmt.Errorf("the graph does not get to what fails")
}

// ticks reports whether the graph has epochs that take no events: no letter tells that one of them has failed.
func (w *wide) ticks() bool {
	reactor, _ := w.doc["reactor"].(tree)
	return reactor["every"] != nil
}

// halts waits until the graph has halted at an epoch or, after it has tried that again, a later one, and all is
// delivered; or until the store has died. It may be an earlier one where the graph ticks.
func (l *life) halts(at int64, ticks bool) (int64, error) {
	var sum api.GraphSummary
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if l.died() {
			return 0, nil
		}
		var err error
		if sum, err = l.e.Graph(l.t.Context(), wideRef); err != nil {
			return 0, err
		}
		pending := slices.ContainsFunc(sum.Outputs, func(o api.OutputSummary) bool { return o.Pending > 0 })
		if sum.Health == "halted" && !pending && l.checkpoint() == nil {
			if sum.Epoch < at && !ticks {
				return 0, fmt.Errorf("it has halted at epoch %d: %+v", sum.Epoch, sum.HealthReason)
			}
			return sum.Epoch, nil
		}
	}
	return 0, fmt.Errorf("it does not halt: %s", text(sum))
}
