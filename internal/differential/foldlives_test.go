package differential

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/api"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

// M28, M42: accumulators of every kind, whose events are read in part or as a whole, give live and
// across crashes at random points what the oracle gives: what is folded in is restored, an epoch
// that is run again is the same, each event is in the books once.
//
// What depends on how fast the graph is has no oracle, and is left to the bounded run: how many
// boundaries a burst takes, and how late events of an input of their own mingle with windows.
func TestLiveFoldsEqualOracleAcrossCrashes(t *testing.T) {
	t.Parallel()
	seen, crashes := map[string]int{}, 0
	seeds(t, 60, func(t *testing.T, seed uint64) {
		p := newFoldPlan(seed)
		p.strategy = "sequential"
		if p.late == "side" {
			p.late = "update"
		}
		path := filepath.Join(t.TempDir(), "in.ndjson")
		if err := os.WriteFile(path, []byte(p.lines()), 0o600); err != nil {
			t.Fatal(err)
		}
		doc := strings.Replace(p.declaration(), "path: in.ndjson", fmt.Sprintf("path: %q", path), 1) +
			fmt.Sprintf("durability: { every_epochs: %d }\n", 1+seed%3)
		want, letters := p.liveOutputs()
		store, out := memstore.NewSeeded(seed), &safeBuffer{}
		defer store.Close()
		books := func(sum *api.GraphSummary) {
			if c := sum.Counters; c.Received != int64(len(p.events)) || c.DeadLettered != int64(letters) ||
				c.Received != c.Filtered+c.DeadLettered+c.Consumed+c.Queued {
				t.Errorf("books %+v of %d events, want %d dead letters\n%s", c, len(p.events), letters, doc)
			}
			keys := sum.Accumulators[0].Keys
			if keys != nil && (p.kind != "fold" || !p.keyed || keys.Count != p.own.left || keys.Evicted != p.own.gone) {
				t.Errorf("keys %+v, want %d and %d evicted\n%s", keys, p.own.left, p.own.gone, doc)
			}
			if keys != nil {
				seen["keys"]++
			}
		}
		for life := int64(0); ; life++ {
			// The first dies with its first commit: after that epochs are committed in small numbers.
			commits := min(life, 1) + life/4
			if !alive(t, &mortal{Store: store, death: make(chan struct{})}, commits, doc, out, books) {
				break
			}
			if crashes++; life > 500 || t.Failed() {
				t.Fatal("the graph does not get through its input")
			}
		}
		got := map[string]bool{}
		var order []string
		for _, line := range emitted(t, out.b.Bytes()) {
			if !got[line] {
				got[line] = true
				order = append(order, line)
			}
		}
		for _, output := range []string{"whole", "part"} {
			compare(t, output+" of\n"+doc, of(output, order), of(output, want))
		}
		seen[p.kind]++
	})
	t.Logf("%v, %d crashes", seen, crashes)
	for what := range strings.FieldsSeq("window count batch state fold passthrough keys") {
		if !few() && (seen[what] < 3 || crashes < 60) {
			t.Errorf("%d of %s and %d crashes: too few to show anything", seen[what], what, crashes)
		}
	}
}

// liveOutputs are the outputs of a graph whose input comes to no end: what is open stays open.
func (p *foldPlan) liveOutputs() (out []string, letters int) {
	instants, _, letters := p.instants()
	epoch := 0
	for _, in := range instants {
		for _, h := range in.boundaries {
			epoch++
			out = append(out, fmt.Sprintf("%d whole %s", epoch, h.whole), fmt.Sprintf("%d part %s", epoch, h.part))
		}
	}
	return out, letters
}
