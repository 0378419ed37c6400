package partitioner_test

import (
	"bytes"
	"hash/fnv"
	"math/rand/v2"
	"testing"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/boundary/partitioner"
)

// M49: the functions are those of the client libraries, for keys of every length and number of partitions.
func TestM49FunctionsAreThoseOfTheClients(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	sarama := kgo.SaramaCompatHasher(func(b []byte) uint32 { h := fnv.New32a(); h.Write(b); return h.Sum32() })
	java := kgo.StickyKeyPartitioner(nil).ForTopic("t")
	for i := range 20_000 {
		key := make([]byte, i%67)
		for k := range key {
			key[k] = byte(rng.Uint32())
		}
		n := 1 + rng.IntN(200)
		all := make([]int, n)
		for p := range all {
			all[p] = p
		}
		msg := kafka.Message{Key: key}
		for f, want := range map[partitioner.Function]int{
			partitioner.Murmur2:        kafka.Murmur2Balancer{Consistent: true}.Balance(msg, all...),
			partitioner.CRC32:          kafka.CRC32Balancer{Consistent: true}.Balance(msg, all...),
			partitioner.FNV1a:          (&kafka.Hash{}).Balance(msg, all...),
			partitioner.FNV1aReference: (&kafka.ReferenceHash{}).Balance(msg, all...),
		} {
			if got := f.Partition(key, n); got != want {
				t.Fatalf("%s of %x in %d partitions: %d, want %d", f, key, n, got, want)
			}
		}
		if want := java.Partition(&kgo.Record{Key: key}, n); want != partitioner.Murmur2.Partition(key, n) {
			t.Fatalf("murmur2 of %x in %d partitions: franz-go has %d", key, n, want)
		}
		if want := sarama(key, n); want != partitioner.FNV1a.Partition(key, n) {
			t.Fatalf("fnv1a of %x in %d partitions: franz-go has %d", key, n, want)
		}
	}
}

// M49: the Java client itself: BuiltInPartitioner.partitionForKey of kafka-clients 4.1.1, for 8, 12, 64 and 1,000
// partitions.
func TestM49Murmur2IsJavas(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		key  string
		want [4]int
	}{
		{``, [4]int{1, 9, 25, 681}},
		{`a`, [4]int{4, 4, 60, 524}},
		{`ab`, [4]int{2, 2, 42, 434}},
		{`abc`, [4]int{3, 3, 27, 107}},
		{`abcd`, [4]int{4, 8, 52, 100}},
		{`AAPL`, [4]int{1, 9, 17, 177}},
		{`7`, [4]int{3, 3, 51, 99}},
		{`-12`, [4]int{3, 7, 27, 467}},
		{`true`, [4]int{2, 10, 18, 746}},
		{`Zürich`, [4]int{1, 1, 49, 833}},
		{`日本`, [4]int{3, 3, 51, 627}},
		{`customer-0000000017`, [4]int{3, 7, 27, 51}},
		{`the quick brown fox jumps over the lazy dog`, [4]int{0, 4, 8, 968}},
	} {
		f, key := partitioner.Murmur2, []byte(c.key)
		got := [4]int{f.Partition(key, 8), f.Partition(key, 12), f.Partition(key, 64), f.Partition(key, 1000)}
		if got != c.want {
			t.Errorf("%q is dealt to %v, want %v", c.key, got, c.want)
		}
	}
}

// M49: the shard of a key is its partition modulo the number of shards, for every multiple of it; of the bytes that a
// record's key has.
func TestM49ShardFollowsFromThePartition(t *testing.T) {
	t.Parallel()
	keys := map[string]boundary.Key{
		"AAPL": boundary.KeyOf(boundary.String("AAPL")), "": boundary.KeyOf(boundary.String("")),
		"7": boundary.KeyOf(boundary.Int(7)), "-12": boundary.KeyOf(boundary.Int(-12)),
		"true":           boundary.KeyOf(boundary.Bool(true)),
		"Zürich \"1\"\n": boundary.KeyOf(boundary.String("Zürich \"1\"\n")),
		`a\b`:            boundary.KeyOf(boundary.String(`a\b`)),
		"<&>\u2028":      boundary.KeyOf(boundary.String("<&>\u2028")),
	}
	for record, key := range keys {
		if got := partitioner.Record([]byte(key)); !bytes.Equal(got, []byte(record)) {
			t.Errorf("the record's key of %s is %q, want %q", key, got, record)
		}
		for _, name := range partitioner.Names() {
			f, ok := partitioner.Named(name)
			if !ok || f.String() != name {
				t.Fatalf("%q is %v, %v", name, f, ok)
			}
			for _, n := range []int{1, 2, 3, 8, 64} {
				for times := 1; times < 20; times++ {
					if want := f.Partition([]byte(record), n*times) % n; f.Shard([]byte(key), n) != want {
						t.Errorf("%s: %s is in shard %d of %d, and of %d partitions in that of %d", f, key,
							f.Shard([]byte(key), n), n, n*times, want)
					}
				}
			}
		}
		if partitioner.Own.Shard([]byte(key), 7) != key.Shard(7) {
			t.Errorf("%s is dealt by another function than its own", key)
		}
	}
	if _, ok := partitioner.Named("md5"); ok {
		t.Error("md5 is a function")
	}
}
