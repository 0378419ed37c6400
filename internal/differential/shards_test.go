package differential

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/boundary/partitioner"
	"github.com/graphd/graphd/internal/job"
	"github.com/graphd/graphd/internal/sink/stdout"
	"github.com/graphd/graphd/internal/source/file"
)

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

// flushes reports whether what is open at the end of the run is handed over: not where that alone has the shards run as
// one.
func (w *wide) flushes(seed uint64) bool {
	u, err := w.compile(w.doc)
	return seed%3 != 0 && (err != nil || u.OneCore() != "" || u.OneRun(true) == "")
}

// shardNumbers are the numbers of shards that are compared, and shardCores those of cores.
func shardNumbers() []int { return []int{1, 2, 7, 64} }
func shardCores() []int   { return []int{1, 2, 8} }

// onCores says where the declaration that is run on so many cores says something else than one shard on one core does
// with each event decoded in its turn; "" for nowhere.
func (w *wide) onCores(t *testing.T, seed uint64, doc tree, want string) string {
	own := w.doc
	defer func() { w.doc = own }()
	w.doc = doc
	for c, cores := range shardCores() {
		runtime.GOMAXPROCS(cores)
		for k, shards := range shardNumbers() {
			got, err := w.all(t, shards, []int{1, 3, 17, 0}[(int(seed)+k+c)%4], 0, w.flushes(seed))
			if err != nil || got != want {
				return fmt.Sprintf("%d shards on %d cores: %v: %s", shards, cores, err, where(got, want))
			}
		}
	}
	return ""
}

// M48, M50, M51: what a bounded run says is the same to the byte for every number of shards and of cores: outputs with
// their epochs, dead letters in their order, and books. So it is where keys are dealt as a producer deals them.
func TestM51ShardsSayWhatOneSays(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	many, values, late, dead, partitioned := 0, 0, 0, 0, 0
	drawn := map[string]int{}
	began := time.Now()
	for seed := range drawnSeeds(t, shardDeclarations(t)) {
		many++
		w := newDealt(seed)
		want, err := w.all(t, 1, 0, -1, w.flushes(seed)) // each event decoded when its turn comes
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
		docs := []tree{w.doc}
		if by := w.partitioned(seed); by != nil {
			partitioned++
			docs = append(docs, by)
		}
		for _, doc := range docs {
			if why := w.onCores(t, seed, doc, want); why != "" {
				t.Errorf("seed %d, %s\n%s\n%s", seed, why, text(doc), w.told())
			}
		}
	}
	t.Logf("%d declarations for %v shards on %v cores, %d by partitions, %d lines, %d dead letters, %d late, in %s: %v",
		many, shardNumbers(), shardCores(), partitioned, values, dead, late, time.Since(began), drawn)
}

// partitioned is the declaration with inputs whose producers deal the keys; nil where that cannot be.
func (w *wide) partitioned(seed uint64) tree {
	var doc tree
	if err := json.Unmarshal(text(w.doc), &doc); err != nil {
		panic(err)
	}
	names := partitioner.Names()
	by, some := names[int(seed)%len(names)], false
	accs, _ := doc["accumulators"].(tree)
	for _, name := range slices.Sorted(keysOf(accs)) {
		acc, _ := accs[name].(tree)
		if acc["table"] != nil || acc["global"] != nil || some && seed%2 == 0 {
			continue // one that does not say it is dealt by the same function
		}
		acc["source"] = tree{"kafka": tree{"brokers": "127.0.0.1:9", "topic": name}}
		acc["partitioned"], some = by, true
	}
	if _, err := w.compile(doc); err != nil || !some {
		return nil
	}
	return doc
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
