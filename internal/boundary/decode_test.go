package boundary

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func decode(t testing.TB, s *Shape, doc string) Value {
	t.Helper()
	v, err := NewDecoder(s, Limits{}).Decode([]byte(doc))
	if err != nil {
		t.Fatalf("decode %.200q: %v", doc, err)
	}
	return v
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		doc, code string
		offset    int
	}{
		{"", CodeInvalidJSON, 0},
		{"  ", CodeInvalidJSON, 2},
		{"\uFEFF{}", CodeInvalidJSON, 0},
		{"{", CodeInvalidJSON, 1},
		{"[", CodeInvalidJSON, 1},
		{"}", CodeInvalidJSON, 0},
		{`{"a"}`, CodeInvalidJSON, 4},
		{`{"a":}`, CodeInvalidJSON, 5},
		{`{"a":1,}`, CodeInvalidJSON, 7},
		{`{"a":1 "b":2}`, CodeInvalidJSON, 7},
		{`{a:1}`, CodeInvalidJSON, 1},
		{`{1:1}`, CodeInvalidJSON, 1},
		{`{,}`, CodeInvalidJSON, 1},
		{`{"a":1]`, CodeInvalidJSON, 6},
		{`{"a":1`, CodeInvalidJSON, 6},
		{`{"a`, CodeInvalidJSON, 3},
		{`{"a\`, CodeInvalidJSON, 4},
		{`[1,]`, CodeInvalidJSON, 3},
		{`[1 2]`, CodeInvalidJSON, 3},
		{`[,1]`, CodeInvalidJSON, 1},
		{`[1}`, CodeInvalidJSON, 2},
		{`[[1]`, CodeInvalidJSON, 4},
		{`[]]`, CodeInvalidJSON, 2},
		{`{} {}`, CodeInvalidJSON, 3},
		{`1 2`, CodeInvalidJSON, 2},
		{`tru`, CodeInvalidJSON, 0},
		{`nul`, CodeInvalidJSON, 0},
		{`falsy`, CodeInvalidJSON, 0},
		{`NaN`, CodeInvalidJSON, 0},
		{`Infinity`, CodeInvalidJSON, 0},
		{`'a'`, CodeInvalidJSON, 0},
		{`+1`, CodeInvalidJSON, 0},
		{`-`, CodeInvalidJSON, 0},
		{`01`, CodeInvalidJSON, 0},
		{`-01`, CodeInvalidJSON, 0},
		{`1.`, CodeInvalidJSON, 0},
		{`.5`, CodeInvalidJSON, 0},
		{`1e`, CodeInvalidJSON, 0},
		{`1e+`, CodeInvalidJSON, 0},
		{`0x10`, CodeInvalidJSON, 1},
		{`[-NaN]`, CodeInvalidJSON, 1},
		{`1 /* no */`, CodeInvalidJSON, 2},
		{"[1\u00a0]", CodeInvalidJSON, 2},
		{"[1\v]", CodeInvalidJSON, 2},
		{"\"a\nb\"", CodeInvalidJSON, 2},
		{"\"12345678\x1f\"", CodeInvalidJSON, 9},
		{`"\x"`, CodeInvalidJSON, 1},
		{`"\u12g4"`, CodeInvalidJSON, 1},
		{`"\u12`, CodeInvalidJSON, 1},
		{"\"\xff\"", CodeInvalidUTF8, 1},
		{"\"1234567\xc3\"", CodeInvalidUTF8, 8},
		{"\"\xc0\x80\"", CodeInvalidUTF8, 1},              // an overlong form
		{"\"\xed\xa0\x80\"", CodeInvalidUTF8, 1},          // a surrogate as UTF-8
		{"\"\xf4\x90\x80\x80\"", CodeInvalidUTF8, 1},      // beyond U+10FFFF
		{"{\"a\xff\":1}", CodeInvalidUTF8, 3},             // in a key
		{"{\"z\":{\"a\":\"\xff\"}}", CodeInvalidUTF8, 11}, // in what nothing reads
		{`"\ud800"`, CodeInvalidUTF8, 1},
		{`"\udc00"`, CodeInvalidUTF8, 1},
		{`"\ud800\ud800"`, CodeInvalidUTF8, 1},
		{`"\ud800x\udc00"`, CodeInvalidUTF8, 1},
		{`"\udc00\udc00"`, CodeInvalidUTF8, 1},
		{`"\ud800\uffff"`, CodeInvalidUTF8, 1},
		{`{"\ud83d":1}`, CodeInvalidUTF8, 2},
		{`{"a":1,"a":1}`, CodeDuplicateKey, 7},
		{`{"a":1,"b":2,"\u0061":3}`, CodeDuplicateKey, 13},
		{`{"z":{"b":1,"a":2,"b":3}}`, CodeDuplicateKey, 18},
		{`[[{"x":{},"x":{}}]]`, CodeDuplicateKey, 10},
		{`{"":1,"":2}`, CodeDuplicateKey, 6},
		{"1e400", CodeNumberOutOfRange, 0},
		{"-1e309", CodeNumberOutOfRange, 0},
		{`{"z":[1e400]}`, CodeNumberOutOfRange, 6},
		{`{"a":1e400}`, CodeNumberOutOfRange, 5},
		{"1" + strings.Repeat("0", 309), CodeNumberOutOfRange, 0},
		{"1e99999999999999999999", CodeNumberOutOfRange, 0},
		{"18446744073709551615", CodeNumberOutOfRange, 0}, // a float would make it …552000
		{"9223372036854775808", CodeNumberOutOfRange, 0},
		{"-9223372036854775809", CodeNumberOutOfRange, 0},
		{"123456789012345678901234567890", CodeNumberOutOfRange, 0},
		{`{"z":{"id":18446744073709551615}}`, CodeNumberOutOfRange, 11}, // in what nothing reads
		{strings.Repeat("[", 65) + strings.Repeat("]", 65), CodeTooDeep, 64},
		{strings.Repeat(`{"a":`, 65), CodeTooDeep, 64 * 5},
		{strings.Repeat(" ", 1<<10) + "1", CodeTooLarge, 1 << 10},
	}
	for _, shape := range []*Shape{nil, NewShape("a"), NewShape("b", "a", "x")} {
		for _, tt := range tests {
			d := NewDecoder(shape, Limits{MaxBytes: 1 << 10})
			v, err := d.Decode([]byte(tt.doc))
			e, ok := errors.AsType[*DecodeError](err)
			if !ok {
				t.Errorf("%.60q: got %v, want %s", tt.doc, v, tt.code)
				continue
			}
			if e.Code != tt.code || e.Offset != tt.offset || e.Text == "" || !v.IsAbsent() {
				t.Errorf("%.60q: got %v (%v), want %s at %d", tt.doc, e, v, tt.code, tt.offset)
			}
			// A refusal leaves nothing behind.
			if v, err := d.Decode([]byte(`{"b":2,"z":[]}`)); err != nil || v.String() != `{"b":2,"z":[]}` {
				t.Errorf("after %.60q: got %v, %v", tt.doc, v, err)
			}
		}
	}
}

