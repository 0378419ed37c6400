package differential

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/job"
	"github.com/graphd/graphd/internal/sink/stdout"
	"github.com/graphd/graphd/internal/source/file"
)

// newDealt draws a declaration whose keys can be dealt, and that a bounded run does not run as one: of those
// that the wide generator draws with keys.
func newDealt(seed uint64) *wide {
	for again := uint64(0); ; again++ {
		w := &wide{r: rand.New(rand.NewPCG(seed, 77_000+again)), routes: map[string][]string{}, dealt: true}
		w.draw(seed)
		r, _ := w.doc["reactor"].(tree)
		if r == nil {
			continue
		}
		for _, perShard := range []string{"max_keys", "max_waiting_bytes"} {
			delete(r, perShard)
		}
		for _, in := range w.inputs {
			if f, ok := in.acc["fold"].(tree); ok {
				delete(f, "max_keys")
				delete(f, "max_bytes")
			}
			if win, ok := in.acc["window"].(tree); ok {
				delete(win, "early")
			}
		}
		r["shards"] = 2
		if u, err := w.compile(w.doc); err == nil && u.OneCore() == "" {
			return w
		}
	}
}

// all is everything that a run says, to the byte.
func (w *wide) all(t *testing.T, shards, batch, decoders int, flush bool) (string, error) {
	u, err := w.compile(w.doc)
	if err != nil {
		return "", err
	}
	var out, letters bytes.Buffer
	to := stdout.NewOutput(&out)
	cfg := job.Config{Unit: u, Inputs: make([]job.Reader, len(u.Spec.Accumulators)), NoFlush: !flush, Shards: shards,
		Batch: batch, Decoders: decoders}
	for i, a := range u.Spec.Accumulators {
		for _, in := range w.inputs {
			if in.name != a.Name {
				continue
			}
			if cfg.Inputs[i], err = file.NewReader(in.file(), file.ReaderConfig{Format: "ndjson"}); err != nil {
				return "", err
			}
		}
	}
	for range u.Spec.Outputs {
		cfg.Sinks = append(cfg.Sinks, to.Sink())
	}
	cfg.DeadLetter = func(l job.Letter) error {
		text, err := json.Marshal(l)
		letters.Write(append(text, '\n'))
		return err
	}
	stats, err := job.Run(t.Context(), cfg)
	if err != nil {
		return "", err
	}
	text, err := json.MarshalIndent(stats, "", " ")
	return out.String() + letters.String() + string(text), err
}

// M48, M50, M51: what a bounded run says is the same to the byte for every number of shards and of cores: outputs with
// their epochs, dead letters in their order, and books.
func TestM51ShardsSayWhatOneSays(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	many, values, late, dead := 0, 0, 0, 0
	drawn := map[string]int{}
	began := time.Now()
	for seed := range drawnSeeds(t, 60) {
		many++
		w := newDealt(seed)
		flush := seed%3 != 0
		want, err := w.all(t, 1, 0, -1, flush) // each event decoded when its turn comes
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		values += strings.Count(want, "\n")
		late += strings.Count(want, `"late"`)
		dead += strings.Count(want, `"reason":`)
		for _, word := range []string{"window", "fold", "table", "global", "debounce", "rate_limit", "every",
			"max_wait", "ttl", "guard", "all", "late", "rolling"} {
			if regexp.MustCompile(`[" (]` + word + `["_]`).Match(text(w.doc)) {
				drawn[word]++
			}
		}
		for k, shards := range []int{2, 7, 64, 1} {
			runtime.GOMAXPROCS([]int{1, 2, 8}[(int(seed)+k)%3])
			got, err := w.all(t, shards, []int{1, 3, 17, 0}[(int(seed)/3+k)%4], 0, flush)
			if err != nil || got != want {
				t.Errorf("seed %d, %d shards: %v: %s\n%s\n%s", seed, shards, err, where(got, want), text(w.doc),
					w.told())
				break
			}
		}
	}
	t.Logf("%d declarations, %d lines, %d dead letters, %d late, in %s: %v", many, values, dead, late,
		time.Since(began), drawn)
}

// where is the first line that differs.
func where(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d:\n got %s\nwant %s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}
