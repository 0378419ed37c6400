package kafka

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"time"
)

// batch is one record batch (message format 2) of an answer.
type batch struct {
	base, last int64 // offsets of the first and the last record it was written with
	attributes int16
	first, max int64 // times, milliseconds since 1970
	producer   int64
	epoch      int32 // of the leader that took it in
	count      int
	// body is the records, compressed as the attributes say; nil when the batch was too large to be kept.
	body []byte
	size int
	crc  uint32
	sum  []byte // what crc is of
}

// Bits of a batch's attributes.
const (
	compressionBits  = 7
	appendTimeBit    = 1 << 3
	transactionalBit = 1 << 4
	controlBit       = 1 << 5
)

func (b *batch) control() bool       { return b.attributes&controlBit != 0 }
func (b *batch) transactional() bool { return b.attributes&transactionalBit != 0 }

// headerSize is a batch's header before its records, lengthAt what its length does not count.
const (
	headerSize = 61
	lengthAt   = 12
)

// errFormat says that a log is older than this source.
var errFormat = errors.New(
	"the record has a message format older than Kafka 0.11; let the topic be rewritten by a newer broker")

// cut splits an answer's records into batches. A last one that is cut short is left for
// the next fetch, unless it is the only one: then it is larger than limit, and comes
// without its body.
func cut(records []byte, limit int) ([]batch, error) {
	var all []batch
	for len(records) >= headerSize {
		be := binary.BigEndian
		if magic := records[16]; magic < 2 {
			return nil, errFormat
		} else if magic > 2 {
			return nil, fmt.Errorf("the record has message format %d, 2 is the newest that is known", magic)
		}
		size := int64(be.Uint32(records[8:])) + lengthAt
		if size < headerSize {
			return nil, fmt.Errorf("a record batch of %d bytes is shorter than its header", size)
		}
		b := batch{
			base: int64(be.Uint64(records)), attributes: int16(be.Uint16(records[21:])),
			first: int64(be.Uint64(records[27:])), max: int64(be.Uint64(records[35:])),
			producer: int64(be.Uint64(records[43:])), count: int(int32(be.Uint32(records[57:]))),
			epoch: int32(be.Uint32(records[12:])), crc: be.Uint32(records[17:]), size: int(size),
		}
		b.last = b.base + int64(int32(be.Uint32(records[23:])))
		if b.count < 0 || b.last < b.base {
			return nil, fmt.Errorf("the record batch at offset %d is corrupt: %d records, the last at %d", b.base,
				b.count, b.last)
		}
		if int64(len(records)) < size {
			if len(all) == 0 && len(records) >= limit {
				all = append(all, b)
			}
			return all, nil
		}
		b.body, b.sum = records[headerSize:size], records[21:size]
		all = append(all, b)
		records = records[size:]
	}
	return all, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// check holds the batch against its checksum.
func (b *batch) check() error {
	if got := crc32.Checksum(b.sum, castagnoli); got != b.crc {
		return fmt.Errorf("the record batch at offset %d is corrupt: its checksum is %08x, not %08x", b.base, got,
			b.crc)
	}
	return nil
}

// millis is a record's time, in milliseconds since 1970.
func (b *batch) millis(delta int64) int64 {
	if b.attributes&appendTimeBit != 0 {
		return b.max
	}
	return b.first + delta
}

// timeOf is a record's time as events have it.
func timeOf(ms int64) time.Time {
	if ms < 0 {
		return time.Time{} // the producer gave none
	}
	return time.UnixMilli(ms)
}

// transactions knows which batches of an answer belong to transactions that were aborted.
type transactions struct {
	listed []abortedTransaction // by first offset
	open   []int64              // producers in an aborted transaction
}

func newTransactions(list []abortedTransaction) *transactions {
	slices.SortFunc(list, func(a, b abortedTransaction) int { return int(min(max(a.first-b.first, -1), 1)) })
	return &transactions{listed: list}
}

// counts reports whether a batch holds records that a reader may see. Batches are asked
// about in order.
func (t *transactions) counts(b *batch) bool {
	for len(t.listed) > 0 && t.listed[0].first <= b.last {
		t.open = append(t.open, t.listed[0].producer)
		t.listed = t.listed[1:]
	}
	if b.control() {
		if b.aborts() {
			t.open = slices.DeleteFunc(t.open, func(p int64) bool { return p == b.producer })
		}
		return false
	}
	return !b.transactional() || !slices.Contains(t.open, b.producer)
}

// aborts reports whether a control batch ends a transaction that does not count. Its one
// record's key is a version and a type, of which 0 is an abort.
func (b *batch) aborts() bool {
	w := window{buf: b.body, limit: len(b.body)}
	w.varint() // length
	w.skip(1)  // attributes
	w.varint() // time
	w.varint() // offset
	key := w.varint()
	if key < 4 || !w.need(4) {
		return false
	}
	return binary.BigEndian.Uint16(w.buf[w.at+2:]) == 0
}
