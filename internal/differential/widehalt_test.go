package differential

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/api"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

// M21, M26: a graph that halts on a failed epoch has said by then what a bounded run says before that epoch, and says
// nothing more, however often it is killed and tries again, whatever has made the epoch.
func TestM21WideHaltsBeforeWhatFails(t *testing.T) {
	t.Parallel()
	compared := 0
	seeds(t, howMany(60), func(t *testing.T, seed uint64) {
		w := newWide(seed)
		want, err := w.run(t, w.doc)
		if err != nil {
			t.Fatal(err)
		}
		if w.arrival || want.stats.Failed == 0 {
			return
		}
		// Of a tick no letter tells that it has failed: a run that halts too ends with it.
		ends, err := w.run(t, w.halting(seed))
		if err != nil {
			t.Fatal(err)
		}
		at := ends.stats.Epochs
		if ends.stats.Failed != 1 {
			t.Fatalf("seed %d: a run that halts has %d failed epochs", seed, ends.stats.Failed)
		}
		compared++
		for _, kills := range []bool{false, true} {
			got, err := w.halted(t, seed, at, kills)
			if err == nil {
				got.books = nil // of what is behind the halt nothing is promised
				if said := got.differs(want.before(at)); said != "" {
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

// halting is the declaration where it halts.
func (w *wide) halting(seed uint64) tree {
	own := maps.Clone(w.doc)
	if d, ok := own["durability"].(tree); ok {
		own["durability"] = maps.Clone(d)
	}
	d := w.often(own, seed)
	d["on_failure"] = "halt"
	own["durability"] = d
	return own
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

// halted is what a live graph says that catches up and halts at an epoch.
func (w *wide) halted(t *testing.T, seed uint64, at int64, kills bool) (s *spoken, err error) {
	dir := t.TempDir()
	for _, in := range w.inputs {
		if err := in.append(dir, in.texts()...); err != nil {
			return nil, err
		}
	}
	live, err := written(w.halting(seed), w.overFiles(dir, false))
	if err != nil {
		return nil, err
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
			err = l.halts(at)
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
		return s, err
	}
	return nil, fmt.Errorf("the graph does not get to what fails")
}

// halts waits until the graph has halted at an epoch or, after it has tried that again, a later one, and all is
// delivered; or until the store has died.
func (l *life) halts(at int64) error {
	var sum api.GraphSummary
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if l.died() {
			return nil
		}
		var err error
		if sum, err = l.e.Graph(l.t.Context(), wideRef); err != nil {
			return err
		}
		pending := slices.ContainsFunc(sum.Outputs, func(o api.OutputSummary) bool { return o.Pending > 0 })
		if sum.Health == "halted" && !pending && l.checkpoint() == nil {
			if sum.Epoch < at {
				return fmt.Errorf("it has halted at epoch %d: %+v", sum.Epoch, sum.HealthReason)
			}
			return nil
		}
	}
	return fmt.Errorf("it does not halt: %s", text(sum))
}
