package partitioner

import (
	"bytes"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"

	"github.com/graphd/graphd/internal/boundary"
)

// Function is how keys are dealt. The zero Function is graphd's own, [boundary.Key.Shard].
type Function uint8

// The functions. What one says of a key is in topics and stores, and never changes.
const (
	Own Function = iota
	// Murmur2 is that of the Java client and of what follows it: the murmur2 and murmur2_random of librdkafka.
	Murmur2
	// CRC32 is the consistent and consistent_random of librdkafka, which is its default.
	CRC32
	// FNV1a is that of Sarama's NewHashPartitioner, of librdkafka's fnv1a and of kafka-go's Hash.
	FNV1a
	// FNV1aReference is that of Sarama's NewReferenceHashPartitioner and of kafka-go's ReferenceHash.
	FNV1aReference
)

var names = [...]string{Own: "", Murmur2: "murmur2", CRC32: "crc32", FNV1a: "fnv1a", FNV1aReference: "fnv1a_reference"}

// Names are those that a declaration can say, the usual one first.
func Names() []string { return slices.Clone(names[Murmur2:]) }

// Named is the function with a name; "" is [Own].
func Named(name string) (f Function, ok bool) {
	i := slices.Index(names[:], name)
	return Function(max(i, 0)), i >= 0
}

// String is the name.
func (f Function) String() string { return names[f] }

// Shard is which of n shards a key belongs to, given as the bytes of a [boundary.Key] of one part.
func (f Function) Shard(key []byte, n int) int {
	if f == Own {
		return boundary.ShardOf(key, n)
	}
	return f.Partition(Record(key), n)
}

// Partition is which of n partitions a record belongs in whose key has these bytes. It is not for [Own].
func (f Function) Partition(record []byte, n int) int {
	h := uint32(0)
	switch f {
	case Murmur2:
		h = murmur2(record) & 0x7fffffff
	case CRC32:
		h = crc32.ChecksumIEEE(record)
	case FNV1a:
		if h = fnv1a(record); int32(h) < 0 {
			h = -h // the absolute value, of the least number too
		}
	default:
		h = fnv1a(record) & 0x7fffffff
	}
	return int(h % uint32(n))
}

// Record is the key as the bytes of a record's: a text is its UTF-8, a whole number its decimal digits, a boolean true
// or false. It shares the key's memory where it can.
func Record(key []byte) []byte {
	if n := len(key) - 1; n > 0 && key[0] == '"' {
		text := key[1:n]
		if bytes.IndexByte(text, '\\') < 0 {
			return text
		}
		s, _ := boundary.Key(key).Value().AsString()
		return []byte(s)
	}
	return key
}

// NumberOf is the number of the partition that a stream is, which is named topic/number; -1 of one that is not.
func NumberOf(stream string) int {
	stream = boundary.Partition(stream)
	slash := strings.LastIndexByte(stream, '/')
	n, err := strconv.ParseUint(stream[slash+1:], 10, 31)
	if err != nil || slash < 0 {
		return -1
	}
	return int(n)
}

// murmur2 is the 32 bits of Austin Appleby's MurmurHash2, as the Java client computes it.
func murmur2(data []byte) uint32 {
	const seed, m = 0x9747b28c, 0x5bd1e995
	h := seed ^ uint32(len(data))
	for ; len(data) >= 4; data = data[4:] {
		k := uint32(data[0]) | uint32(data[1])<<8 | uint32(data[2])<<16 | uint32(data[3])<<24
		k *= m
		k ^= k >> 24
		h = h*m ^ k*m
	}
	switch len(data) {
	case 3:
		h ^= uint32(data[2]) << 16
		fallthrough
	case 2:
		h ^= uint32(data[1]) << 8
		fallthrough
	case 1:
		h = (h ^ uint32(data[0])) * m
	}
	h = (h ^ h>>13) * m
	return h ^ h>>15
}

func fnv1a(data []byte) uint32 {
	h := uint32(2166136261)
	for _, c := range data {
		h = (h ^ uint32(c)) * 16777619
	}
	return h
}
