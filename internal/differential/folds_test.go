package differential

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/job"
	"github.com/graphd/graphd/internal/sink/stdout"
	"github.com/graphd/graphd/internal/source/file"
)

// M3, M5: accumulators of every kind, with and without where and emit, whose events are read
// in part or as a whole, under every policy for late events, give in a bounded run what the
// oracle gives: plain, optimised, and with memory that is spoiled as soon as it may be used
// again.
func TestFoldsEqualOracle(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	seeds(t, 600, func(t *testing.T, seed uint64) {
		p := newFoldPlan(seed)
		want, letters := p.outputs()
		for _, kinds := range []*builtin.Kinds{{Plain: true}, {}, {Spoil: true}} {
			what := fmt.Sprintf("plain %v, spoil %v:\n%s", kinds.Plain, kinds.Spoil, p.declaration())
			u, diags := kinds.Parse([]byte(p.declaration()), "random.yaml")
			if err := diags.Err(); err != nil {
				t.Fatalf("%s%v", what, err)
			}
			in, err := file.NewReader(strings.NewReader(p.lines()), file.ReaderConfig{Format: "ndjson"})
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			sink := stdout.NewOutput(&out)
			cfg := job.Config{Unit: u, Inputs: make([]job.Reader, len(u.Spec.Accumulators))}
			cfg.Inputs[0] = in
			for range u.Spec.Outputs {
				cfg.Sinks = append(cfg.Sinks, sink.Sink())
			}
			stats, err := job.Run(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, what, emitted(t, out.Bytes()), want)
			if stats.DeadLetters != int64(letters) || stats.Failed != 0 {
				t.Errorf("%s%+v, want %d dead letters and no failed epoch", what, stats, letters)
			}
		}
		seen[p.kind]++
		if p.keys() {
			seen["keys"]++
		}
		seen[p.late] += p.lateSeen
		seen["lent"] += p.lateLent
		seen["evicted"] += p.evicted
	})
	t.Logf("%v", seen)
	const all = "window count batch state fold passthrough drop dead_letter update side lent keys evicted"
	for what := range strings.FieldsSeq(all) {
		if seen[what] < 3 && !few() {
			t.Errorf("only %d of %s: too few to show anything", seen[what], what)
		}
	}
}
