// Package wire reads and writes the pieces that encoded states are made of: numbers, and texts
// with their lengths.
package wire

import "encoding/binary"

// AppendText appends s with its length.
func AppendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// AppendBytes appends b with its length.
func AppendBytes(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// Reader reads what was appended. The first mistake sticks: look at Bad once, at the end.
type Reader struct {
	// Rest is what has not been read yet.
	Rest []byte
	// Bad says that something was not what it should be; Rest is empty then.
	Bad bool
}

func (r *Reader) fail() { r.Bad, r.Rest = true, nil }

// Uvarint reads a number.
func (r *Reader) Uvarint() uint64 {
	n, k := binary.Uvarint(r.Rest)
	if k <= 0 {
		r.fail()
		return 0
	}
	r.Rest = r.Rest[k:]
	return n
}

// Count is a number of things that take a byte each at least.
func (r *Reader) Count() int {
	n := r.Uvarint()
	if n > uint64(len(r.Rest)) {
		r.fail()
		return 0
	}
	return int(n)
}

func (r *Reader) cut(n int) []byte {
	if n > len(r.Rest) {
		r.fail()
		return nil
	}
	head := r.Rest[:n]
	r.Rest = r.Rest[n:]
	return head
}

// Bytes reads what AppendBytes wrote; it shares the reader's memory.
func (r *Reader) Bytes() []byte { return r.cut(r.Count()) }

// Text reads what AppendText wrote.
func (r *Reader) Text() string { return string(r.Bytes()) }

// Uint64 reads eight bytes.
func (r *Reader) Uint64() uint64 {
	if b := r.cut(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Byte reads one.
func (r *Reader) Byte() byte {
	if b := r.cut(1); b != nil {
		return b[0]
	}
	return 0
}
