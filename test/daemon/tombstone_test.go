package daemon

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/internal/testbed"
)

const merchantsOfKafka = `graph: fraud
accumulators:
  payments: { strategy: sequential, time: event.at }
  merchants:
    source: { kafka: { topic: %q } }
    schema: { type: [object, "null"], properties: { risk: { type: integer } } }
    time: meta.timestamp
    table: { key: meta.key, as_of: event }
nodes:
  risk: { expr: 'merchants[payments.m]?.risk' }
outputs:
  risks: { from: risk, sink: { drop: {} } }
`

// M3: the tombstones of a compacted topic delete the rows of their keys.
func TestTombstonesOfATopicDeleteRows(t *testing.T) {
	addrs := testbed.Kafka(t)
	topic := testbed.Topic(t, addrs, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	if err := kafkaClient(t, addrs).ProduceSync(ctx,
		&kgo.Record{Topic: topic, Key: []byte("m1"), Value: []byte(`{"risk":5}`)},
		&kgo.Record{Topic: topic, Key: []byte("m2"), Value: []byte(`{"risk":6}`)},
		&kgo.Record{Topic: topic, Key: []byte("m1")},
	).FirstErr(); err != nil {
		t.Fatal(err)
	}
	d := startDaemon(t, graphd.Config{Data: t.TempDir(), KafkaBrokers: addrs})
	d.do("PUT", "/v1/graphs/fraud", fmt.Sprintf(merchantsOfKafka, topic), 201, nil)
	d.until("the tombstone is in", func() bool { s := d.summary("fraud"); return s.Counters.Received == 3 })
	var got struct {
		Row struct {
			Found bool
			Rows  int
		}
	}
	d.do("GET", "/v1/graphs/fraud/accumulators/merchants?row=m1", "", 200, &got)
	if got.Row.Found || got.Row.Rows != 1 {
		t.Errorf("after its tombstone: %+v", got.Row)
	}
}
