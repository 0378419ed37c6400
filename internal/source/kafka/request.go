package kafka

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/fetch"
)

// request is a fetch from one leader whose answer is read here and not by the client
// library: that one would decompress whatever the answer holds, whatever it comes to.
type request struct {
	fetch.Request
	limit   int   // bounds what is kept of one partition's records
	version int16 // of the protocol, as negotiated for the connection
}

var _ protocol.RawExchanger = (*request)(nil)

// Versions of a fetch that the answer is read in: 4 has transactions, 12 is another encoding.
const (
	minVersion = 4
	maxVersion = 11
)

// answer is what a leader has of the partitions it was asked for.
type answer struct {
	code       int16
	partitions []chunk
}

// ApiKey implements [protocol.Message].
func (*answer) ApiKey() protocol.ApiKey { return protocol.Fetch }

// chunk is what an answer holds of one partition.
type chunk struct {
	topic   string
	id      int32
	code    int16
	high    int64 // the offset after the last record that may be read
	aborted []abortedTransaction
	records []byte // record batches; the last may be cut short
}

// abortedTransaction says that what a producer wrote in a transaction does not count.
type abortedTransaction struct{ producer, first int64 }

// Required implements [protocol.RawExchanger].
func (r *request) Required(versions map[protocol.ApiKey]int16) bool {
	r.version = min(versions[protocol.Fetch], maxVersion)
	return true
}

// RawExchange implements [protocol.RawExchanger].
func (r *request) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	if r.version < minVersion {
		return nil, fmt.Errorf("the broker speaks version %d of a fetch, at least %d is needed: Kafka 0.11 or newer", r.version, minVersion)
	}
	const correlation = 1 // one request at a time is on a connection
	if err := protocol.WriteRequest(rw, r.version, correlation, "graphd", &r.Request); err != nil {
		return nil, err
	}
	d := &wire{r: rw, left: 4}
	d.left = int64(d.int32())
	if d.err == nil && d.left < 4 {
		return nil, fmt.Errorf("the answer to a fetch has %d bytes", d.left)
	}
	if id := d.int32(); d.err == nil && id != correlation {
		return nil, fmt.Errorf("the answer is to request %d, not to %d", id, correlation)
	}
	a := r.read(d)
	if d.err == nil && d.left != 0 {
		d.err = fmt.Errorf("the answer to a fetch is %d bytes longer than it says", d.left)
	}
	if d.err != nil {
		return nil, fmt.Errorf("read the answer to a fetch: %w", d.err)
	}
	return a, nil
}

// read decodes an answer in the versions 4 to 11.
func (r *request) read(d *wire) *answer {
	a := &answer{}
	d.int32() // throttle time: the broker delays, not the client
	if r.version >= 7 {
		a.code = d.int16()
		d.int32() // session
	}
	for range d.count() {
		topic := d.string()
		for range d.count() {
			c := chunk{topic: topic, id: d.int32(), code: d.int16()}
			d.int64()          // high watermark: may end within a transaction
			c.high = d.int64() // last stable offset
			if r.version >= 5 {
				d.int64() // start of the log
			}
			for range d.count() {
				c.aborted = append(c.aborted, abortedTransaction{producer: d.int64(), first: d.int64()})
			}
			if r.version >= 11 {
				d.int32() // preferred replica: none is asked for
			}
			c.records = d.bytes(r.limit)
			if d.err != nil {
				return a
			}
			a.partitions = append(a.partitions, c)
		}
	}
	return a
}

// wire reads the primitives of the protocol. After an error everything is zero.
type wire struct {
	r    io.Reader
	left int64 // of the message
	err  error
	buf  [8]byte
}

func (d *wire) read(n int) []byte {
	clear(d.buf[:])
	if d.err == nil && int64(n) > d.left {
		d.err = errors.New("it ends too soon")
	}
	if d.err == nil {
		d.left -= int64(n)
		_, d.err = io.ReadFull(d.r, d.buf[:n])
	}
	if d.err != nil {
		clear(d.buf[:])
	}
	return d.buf[:n]
}

func (d *wire) int16() int16 { return int16(binary.BigEndian.Uint16(d.read(2))) }
func (d *wire) int32() int32 { return int32(binary.BigEndian.Uint32(d.read(4))) }
func (d *wire) int64() int64 { return int64(binary.BigEndian.Uint64(d.read(8))) }

// count is the length of an array; an entry takes at least two bytes.
func (d *wire) count() int {
	n := int64(d.int32())
	if n > d.left/2 {
		d.err = fmt.Errorf("an array of %d entries does not fit into it", n)
		return 0
	}
	return int(max(n, 0)) // -1 is no array
}

func (d *wire) string() string {
	n := int(d.int16())
	if n <= 0 || d.err != nil {
		return ""
	}
	return string(d.bytesOf(n, n))
}

// bytes reads bytes of a length given before them, and keeps at most limit of them.
func (d *wire) bytes(limit int) []byte {
	n := int(d.int32())
	if n <= 0 || d.err != nil {
		return nil
	}
	return d.bytesOf(n, min(n, limit))
}

// bytesOf reads n bytes and keeps the first of them.
func (d *wire) bytesOf(n, keep int) []byte {
	if int64(n) > d.left {
		d.err = errors.New("it ends too soon")
		return nil
	}
	d.left -= int64(n)
	b := make([]byte, keep)
	if _, d.err = io.ReadFull(d.r, b); d.err != nil {
		return nil
	}
	_, d.err = io.CopyN(io.Discard, d.r, int64(n-keep))
	return b
}