func TestDecodeAccepts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		doc  string
		kind Kind
		want string // canonical
	}{
		{"null", KindNull, "null"},
		{" \t\r\n true \n", KindBool, "true"},
		{"false", KindBool, "false"},
		{"0", KindInt, "0"},
		{"-0", KindInt, "0"},
		{"-0.0", KindFloat, "0"},
		{"1.0", KindFloat, "1"},
		{"1e2", KindFloat, "100"},
		{"1E+2", KindFloat, "100"},
		{"0e400", KindFloat, "0"},
		{"1e-400", KindFloat, "0"},
		{"1e-7", KindFloat, "1e-7"},
		{"0.000001", KindFloat, "0.000001"},
		{"0.0000001", KindFloat, "1e-7"},
		{"1e21", KindFloat, "1e+21"},
		{"5e-324", KindFloat, "5e-324"},
		{"1.7976931348623157e308", KindFloat, "1.7976931348623157e+308"},
		{"9223372036854775807", KindInt, "9223372036854775807"},
		{"-9223372036854775808", KindInt, "-9223372036854775808"},
		{"9223372036854776000", KindFloat, "9223372036854776000"},
		{"18446744073709552000", KindFloat, "18446744073709552000"},
		{"-18446744073709552000", KindFloat, "-18446744073709552000"},
		{"100000000000000000000", KindFloat, "100000000000000000000"},
		{"9007199254740993.0", KindFloat, "9007199254740992"},
		{"123456789012345680000000000000", KindFloat, "1.2345678901234568e+29"},
		{"1.2345678901234567890e29", KindFloat, "1.2345678901234568e+29"},
		{`""`, KindString, `""`},
		{`"\u0041\/\b\f\n\r\t\"\\\u001F\u2028"`, KindString, "\"A/\\b\\f\\n\\r\\t\\\"\\\\\\u001f\u2028\""},
		{`"\ud83d\ude00"`, KindString, `"😀"`},
		{`"\u0000"`, KindString, `"\u0000"`},
		{"\"\u007f<&>é😀\"", KindString, "\"\u007f<&>é😀\""},
		{"[]", KindList, "[]"},
		{"[ ]", KindList, "[]"},
		{"{ }", KindObject, "{}"},
		{`[ [ ] , { } , 1.50 , "\u0061" ]`, KindList, `[[],{},1.5,"a"]`},
		{`{"b":1,"a":{"d":[1,2],"c":null}}`, KindObject, `{"a":{"c":null,"d":[1,2]},"b":1}`},
		{`{"a":{"":0}}`, KindObject, `{"a":{"":0}}`},
		{`{"é":1,"z":2,"\u0061":3}`, KindObject, `{"a":3,"z":2,"é":1}`},
		{
			strings.Repeat("[", 64) + strings.Repeat("]", 64), KindList, strings.Repeat("[", 64) + strings.Repeat("]",
				64),
		},
	}
	for _, tt := range tests {
		for _, shape := range []*Shape{nil, NewShape("a"), NewShape("z", "a", "b", "c")} {
			v := decode(t, shape, tt.doc)
			if v.Kind() != tt.kind || v.String() != tt.want {
				t.Errorf("%.60s: got %v %v, want %v %v", tt.doc, v.Kind(), v, tt.kind, tt.want)
			}
			if got := string(v.AppendRawJSON(nil)); v.Depth() > 0 && got != strings.TrimSpace(tt.doc) {
				t.Errorf("%.60s: as it came: got %s", tt.doc, got)
			}
		}
	}
}

