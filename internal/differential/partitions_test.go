package differential

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/builtin"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/engine"
	"github.com/graphd/graphd/internal/job"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/sink/stdout"
	"github.com/graphd/graphd/internal/source/file"
	"github.com/graphd/graphd/internal/testbed"
)

// M26: the partitions of a topic wait for each other in catch-up: two whose times interleave, and that were
// written one after the other, are read as a bounded run reads the same events in order.
func TestM26PartitionsTakeTheirTurn(t *testing.T) {
	t.Run("kfake", func(t *testing.T) {
		c, err := kfake.NewCluster(kfake.NumBrokers(1))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		partitions(t, c.ListenAddrs())
	})
	t.Run("kafka", func(t *testing.T) { partitions(t, testbed.Kafka(t)) })
}

func partitions(t *testing.T, addrs []string) {
	const events = 20_000
	topic := testbed.Topic(t, addrs, 2)
	client, err := kgo.NewClient(kgo.SeedBrokers(addrs...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var all strings.Builder
	for p := range 2 {
		var records []*kgo.Record
		for at := p; at < events; at += 2 {
			records = append(records, &kgo.Record{
				Topic: topic, Partition: int32(p), Value: fmt.Appendf(nil, `{"at":%d}`, at),
			})
		}
		if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	for at := range events {
		fmt.Fprintf(&all, "{\"at\":%d}\n", at)
	}
	doc := fmt.Sprintf(`graph: random
accumulators:
  a: { source: { kafka: { topic: %q, brokers: [%q] } }, time: event.at, time_unit: s, emit: event.at,
       strategy: sequential }
nodes: { n: { expr: '[now(), a]' } }
outputs: { row: { from: n, sink: { stdout: {} } } }
`, topic, addrs[0])

	u, diags := (&builtin.Kinds{}).Parse([]byte(doc), "random.yaml")
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	in, err := file.NewReader(strings.NewReader(all.String()), file.ReaderConfig{Format: "ndjson"})
	if err != nil {
		t.Fatal(err)
	}
	var ran bytes.Buffer
	cfg := job.Config{Unit: u, Inputs: []job.Reader{in}, Sinks: []sink.Sink{stdout.NewOutput(&ran).Sink()}}
	if _, err := job.Run(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}

	out := &safeBuffer{}
	e := engine.New(engine.Config{
		Store: memstore.New(), Log: slog.New(slog.DiscardHandler), ShutdownTimeout: patience,
		Kinds: &builtin.Kinds{Stdout: stdout.NewOutput(out)},
	})
	if err := e.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	ref := api.Ref{Tenant: "default", Name: "random"}
	if _, err := e.Apply(t.Context(), ref, []byte(doc), api.Change{}); err != nil {
		t.Fatal(err)
	}
	deadline := time.After(patience)
	for consumed := int64(0); consumed < events; {
		select {
		case <-deadline:
			t.Fatalf("%d of %d events in time", consumed, events)
		case <-time.After(10 * time.Millisecond):
		}
		sum, err := e.Graph(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		consumed = sum.Counters.Consumed
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	live, want := emitted(t, out.b.Bytes()), emitted(t, ran.Bytes())
	if !slices.Equal(live, want) {
		compare(t, "partitions", live, want)
	}
}
