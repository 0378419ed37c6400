package kafka

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/kafkanet/room"
)

// keeps takes in what it is given and holds on to it.
type keeps struct {
	receiver
	given []boundary.Event
}

func (k *keeps) Emit(_ context.Context, batch []boundary.Event) error {
	k.given = append(k.given, batch...)
	return nil
}

// What an answer has of many partitions, a record or two of each, takes room for those and not for hundreds of each,
// and nothing that was handed over is written over.
func TestRecordsOfManyPartitionsTakeLittleRoom(t *testing.T) {
	cfg := config([]string{"localhost:1"}, "t")
	cfg.MaxEventBytes, cfg.MaxBatchBytes = 1<<20, 2<<20
	out, shared := &keeps{}, &room.Room{}
	const partitions, rounds = 64, 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for n := range partitions * rounds {
		body := fmt.Appendf([]byte{26, 0, 0, 0, 1, 14}, `{"n":%1d}`, n%10) // a record: no key, a value of seven bytes
		body = append(body, 0)
		body[0] = byte(2 * (len(body) - 1))
		batches, err := cut(forge(int64(n), 0, 1, body), headerSize+len(body))
		if err != nil || len(batches) != 1 {
			t.Fatal(err, len(batches))
		}
		e := &events{cfg: &cfg, out: out, room: shared, topic: "t", id: int32(n % partitions),
			stream: fmt.Sprintf("t/%d", n%partitions), many: batches[0].count}
		if err := e.batch(t.Context(), &batches[0]); err != nil {
			t.Fatal(err)
		}
		if err := e.flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / (partitions * rounds); each > 8<<10 {
		t.Errorf("a record took %d bytes", each)
	}
	for n := range out.given {
		ev := &out.given[n]
		if want := fmt.Sprintf(`{"n":%d}`, n%10); string(ev.Raw) != want || ev.Meta.Offset != int64(n) ||
			int(ev.Meta.Partition) != n%partitions {
			t.Fatalf("record %d is %s of %+v", n, ev.Raw, ev.Meta)
		}
	}
	if len(out.given) != partitions*rounds {
		t.Errorf("%d records", len(out.given))
	}
}