// Many keys are compared with each other; that must stay linear.
func TestDecodeManyKeys(t *testing.T) {
	t.Parallel()
	const n = 100_000
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"k%06d":%d,`, (i*7919)%n, i) // in no order, without repetition
	}
	fields := b.String()
	for _, shape := range []*Shape{nil, NewShape("k000001", "k099999")} {
		d := NewDecoder(shape, Limits{})
		for range 2 {
			v, err := d.Decode([]byte("{" + fields[:len(fields)-1] + "}"))
			if err != nil {
				t.Fatal(err)
			}
			if got := v.Len(); got != n {
				t.Fatalf("got %d fields, want %d", got, n)
			}
			if got := v.Field("k007919"); got.String() != "1" {
				t.Fatalf("got %v, want 1", got)
			}
			_, err = d.Decode([]byte("{" + fields + `"k050000":0}`))
			if e, ok := errors.AsType[*DecodeError](err); !ok || e.Code != CodeDuplicateKey ||
				e.Offset != 1+len(fields) {
				t.Fatalf("got %v, want %s", err, CodeDuplicateKey)
			}
		}
	}
}

// Sibling objects share the scratch memory of their depth, and must not see each other's keys.
func TestDecodeManyObjects(t *testing.T) {
	t.Parallel()
	var keys []string
	for i := range 40 {
		keys = append(keys, fmt.Sprintf(`"%c%d":{"b":[],"a":{}}`, 'z'-rune(i%26), i))
	}
	object := "{" + strings.Join(keys, ",") + "}"
	doc := "[" + strings.Repeat(object+",", 50) + `{"x":` + object + "}]"
	v := decode(t, nil, doc)
	for item := range v.Items() {
		if n := item.Len(); n != 40 && n != 1 {
			t.Fatalf("got %d fields", n)
		}
	}
	bad := strings.Replace(doc, `{"x":`, `{"x":`+object[:len(object)-1]+`,"z0":1},"y":`, 1)
	if _, err := NewDecoder(nil, Limits{}).Decode([]byte(bad)); err == nil || !strings.Contains(err.Error(), `"z0"`) {
		t.Fatalf("got %v, want a duplicate z0", err)
	}
}

func TestDecodeDeep(t *testing.T) {
	t.Parallel()
	for _, n := range []int{9_999, 10_000, 10_001, 1_000_000} {
		for _, doc := range []string{
			strings.Repeat("[", n) + strings.Repeat("]", n),
			strings.Repeat(`{"a":`, n-1) + "{}" + strings.Repeat("}", n-1),
		} {
			for _, shape := range []*Shape{nil, NewShape("a")} {
				if _, err := NewDecoder(shape, Limits{}).Decode([]byte(doc)); err == nil ||
					!strings.Contains(err.Error(), CodeTooDeep) {
					t.Errorf("depth %d, default limit: got %v", n, err)
				}
				v, err := NewDecoder(shape, Limits{MaxDepth: 1 << 30}).Decode([]byte(doc))
				if n > MaxDepth {
					if err == nil {
						t.Errorf("depth %d was accepted", n)
					}
					continue
				}
				if err != nil || v.Depth() != n {
					t.Fatalf("depth %d: got %d, %v", n, v.Depth(), err)
				}
				w, _, err := DecodeBinary(v.AppendBinary(nil))
				if err != nil || !Equal(v, w) || v.String() != doc {
					t.Fatalf("depth %d does not survive: %v", n, err)
				}
			}
		}
	}
}

// Documents in another order than the one learned, with more or fewer fields, are
// read as well as the others.
func TestDecodeLayouts(t *testing.T) {
	t.Parallel()
	shape := NewShape("a", "b", "c")
	d := NewDecoder(shape, Limits{})
	docs := []string{
		`{"b":1,"a":2,"c":3}`, `{"b":1,"a":2,"c":3}`, `{"b":1,"a":2}`, `{"b":1,"a":2,"c":3,"d":4}`, `{"b":1}`, `{}`,
		`{"b":1,"c":3,"a":2}`, `{"a":2,"b":1,"c":3}`, `{"b" : 1,"a": 2}`, `{"\u0062":1,"a":2}`, `{"b":1,"\u0061":2}`,
		`{"b": 1, "a": 2}`, `{"a": 1, "x": 2}`, `{"bb":1,"a":2}`, `{"b":1,"a":{"b":2,"c":[]}}`, `{"x":1,"y":2}`,
		`{"b":1,"a":null}`,
	}
	bad := []string{`{"b":1,"a":2,"b":3}`, `{"b":1,"b":2}`, `{"b":1,"a":2,"c":3,"a":4}`, `{"b":1,"a":2,"\u0062":3}`}
	for round := range 200 {
		doc := docs[(round*round+round/15)%len(docs)]
		v, err := d.Decode([]byte(doc))
		if err != nil {
			t.Fatalf("round %d: %s: %v", round, doc, err)
		}
		want := decode(t, nil, doc)
		if v.String() != want.String() || v.Len() != want.Len() || v.Depth() != want.Depth() {
			t.Fatalf("round %d: %s: got %v", round, doc, v)
		}
		for i := range shape.Len() {
			if got := v.Slot(shape, i); !Equal(got, want.Field(shape.Name(i))) {
				t.Fatalf("round %d: %s: slot %s: got %v", round, doc, shape.Name(i), got)
			}
		}
		doc = bad[round%len(bad)]
		if _, err := d.Decode([]byte(doc)); err == nil || !strings.Contains(err.Error(), CodeDuplicateKey) {
			t.Fatalf("round %d: %s: got %v", round, doc, err)
		}
	}
}

// A value that is decoded must not change when the decoder goes on.
func TestDecodeKeepsValues(t *testing.T) {
	t.Parallel()
	d := NewDecoder(NewShape("n", "s"), Limits{})
	var all []Value
	for i := range 1000 {
		v, err := d.Decode(fmt.Appendf(nil, `{"s":"v%d\n","n":%d}`, i, i))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
		if _, err := d.Decode([]byte(`{"n":-1,"s":"other","s":1}`)); err == nil {
			t.Fatal("a duplicate was accepted")
		}
	}
	for i, v := range all {
		if want := fmt.Sprintf(`{"n":%d,"s":"v%d\n"}`, i, i); v.String() != want || v.Compact().String() != want {
			t.Fatalf("got %v, want %s", v, want)
		}
	}
}

// A document that is not written canonically is never taken for one that is, whether
// it follows a layout or strays from it.
func TestDecodeCanonical(t *testing.T) {
	t.Parallel()
	var sorted []string
	for i := range 20 {
		sorted = append(sorted, fmt.Sprintf(`"k%02d":0`, i))
	}
	long := strings.Join(sorted, ",")
	for _, tt := range []struct{ learn, doc, want string }{
		{`{"a": 1,"b":2}`, `{"a": 1,"b":2}`, `{"a":1,"b":2}`},
		{`{ "a":1,"b":2}`, `{ "a":1,"b":2}`, `{"a":1,"b":2}`},
		{`{"a":1,"b":2 }`, `{"a":1,"b":2 }`, `{"a":1,"b":2}`},
		{`{"a":1,"b":2}`, `{"a":1,"b":2 }`, `{"a":1,"b":2}`},
		{`{"a": 1,"b":2}`, `{"a": 1,"c":2}`, `{"a":1,"c":2}`},
		{`{"a":1,"b":2}`, `{"a":1 ,"b":2}`, `{"a":1,"b":2}`},
		{`{"a":1,"b":2}`, `{"a": 1 , "b" : 2 }`, `{"a":1,"b":2}`},
		{`{"a":1}`, `{"a":1 , "b":2}`, `{"a":1,"b":2}`},
		{`{"b":1,"a":2}`, `{"b":1,"a":2}`, `{"a":2,"b":1}`},
		{`{"b":1,"a":2}`, `{"b":1,"a":2,"c":3}`, `{"a":2,"b":1,"c":3}`},
		{`{"b":1,"c":2}`, `{"b":1,"a":2}`, `{"a":2,"b":1}`},
		{`{"a":1,"b":{}}`, `{"a":1,"b":{"y":1,"x":2}}`, `{"a":1,"b":{"x":2,"y":1}}`},
		{`{"a":1,"b":2}`, `{"a":1,"b":2.0}`, `{"a":1,"b":2}`},
		{`{"a":1,"b":2}`, `{"a":1,"b":"\u0061"}`, `{"a":1,"b":"a"}`},
		{`{"a":1}`, `{"a":1,"b":{` + long + `,"k":0}}`, `{"a":1,"b":{"k":0,` + long + `}}`},
		{`{"a":1}`, `{` + long + `,"k":0}`, `{"k":0,` + long + `}`},
	} {
		for _, shape := range []*Shape{nil, NewShape("a"), NewShape("b", "a")} {
			d := NewDecoder(shape, Limits{})
			for range 3 {
				if _, err := d.Decode([]byte(tt.learn)); err != nil {
					t.Fatal(err)
				}
			}
			v, err := d.Decode([]byte(tt.doc))
			if err != nil || v.String() != tt.want {
				t.Errorf("%s after %s: got %v, %v", tt.doc, tt.learn, v, err)
			}
			for name, f := range v.Fields() {
				if got := v.Field(name); got.String() != f.String() {
					t.Errorf("%s: field %s is %v and %v", tt.doc, name, got, f)
				}
			}
		}
	}
}

// An escaped name in a layout must still count as the name that it is.
func TestDecodeEscapedLayout(t *testing.T) {
	t.Parallel()
	d := NewDecoder(NewShape("a", "b"), Limits{})
	for range 3 {
		v, err := d.Decode([]byte(`{"\u0061":1,"b":2}`))
		if err != nil || v.Field("a").String() != "1" {
			t.Fatalf("got %v, %v", v, err)
		}
		if v, err := d.Decode([]byte(`{"\u0061":1,"a":2}`)); err == nil {
			t.Fatalf("got %v, want a duplicate", v)
		}
	}
}

// Documents that come to be written otherwise are learned anew.
func TestDecodeRelearns(t *testing.T) {
	t.Parallel()
	d := NewDecoder(NewShape("a"), Limits{})
	read := func(doc string) {
		t.Helper()
		if _, err := d.Decode([]byte(doc)); err != nil {
			t.Fatal(err)
		}
	}
	read(`{"a":1,"b":2}`)
	for range patience {
		if got := d.layout.name(0); got != "a" {
			t.Fatalf("the layout begins with %s too soon", got)
		}
		read(`{"b":1,"a":2}`)
	}
	read(`{"b":1,"a":2}`)
	if got := d.layout.name(0); got != "b" {
		t.Fatalf("the layout begins with %s", got)
	}
	for range 3 * patience { // fewer strays than hits change nothing
		for range 3 {
			read(`{"a":1,"b":2}`)
		}
		for range 4 {
			read(`{"b":1,"a":2}`)
		}
		if got := d.layout.name(0); got != "b" {
			t.Fatalf("the layout begins with %s", got)
		}
	}
	if got := d.layout.name(0); got != "b" {
		t.Fatalf("the layout begins with %s", got)
	}
	// Too long to be learned, and then not.
	var b strings.Builder
	for i := range 4 * layoutFields {
		fmt.Fprintf(&b, `,"k%d":0`, i)
	}
	for range 2 * patience {
		read("{" + b.String()[1:] + "}")
	}
	if len(d.layout.fields) != 0 || cap(d.layout.spans) > 4*layoutFields {
		t.Fatalf("a layout of %d fields was learned", len(d.layout.fields))
	}
}

func TestDecodeSlotDepth(t *testing.T) {
	t.Parallel()
	s := NewShape("a", "b")
	v := decode(t, s, `{"a":[[1],{"x":[]}],"b":{},"c":[[[[]]]]}`)
	if a, b := v.Slot(s, 0).Depth(), v.Slot(s, 1).Depth(); a != 3 || b != 1 || v.Depth() != 5 ||
		v.Field("c").Depth() != 4 {
		t.Fatalf("got %d and %d in %d", a, b, v.Depth())
	}
	if v := decode(t, s, `{"a":[[1]],"b":{}}`); v.Depth() != 3 {
		t.Fatalf("got %d", v.Depth())
	}
}
