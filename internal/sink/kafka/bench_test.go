package kafka

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/kafkanet"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/sink/sinktest"
)

// BenchmarkDeliver writes batches to a broker that takes them and keeps nothing. Figures are per record.
func BenchmarkDeliver(b *testing.B) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "t"), kfake.BlackholeProduce())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	s, err := New(Config{Config: kafkanet.Config{Brokers: c.ListenAddrs()}, Topic: "t"})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close(b.Context())
	shape := boundary.NewShape("symbol", "mid")
	batch := make([]sink.Message, 1000)
	for i := range batch {
		batch[i] = sinktest.Message("signals", int64(i), boundary.Object(shape, []boundary.Value{
			boundary.String("SYM001"), boundary.Float(float64(i) / 8),
		}))
	}
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; n += len(batch) {
		if err := s.Deliver(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
}
