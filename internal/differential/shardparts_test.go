package differential

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/graphd/graphd/internal/boundary/partitioner"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/testbed"
)

// topics are those of a Kafka in this process.
type topics struct {
	addrs  []string
	client *kgo.Client
}

func newTopics(t *testing.T) *topics {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return &topics{c.ListenAddrs(), client}
}

// parted is a declaration some of whose inputs are dealt to shards by their producers.
type parted struct {
	doc    tree
	by     partitioner.Function
	inputs map[string]bool
}

// byPartitions is the declaration with inputs that are topics; nil where none can be, or what comes of it is not known:
// an input whose own events are in disorder is put in order by its partitions, or is not, as they happen to be dealt.
func (w *wide) byPartitions(seed uint64) *parted {
	if !w.apart || w.asOne || w.broken || len(w.by) > 1 {
		return nil
	}
	doc := w.partitioned(seed)
	if doc == nil {
		return nil
	}
	p := &parted{doc: doc, inputs: map[string]bool{}}
	accs, _ := doc["accumulators"].(tree)
	for _, in := range w.inputs {
		acc, _ := accs[in.name].(tree)
		by, ok := acc["partitioned"].(string)
		if !ok {
			continue
		}
		if !slices.IsSortedFunc(in.lines, func(a, b wideLine) int { return int(a.at - b.at) }) {
			delete(acc, "partitioned")
			delete(acc, "source")
			continue
		}
		p.by, _ = partitioner.Named(by)
		p.inputs[in.name] = true
	}
	if _, err := w.compile(doc); err != nil || len(p.inputs) == 0 {
		return nil
	}
	return p
}

// partition is that of an event.
func (p *parted) partition(w *wide, event string, of int) (record []byte, n int, err error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(event), &fields); err != nil {
		return nil, 0, err
	}
	record, err = recordOf(fields[w.by[0]])
	return record, p.by.Partition(record, of), err
}

// recordOf is the record's key of a key in JSON, which may be a list of one.
func recordOf(key json.RawMessage) ([]byte, error) {
	var list []json.RawMessage
	if json.Unmarshal(key, &list) == nil && len(list) == 1 {
		key = list[0]
	}
	var words string
	if bytes.HasPrefix(key, []byte(`"`)) {
		err := json.Unmarshal(key, &words)
		return []byte(words), err
	}
	return key, nil
}

// fill makes topics of the inputs, of as many partitions as there are shards, and has the declaration read them.
func (k *topics) fill(ctx context.Context, t *testing.T, w *wide, p *parted, shards int) (map[string]tree, error) {
	sources := map[string]tree{}
	for name := range p.inputs {
		topic := testbed.Topic(t, k.addrs, shards)
		sources[name] = tree{"kafka": tree{"topic": topic, "brokers": k.addrs}}
		var records []*kgo.Record
		for _, l := range w.input(name).lines {
			key, n, err := p.partition(w, l.text, shards)
			if err != nil {
				return nil, err
			}
			records = append(records, &kgo.Record{Topic: topic, Partition: int32(n), Key: key, Value: []byte(l.text)})
		}
		if err := k.client.ProduceSync(ctx, records...).FirstErr(); err != nil {
			return nil, err
		}
	}
	return sources, nil
}

// byShard is what so many shards say of which each hears of its own partitions alone: the time of an input is that of
// these (M49). Of inputs that all read, the books are how much has come.
func (w *wide) byShard(t *testing.T, p *parted, shards int) (*spoken, error) {
	all, instants := newSpoken(), w.instants()
	for shard := range shards {
		var own []instantOf
		for _, at := range instants {
			if p.inputs[at.inputs[0]] {
				at.events = [][]string{slices.DeleteFunc(slices.Clone(at.events[0]), func(e string) bool {
					_, n, err := p.partition(w, e, shards)
					return err != nil || n != shard
				})}
			}
			if len(at.events[0]) > 0 {
				own = append(own, at)
			}
		}
		of, err := w.virtuallyAt(t, w.doc, nil, own)
		if err != nil {
			return nil, err
		}
		for name, lines := range of.outputs {
			for _, line := range lines {
				rest := strings.SplitN(line, " ", 3)[2]
				whole := strings.TrimSpace(strings.TrimSuffix(rest, string(valueOf(rest))))
				key, err := recordOf(json.RawMessage(whole))
				if err != nil {
					return nil, err
				}
				if p.by.Partition(key, shards) == shard {
					all.outputs[name] = append(all.outputs[name], line)
				}
			}
		}
		for name, b := range of.books {
			c := all.books[name]
			all.books[name] = books{c.received + b.received, c.filtered + b.filtered, c.conflated + b.conflated,
				c.refused + b.refused, c.consumed + b.consumed, c.queued + b.queued}
		}
	}
	for _, in := range w.inputs {
		if !p.inputs[in.name] {
			all.books[in.name] = books{received: int64(len(in.lines))}
		}
	}
	all.shared = func(s *spoken) *spoken {
		some := newSpoken()
		for _, in := range w.inputs {
			some.books[in.name] = s.books[in.name]
			if !p.inputs[in.name] {
				some.books[in.name] = books{received: s.books[in.name].received}
			}
		}
		return some
	}
	return all, nil
}

// parts is what a live graph says each of whose shards reads its partitions of topics, and is killed on the way or not.
func (k *topics) parts(w *wide, t *testing.T, doc tree, seed uint64) (*spoken, error) {
	p := w.byPartitions(seed)
	want, err := w.byShard(t, p, w.shards)
	if err != nil {
		return nil, err
	}
	sources, err := k.fill(t.Context(), t, w, p, w.shards)
	dir, kills := t.TempDir(), seed%4 < 2
	for _, in := range w.inputs {
		if err == nil && !p.inputs[in.name] {
			err = in.append(dir, in.texts()...)
		}
	}
	if err != nil {
		return nil, err
	}
	live, err := written(p.doc, func(doc tree) {
		w.overFiles(dir, true)(doc)
		accs, _ := doc["accumulators"].(tree)
		for name, source := range sources {
			accs[name].(tree)["source"] = source
		}
		r, _ := doc["reactor"].(tree)
		r["shards"] = w.shards
		if kills {
			doc["durability"] = w.often(doc, seed)
		}
	})
	if err != nil {
		return nil, err
	}
	store, out := memstore.NewSeeded(seed), &safeBuffer{}
	defer store.Close()
	for life := int64(0); life < 100; life++ {
		commits := int64(eternal)
		if kills {
			commits = (1 + life) * int64(w.shards)
		}
		s, m := newSpoken(), newMortal(store, commits)
		m.sharded = true
		died, err := lives(t, m, live, out, w.events(), s, want)
		if err != nil {
			return nil, err
		}
		if died {
			continue
		}
		s.like = want
		return s, s.values(out.b.Bytes())
	}
	return nil, fmt.Errorf("the graph does not get through its topics")
}
