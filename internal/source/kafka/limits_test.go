package kafka

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/kafkanet/room"
	"github.com/graphd/graphd/internal/testbed"
)

// Every compression is read, with records of one byte and of many.
func TestCompression(t *testing.T) {
	each(t, func(t *testing.T, addrs []string) {
		for name, codec := range codecs() {
			topic := testbed.Topic(t, addrs, 1)
			c := client(t, addrs, kgo.ProducerBatchCompression(codec))
			big := strings.Repeat(`"0123456789`, 20_000)
			values := append(numbers(0, 1000), big, "end")
			put(t, c, topic, 0, values...)
			f := read(t, config(addrs, topic))
			f.count(t, len(values))
			if got := f.texts(); !slices.Equal(got, values) {
				t.Errorf("%s: other values came out", name)
			}
			f.end()
		}
	})
}

func codecs() map[string]kgo.CompressionCodec {
	return map[string]kgo.CompressionCodec{
		"gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(),
		"zstd": kgo.ZstdCompression(),
	}
}

// F25, F26: a record over the limit is a dead letter that shows its beginning; a batch that
// decompresses to more than its limit is one, from there on; what follows goes on. However
// large it would be, memory stays small.
func TestF26Bombs(t *testing.T) {
	each(t, func(t *testing.T, addrs []string) {
		for name, codec := range codecs() {
			topic := testbed.Topic(t, addrs, 1, "max.message.bytes=8000000")
			c := client(t, addrs, kgo.ProducerBatchCompression(codec), kgo.ProducerBatchMaxBytes(7<<20))
			put(t, c, topic, 0, "1")
			put(t, c, topic, 0, "before", strings.Repeat("x", 6<<20), "after")
			var many []string
			for range 30 {
				many = append(many, strings.Repeat("y", 200_000))
			}
			put(t, c, topic, 0, many...)
			put(t, c, topic, 0, "2")
			cfg := config(addrs, topic)
			cfg.MaxEventBytes, cfg.MaxBatchBytes = 1<<20, 4<<20
			f := read(t, cfg)
			f.until(t, "the last", func() bool { return slices.Contains(f.texts(), "2") })
			checkBombs(t, name, f)
			f.end()
		}
	})
}

func checkBombs(t *testing.T, name string, f *reading) {
	t.Helper()
	kinds := map[string]int{}
	var last int64
	for _, it := range f.Items() {
		if it.Bad != "" && len(it.Raw) > keptBytes {
			t.Errorf("%s: a dead letter of %d bytes", name, len(it.Raw))
		}
		if it.Pos.Offset <= last {
			t.Errorf("%s: position %v after %d", name, it.Pos, last)
		}
		last = it.Pos.Offset
		kinds[it.Bad]++
	}
	// The batch of one huge record is over the limit of a batch; the other one is from a record on.
	if kinds["batch_too_large"] < 1 || kinds["batch_too_large"]+kinds["too_large"] < 2 || last != 35 {
		t.Errorf("%s: %v, the last at %d", name, kinds, last)
	}
}

// A record over the limit in a batch within it is refused alone.
func TestF25TooLarge(t *testing.T) {
	each(t, func(t *testing.T, addrs []string) {
		topic := testbed.Topic(t, addrs, 1, "max.message.bytes=8000000")
		for _, codec := range []kgo.CompressionCodec{kgo.NoCompression(), kgo.ZstdCompression()} {
			c := client(t, addrs, kgo.ProducerBatchCompression(codec), kgo.ProducerBatchMaxBytes(7<<20))
			put(t, c, topic, 0, "a", strings.Repeat("x", 1<<20), strings.Repeat("y", 3<<20), "b")
			putRecords(t, c, &kgo.Record{Topic: topic, Key: bytes.Repeat([]byte("k"), 2<<20), Value: []byte("v")},
				&kgo.Record{Topic: topic, Value: []byte("c")})
		}
		cfg := config(addrs, topic)
		cfg.MaxEventBytes, cfg.MaxBatchBytes = 1<<20, 8<<20
		f := read(t, cfg)
		f.count(t, 12)
		var got []string
		for i, it := range f.Items() {
			got = append(got, it.Bad+" "+it.Raw[:min(len(it.Raw), 1)])
			if it.Pos.Offset != int64(i+1) {
				t.Errorf("event %d has position %v", i, it.Pos)
			}
		}
		once := []string{" a", " x", "too_large y", " b"}
		wantTexts(t, got, slices.Concat(once, []string{"too_large v", " c"}, once, []string{"too_large ", " c"})...)
	})
}

// A batch that is larger than the limit as it is sent is never held as a whole.
func TestF25BatchTooLarge(t *testing.T) {
	each(t, func(t *testing.T, addrs []string) {
		topic := testbed.Topic(t, addrs, 1, "max.message.bytes=50000000")
		c := client(t, addrs, kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerBatchMaxBytes(45<<20),
			kgo.BrokerMaxWriteBytes(60<<20))
		put(t, c, topic, 0, "a", strings.Repeat("x", 40<<20), "b")
		put(t, c, topic, 0, "c")
		cfg := config(addrs, topic)
		cfg.MaxEventBytes, cfg.MaxBatchBytes = 1<<20, 2<<20
		f := read(t, cfg)
		f.until(t, "the last", func() bool { return slices.Contains(f.texts(), "c") })
		wantTexts(t, f.texts()[len(f.texts())-2:], "batch_too_large", "c")
		if last := f.Items()[len(f.Items())-1].Pos.Offset; last != 4 {
			t.Errorf("the last is at %d", last)
		}
	})
}

