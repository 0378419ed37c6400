package boundary

import (
	"fmt"
	"strings"
	"testing"
)

const tick = `{"symbol":"SYM042","bid":101.25,"ask":101.27,"ts":1700000000123}`

// order is a nested document of about 2 KiB with 60 fields at its top.
func order() string {
	var b strings.Builder
	b.WriteString(`{"id":"b2c5a7de-5f0e-4a57-9d7b-0f6a1f4f3b11","at":1700000000123`)
	for i := range 56 {
		switch i % 4 {
		case 0:
			fmt.Fprintf(&b, `,"price_%02d":%d.%02d`, i, 100+i, i)
		case 1:
			fmt.Fprintf(&b, `,"note_%02d":"free text of line %d"`, i, i)
		case 2:
			fmt.Fprintf(&b, `,"leg_%02d":{"side":"buy","qty":%d,"px":[%d.5,%d.25]}`, i, i*10, i, i)
		case 3:
			fmt.Fprintf(&b, `,"flag_%02d":%v`, i, i%8 == 3)
		}
	}
	b.WriteString(`,"total":12345.67,"currency":"EUR"}`)
	return b.String()
}

// benchCases are the two documents and the fields that are read of each.
func benchCases() []benchCase {
	return []benchCase{
		{"tick", tick, []string{"symbol", "bid", "ask", "ts"}},
		{"order", order(), []string{"id", "price_20", "leg_30", "total"}},
	}
}

type benchCase struct {
	name, doc string
	fields    []string
}

func eachCase(b *testing.B, run func(b *testing.B, c benchCase, s *Shape)) {
	for _, c := range benchCases() {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(c.doc)))
			run(b, c, NewShape(c.fields...))
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	eachCase(b, func(b *testing.B, c benchCase, s *Shape) {
		d, raw := NewDecoder(s, Limits{}), []byte(c.doc)
		for b.Loop() {
			if _, err := d.Decode(raw); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkDecodeUnlearned is Decode of documents whose order of fields is never the expected one.
func BenchmarkDecodeUnlearned(b *testing.B) {
	eachCase(b, func(b *testing.B, c benchCase, s *Shape) {
		d, raw := NewDecoder(s, Limits{}), []byte(c.doc)
		for b.Loop() {
			d.layout.fields = d.layout.fields[:0]
			if _, err := d.Decode(raw); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkSlot(b *testing.B) {
	eachCase(b, func(b *testing.B, c benchCase, s *Shape) {
		v := decode(b, s, c.doc)
		for b.Loop() {
			for i := range 3 {
				if v.Slot(s, i).IsAbsent() {
					b.Fatal("absent")
				}
			}
		}
	})
}

func BenchmarkField(b *testing.B) {
	eachCase(b, func(b *testing.B, c benchCase, s *Shape) {
		v := decode(b, nil, c.doc)
		for b.Loop() {
			for i := range 3 {
				if v.Field(s.Name(i)).IsAbsent() {
					b.Fatal("absent")
				}
			}
		}
	})
}

// BenchmarkEqual compares two documents that are equal and not the same text.
func BenchmarkEqual(b *testing.B) {
	eachCase(b, func(b *testing.B, c benchCase, s *Shape) {
		v, w := decode(b, s, c.doc), decode(b, s, strings.Replace(c.doc, ":", ": ", 1))
		for b.Loop() {
			if !Equal(v, w) {
				b.Fatal("not equal")
			}
		}
	})
}

func BenchmarkEqualBuilt(b *testing.B) {
	eachCase(b, func(b *testing.B, c benchCase, s *Shape) {
		v := project(decode(b, s, c.doc), s)
		w := project(decode(b, s, c.doc), s)
		for b.Loop() {
			if !Equal(v, w) {
				b.Fatal("not equal")
			}
		}
	})
}

func project(v Value, s *Shape) Value {
	slots := make([]Value, s.Len())
	for i := range slots {
		slots[i] = v.Slot(s, i)
	}
	return Object(s, slots)
}

func BenchmarkAppendJSON(b *testing.B) {
	eachCase(b, func(b *testing.B, c benchCase, s *Shape) {
		v := decode(b, s, c.doc)
		var dst []byte
		for b.Loop() {
			dst = v.AppendJSON(dst[:0])
		}
	})
}

func BenchmarkAppendRawJSON(b *testing.B) {
	eachCase(b, func(b *testing.B, c benchCase, s *Shape) {
		v := decode(b, s, c.doc)
		var dst []byte
		for b.Loop() {
			dst = v.AppendRawJSON(dst[:0])
		}
	})
}

func BenchmarkAppendJSONBuilt(b *testing.B) {
	eachCase(b, func(b *testing.B, c benchCase, s *Shape) {
		v := project(decode(b, s, c.doc), s)
		var dst []byte
		for b.Loop() {
			dst = v.AppendJSON(dst[:0])
		}
	})
}

func BenchmarkBinary(b *testing.B) {
	eachCase(b, func(b *testing.B, c benchCase, s *Shape) {
		v := decode(b, s, c.doc)
		var dst []byte
		for b.Loop() {
			dst = v.AppendBinary(dst[:0])
			if _, _, err := DecodeBinary(dst); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkAll is a document's way: decode, read three fields, compare with the last
// one, encode.
func BenchmarkAll(b *testing.B) {
	eachCase(b, func(b *testing.B, c benchCase, s *Shape) {
		d := NewDecoder(s, Limits{})
		raws := [][]byte{[]byte(c.doc), []byte(c.doc)}
		last := decode(b, s, c.doc)
		var dst []byte
		for i := 0; b.Loop(); i++ {
			v, err := d.Decode(raws[i&1])
			if err != nil {
				b.Fatal(err)
			}
			for i := range 3 {
				if v.Slot(s, i).IsAbsent() {
					b.Fatal("absent")
				}
			}
			if !Equal(v, last) {
				b.Fatal("not equal")
			}
			dst = v.AppendJSON(dst[:0])
			last = v
		}
	})
}
