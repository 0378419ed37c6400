package boundary

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"
)

func TestBinary(t *testing.T) {
	t.Parallel()
	var all []byte
	values := kinds(t)
	for name, v := range values {
		b := v.AppendBinary(nil)
		w, rest, err := DecodeBinary(append(b, "rest"...))
		if err != nil || string(rest) != "rest" {
			t.Fatalf("%s: got rest %q, %v", name, rest, err)
		}
		checkSame(t, v, w)
		for i := range b {
			if w, _, err := DecodeBinary(b[:i]); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("%s: cut to %d bytes it is %v, %v", name, i, w, err)
			}
		}
		clear(b)
		checkSame(t, v, w) // it shares nothing with b
		all = v.AppendBinary(all)
	}
	for range values {
		var err error
		if _, all, err = DecodeBinary(all); err != nil {
			t.Fatal(err)
		}
	}
	if len(all) != 0 {
		t.Fatalf("%d bytes are left", len(all))
	}
}

func TestBinaryRefuses(t *testing.T) {
	t.Parallel()
	deepest, err := NewDecoder(nil, Limits{
		MaxDepth: MaxDepth,
	}).Decode([]byte(strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)))
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		"unknown tag":      {99},
		"long list":        {tagList, 0xff, 0xff, 0xff, 0xff, 0x7f},
		"long object":      {tagObject, 0xff, 0xff, 0xff, 0xff, 0x7f},
		"long string":      {tagString, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
		"endless number":   {tagInt, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"twice a name":     {tagObject, 2, 1, 'a', 1, 'a', tagNull, tagNull},
		"scalar document":  {tagJSON, 1, '1'},
		"empty document":   {tagJSON, 0},
		"invalid document": {tagJSON, 3, '[', '1', '['},
		"long document":    {tagJSON, 3, '[', ']', ' '},
		"countless list":   {tagList, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
		"deep document":    append([]byte{tagList, 1}, deepest.AppendBinary(nil)...),
		"deep lists":       []byte(strings.Repeat("\x09\x01", 1_000_000)),
	} {
		if v, rest, err := DecodeBinary(b); !errors.Is(err, ErrCorrupt) || !v.IsAbsent() || rest != nil {
			t.Errorf("%s: got %v, %v, %v", name, v, rest, err)
		}
	}
}

// Objects of one shape share it after they were read back.
func TestBinaryShapes(t *testing.T) {
	t.Parallel()
	s := NewShape("a", "b")
	var items []Value
	for i := range 10 {
		items = append(items, Object(s, []Value{Int(int64(i)), Null()}))
	}
	v, _, err := DecodeBinary(List(items).AppendBinary(nil))
	if err != nil {
		t.Fatal(err)
	}
	first := v.Index(0).ref.(*object).shape
	for item := range v.Items() {
		if item.ref.(*object).shape != first {
			t.Fatal("each object has a shape of its own")
		}
	}
}

// A compact value lets go of the buffer it was decoded from.
func TestCompact(t *testing.T) {
	const doc = `{"s":"text","n":{"x":["piece"]},"e":"esc\u0061pe","rest":"unread"}`
	shape := NewShape("s", "n", "e")
	for name, take := range map[string]func(Value) Value{
		"document": func(v Value) Value { return v },
		"string":   func(v Value) Value { return v.Field("s") },
		"unread":   func(v Value) Value { return v.Field("rest") },
		"piece":    func(v Value) Value { return v.Field("n").Field("x") },
		"list":     func(v Value) Value { return List([]Value{v, v.Field("n")}) },
		"object":   func(v Value) Value { return Object(NewShape("k"), []Value{v.Field("n")}) },
	} {
		keep, buffer, want := func() (Value, weak.Pointer[byte], string) {
			raw := make([]byte, 1<<16)
			n := copy(raw, doc)
			for i := range raw[n:] {
				raw[n+i] = ' '
			}
			v, err := NewDecoder(shape, Limits{}).Decode(raw)
			if err != nil {
				t.Fatal(err)
			}
			v = take(v)
			return v.Compact(), weak.Make(&raw[0]), v.String()
		}()
		for range 3 {
			runtime.GC()
		}
		if buffer.Value() != nil {
			t.Errorf("%s: the buffer is still held", name)
		}
		if got := keep.String(); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
		if got := keep.Slot(shape, 0); name == "document" && got.String() != `"text"` {
			t.Errorf("the copy has lost its slots: %v", got)
		}
	}
}

// What one value that is kept as it is holds on to is bounded by a chunk.
func TestChunks(t *testing.T) {
	for _, size := range []int{10, 300, 5_000} {
		d := NewDecoder(NewShape("a"), Limits{})
		var docs []weak.Pointer[byte]
		var kept Value
		for i := range 200 {
			raw := []byte(`{"a":"` + strings.Repeat("x", size) + `"}`)
			v, err := d.Decode(raw)
			if err != nil {
				t.Fatal(err)
			}
			if i == 100 {
				kept = v
			}
			docs = append(docs, weak.Make(&raw[0]))
		}
		runtime.GC()
		held := 0
		for _, p := range docs[:150] {
			if p.Value() != nil {
				held += size
			}
		}
		if held > max(2048, size) {
			t.Errorf("documents of %d bytes: one holds %d bytes", size, held)
		}
		if size > 2048 && docs[199].Value() != nil {
			t.Errorf("documents of %d bytes: the decoder holds the last one", size)
		}
		runtime.KeepAlive(kept)
		runtime.KeepAlive(d)
	}
}

func TestKey(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		key  Key
		want string
	}{
		{KeyOf(), ""},
		{KeyOf(String("AAPL")), `"AAPL"`},
		{KeyOf(String("")), `""`},
		{KeyOf(String("AAPL"), Int(3)), `["AAPL",3]`},
		{KeyOf(Float(3)), "3"},
		{KeyOf(Bool(true), Value{}), "[true,null]"},
		{KeyOf(Time(testTime)), `"2026-11-20T09:00:00.123Z"`},
		{KeyOf(Duration(time.Minute)), `"1m0s"`},
	} {
		if string(tt.key) != tt.want {
			t.Errorf("got %s, want %s", tt.key, tt.want)
		}
		if v := tt.key.Value(); tt.key != "" && KeyOf(v) != tt.key {
			t.Errorf("%s comes back as %v", tt.key, v)
		}
	}
	for _, k := range []Key{"", "no key", `"`} {
		if v := k.Value(); !v.IsAbsent() {
			t.Errorf("%q: got %v", k, v)
		}
	}
}