// forge makes a record batch: header, checksum and a body as it is.
func forge(base int64, attributes int16, records int32, body []byte) []byte {
	b := make([]byte, headerSize, headerSize+len(body))
	be := binary.BigEndian
	be.PutUint64(b, uint64(base))
	be.PutUint32(b[8:], uint32(headerSize-lengthAt+len(body)))
	b[16] = 2
	be.PutUint16(b[21:], uint16(attributes))
	be.PutUint32(b[23:], uint32(records-1))
	be.PutUint32(b[57:], uint32(records))
	b = append(b, body...)
	be.PutUint32(b[17:], crc32.Checksum(b[21:], castagnoli))
	return b
}

// What lies about its size costs no memory, and what is corrupt is an error, not a value.
func TestF26Lies(t *testing.T) {
	huge := binary.AppendUvarint(nil, 3<<30) // snappy: "this block has 3 GiB"
	var framed bytes.Buffer
	framed.WriteString("\x82SNAPPY\x00" + "\x00\x00\x00\x01\x00\x00\x00\x01")
	framed.Write([]byte{0, 0, 0, byte(len(huge))})
	framed.Write(huge)
	good := forge(0, 0, 1, []byte{14, 0, 0, 0, 1, 2, 'v', 0}) // one record, "v"
	record := append(binary.AppendVarint(nil, 1<<40), 0)      // "this record has a TiB"
	for name, x := range map[string]struct {
		raw  []byte
		want string
	}{
		"snappy block":      {forge(0, 2, 1, huge), "batch_too_large"},
		"snappy framed":     {forge(0, 2, 1, framed.Bytes()), "batch_too_large"},
		"long record":       {forge(0, 0, 1, record), "error"},
		"long record in it": {forge(0, 2, 1, snappy.Encode(nil, record)), "error"},
		"many records":      {forge(0, 0, 1<<30, []byte{2, 0}), "error"},
		"negative length":   {forge(0, 0, 1, []byte{1}), "error"},
		"checksum":          {append(good[:len(good)-2:len(good)-2], 'w', 0), "error"},
		"nothing":           {good, "nothing"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := &receiver{changed: make(chan struct{}, 1)}
		cfg := config([]string{"localhost:1"}, "t")
		cfg.MaxEventBytes, cfg.MaxBatchBytes = 1<<20, 2<<20
		e := &events{cfg: &cfg, out: r, room: &room.Room{}, topic: "t", stream: "t/0"}
		batches, err := cut(x.raw, len(x.raw))
		if err == nil && len(batches) == 1 {
			err = e.batch(t.Context(), &batches[0])
		}
		got := "nothing"
		if err != nil {
			got = "error"
		} else if items := r.Items(); len(items) > 0 {
			got = items[0].Bad
		}
		if got != x.want {
			t.Errorf("%s: got %s, %v", name, got, err)
		}
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 8<<20 {
			t.Errorf("%s: %d bytes were allocated", name, grown)
		}
	}
}

// F27: records of an aborted transaction are not read; those of a committed one are, and
// so is what follows.
func TestF27Aborted(t *testing.T) {
	each(t, func(t *testing.T, addrs []string) {
		topic := testbed.Topic(t, addrs, 1)
		plain := client(t, addrs)
		put(t, plain, topic, 0, "before")
		c := client(t, addrs, kgo.TransactionalID("tx-"+topic))
		for _, commit := range []bool{false, true, false} {
			if err := c.BeginTransaction(); err != nil {
				t.Fatal(err)
			}
			put(t, c, topic, 0, "a", "b")
			how := kgo.TryAbort
			if commit {
				how = kgo.TryCommit
			}
			if err := c.EndTransaction(t.Context(), how); err != nil {
				t.Fatal(err)
			}
		}
		put(t, plain, topic, 0, "after")
		f := read(t, config(addrs, topic))
		f.until(t, "the last", func() bool { return slices.Contains(f.texts(), "after") })
		wantTexts(t, f.texts(), "before", "a", "b", "after")
		if said := f.Said(); len(said) != 1 || said[0] != accumulator.Live {
			t.Errorf("said %v", said)
		}
	})
}

// A batch is cut, checked and read without a panic, whatever is in it.
func FuzzBatch(f *testing.F) {
	f.Add(forge(3, 0, 1, []byte{14, 0, 0, 0, 1, 2, 'v', 0}), false)
	f.Add(forge(3, 2, 1, snappy.Encode(nil, []byte{14, 0, 0, 0, 1, 2, 'v', 0})), true)
	for code := range int16(5) {
		f.Add(forge(0, code, 2, []byte{1, 2, 3}), true)
	}
	f.Fuzz(func(t *testing.T, raw []byte, fix bool) {
		if fix && len(raw) >= headerSize {
			binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], castagnoli))
		}
		cfg := config([]string{"localhost:1"}, "t")
		cfg.MaxEventBytes, cfg.MaxBatchBytes = 1<<10, 1<<12
		r := &receiver{changed: make(chan struct{}, 1)}
		e := &events{cfg: &cfg, out: r, room: &room.Room{}, topic: "t", stream: "t/0"}
		batches, err := cut(raw, len(raw))
		if err != nil {
			return
		}
		tx := newTransactions([]abortedTransaction{{producer: 1, first: 1}})
		for i := range batches {
			if tx.counts(&batches[i]) && e.batch(t.Context(), &batches[i]) != nil {
				return
			}
		}
	})
}
