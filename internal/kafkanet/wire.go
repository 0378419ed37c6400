package kafkanet

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/segmentio/kafka-go/protocol"
)

// TopicID is what the cluster calls a topic. A topic that is deleted and made anew under
// its name has another one. The zero TopicID says that none is known.
type TopicID [16]byte

// IsZero reports whether no id is known.
func (t TopicID) IsZero() bool { return t == TopicID{} }

// String is the id as Kafka's own tools show it.
func (t TopicID) String() string { return base64.RawURLEncoding.EncodeToString(t[:]) }

// ParseTopicID is the inverse of String.
func ParseTopicID(text string) (id TopicID, ok bool) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) != len(id) {
		return id, false
	}
	return TopicID(b), true
}

// Correlation numbers a request: one at a time is on a connection, so that all have one number.
const Correlation = 1

// Encoder writes one request of a version that the client library does not know.
type Encoder struct{ b []byte }

// NewEncoder begins a request. A flexible one is of the encoding that has tagged fields.
func NewEncoder(key protocol.ApiKey, version int16, flexible bool) *Encoder {
	e := &Encoder{b: make([]byte, 4, 256)} // the length is set at the end
	e.Int16(int16(key))
	e.Int16(version)
	e.Int32(Correlation)
	e.Int16(int16(len(ClientID)))
	e.b = append(e.b, ClientID...)
	if flexible {
		e.NoTags()
	}
	return e
}

// Int8 writes one byte.
func (e *Encoder) Int8(n int8) { e.b = append(e.b, byte(n)) }

// Int16 writes a number of two bytes.
func (e *Encoder) Int16(n int16) { e.b = binary.BigEndian.AppendUint16(e.b, uint16(n)) }

// Int32 writes a number of four bytes.
func (e *Encoder) Int32(n int32) { e.b = binary.BigEndian.AppendUint32(e.b, uint32(n)) }

// Int64 writes a number of eight bytes.
func (e *Encoder) Int64(n int64) { e.b = binary.BigEndian.AppendUint64(e.b, uint64(n)) }

// ID writes a topic's id.
func (e *Encoder) ID(id TopicID) { e.b = append(e.b, id[:]...) }

// Count writes how many entries a compact array has.
func (e *Encoder) Count(n int) { e.b = binary.AppendUvarint(e.b, uint64(n)+1) }

// String writes a compact string.
func (e *Encoder) String(s string) {
	e.Count(len(s))
	e.b = append(e.b, s...)
}

// NoTags ends a structure that has no tagged fields.
func (e *Encoder) NoTags() { e.b = append(e.b, 0) }

// Send sends the request and begins to read its answer.
func (e *Encoder) Send(rw io.ReadWriter) (*Decoder, error) {
	binary.BigEndian.PutUint32(e.b, uint32(len(e.b)-4))
	if _, err := rw.Write(e.b); err != nil {
		return nil, err
	}
	return Answer(rw)
}

// Answer begins to read the answer to a request that has been sent.
func Answer(r io.Reader) (*Decoder, error) {
	d := &Decoder{r: r, left: 4}
	d.left = int64(d.Int32())
	if d.err == nil && d.left < 4 {
		return nil, fmt.Errorf("an answer of %d bytes", d.left)
	}
	if id := d.Int32(); d.err == nil && id != Correlation {
		return nil, fmt.Errorf("the answer is to request %d, not to %d", id, Correlation)
	}
	return d, d.err
}

// Decoder reads the primitives of the protocol. After an error everything is zero.
type Decoder struct {
	r    io.Reader
	left int64 // of the message
	err  error
	buf  [8]byte
}

// End says whether the answer was read well, and to its end.
func (d *Decoder) End() error {
	if d.err == nil && d.left != 0 {
		d.err = fmt.Errorf("it is %d bytes longer than it says", d.left)
	}
	return d.err
}

// Err is the first error.
func (d *Decoder) Err() error { return d.err }

func (d *Decoder) read(n int) []byte {
	clear(d.buf[:])
	if d.err == nil && int64(n) > d.left {
		d.err = errShort
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

var errShort = errors.New("it ends too soon")

// Int8 reads one byte.
func (d *Decoder) Int8() int8 { return int8(d.read(1)[0]) }

// Int16 reads a number of two bytes.
func (d *Decoder) Int16() int16 { return int16(binary.BigEndian.Uint16(d.read(2))) }

// Int32 reads a number of four bytes.
func (d *Decoder) Int32() int32 { return int32(binary.BigEndian.Uint32(d.read(4))) }

// Int64 reads a number of eight bytes.
func (d *Decoder) Int64() int64 { return int64(binary.BigEndian.Uint64(d.read(8))) }

// ID reads a topic's id.
func (d *Decoder) ID() (id TopicID) {
	copy(id[:8], d.read(8))
	copy(id[8:], d.read(8))
	return id
}

// Count reads the length of an array; an entry takes at least two bytes.
func (d *Decoder) Count() int { return d.fits(int64(d.Int32())) }

// CompactCount reads the length of a compact array.
func (d *Decoder) CompactCount() int { return d.fits(int64(d.uvarint()) - 1) }

func (d *Decoder) fits(n int64) int {
	if n > d.left/2 {
		d.err = fmt.Errorf("an array of %d entries does not fit into it", n)
		return 0
	}
	return int(max(n, 0)) // -1 is no array
}

// uvarint reads a length. None is beyond 31 bits.
func (d *Decoder) uvarint() (u uint32) {
	for shift := 0; shift < 35; shift += 7 {
		c := d.read(1)[0]
		u |= uint32(c&0x7f) << shift
		if c < 0x80 {
			return u
		}
	}
	if d.err == nil {
		d.err = errors.New("a length in it is too long")
	}
	return 0
}

// String reads a string.
func (d *Decoder) String() string { return d.string(int(d.Int16())) }

// CompactString reads a compact string, "" where there is none.
func (d *Decoder) CompactString() string { return d.string(int(int64(d.uvarint()) - 1)) }

// maxString bounds a name.
const maxString = 32 << 10

func (d *Decoder) string(n int) string {
	if n > maxString && d.err == nil {
		d.err = fmt.Errorf("a name of %d bytes", n)
	}
	if n <= 0 || d.err != nil {
		return ""
	}
	return string(d.bytes(n, n))
}

// Bytes reads bytes of a length given before them, and keeps at most limit of them.
func (d *Decoder) Bytes(limit int) []byte { return d.bytes(int(d.Int32()), limit) }

// CompactBytes is Bytes in the compact encoding.
func (d *Decoder) CompactBytes(limit int) []byte { return d.bytes(int(int64(d.uvarint())-1), limit) }

// Tags passes over tagged fields.
func (d *Decoder) Tags() {
	for n := d.uvarint(); n > 0 && d.err == nil; n-- {
		d.uvarint() // which
		d.bytes(int(d.uvarint()), 0)
	}
}

// bytes reads n bytes and keeps the first of them, at most limit.
func (d *Decoder) bytes(n, limit int) []byte {
	if n <= 0 || d.err != nil {
		return nil
	}
	if int64(n) > d.left {
		d.err = errShort
		return nil
	}
	keep := min(n, limit)
	d.left -= int64(n)
	b := make([]byte, keep)
	if _, d.err = io.ReadFull(d.r, b); d.err != nil {
		return nil
	}
	_, d.err = io.CopyN(io.Discard, d.r, int64(n-keep))
	return b
}