func TestPosition(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		p    Position
		want string
	}{
		{Position{}, ""},
		{Position{Stream: "topic/3", Offset: 42}, "topic/3@42"},
		{Position{Offset: 7}, "@7"},
		{Position{Stream: "s", Offset: -1}, "s@-1"},
	} {
		if got := tt.p.String(); got != tt.want || tt.p.IsZero() != (tt.want == "") {
			t.Errorf("got %q, want %q", got, tt.want)
		}
		b := tt.p.AppendBinary(nil)
		got, rest, err := DecodePosition(append(b, 9))
		if err != nil || got != tt.p || len(rest) != 1 {
			t.Errorf("got %v, rest %v, %v", got, rest, err)
		}
		for i := range b {
			if _, _, err := DecodePosition(b[:i]); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%v cut to %d bytes: got %v", tt.p, i, err)
			}
		}
	}
}

// A lent object that somebody keeps reads as what it is not, and what Keep or Compact has
// made of it lasts. Its fields and items last as they are.
func TestSpoil(t *testing.T) {
	t.Parallel()
	const doc = `{"a":"some text","b":[1,{"c":2}],"d":true}`
	d := NewDecoder(NewShape("a", "b"), Limits{Spoil: true})
	lend := func(text string) Value {
		t.Helper()
		v, err := d.Lend([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	v := lend(doc)
	kept, compact, b, other := d.Keep(v), v.Compact(), v.Field("b"), v.Field("d")
	lend(`{"a":1}`)
	lend(`{"a":2}`)
	for name, v := range map[string]Value{"kept": kept, "compact": compact} {
		if v.String() != doc {
			t.Errorf("%s: %s", name, v)
		}
	}
	if b.String() != `[1,{"c":2}]` || other.String() != "true" {
		t.Errorf("the fields have become %s and %s", b, other)
	}
	if raw, ok := v.raw(); !ok || len(raw) != len(doc) || strings.Trim(raw, "\xdb") != "" {
		t.Errorf("the lent object is still %q", raw)
	}
	if a, _ := v.Field("a").AsString(); a != strings.Repeat("\xdb", 8) {
		t.Errorf("its slot is still %q", a)
	}
}
