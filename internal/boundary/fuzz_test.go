package boundary

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tester is what testing and rapid have in common.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkLent holds what is lent, and what is kept of it, to what is decoded for good: a
// kept value is not touched by the next that is lent.
func checkLent(t tester, d *Decoder, doc []byte, want Value, refused error) {
	t.Helper()
	lent, err := d.Lend([]byte(string(doc)))
	if diff := cmp.Diff(refused, err); diff != "" {
		t.Fatalf("%q: lent, it is refused otherwise:\n%s", doc, diff)
	}
	if err != nil {
		return
	}
	checkSame(t, want, lent)
	kept := d.Keep(lent)
	checkSame(t, want, kept)
	if _, err := d.Lend([]byte(`{"a":"another","b":[1],"c":{},"":0}`)); err != nil {
		t.Fatalf("lend another: %v", err)
	}
	checkSame(t, want, kept)
	if again := d.Keep(kept); again.ref != kept.ref {
		t.Fatalf("%q: what is kept is copied again", doc)
	}
}

// checkDecode holds one document against the oracle, with and without slots.
func checkDecode(t tester, doc []byte) {
	t.Helper()
	const maxDepth = 64
	x, codes := oracle(doc, maxDepth)
	first := NewDecoder(nil, Limits{})
	v, err := first.Decode([]byte(string(doc)))
	if e, ok := errors.AsType[*DecodeError](err); ok {
		if !codes[e.Code] {
			t.Fatalf("%q is refused (%v), the oracle says %v, %v", doc, e, x, codes)
		}
		if e.Offset < 0 || e.Offset > len(doc) {
			t.Fatalf("%q: the offset of %v is outside", doc, e)
		}
	} else if codes != nil {
		t.Fatalf("%q is accepted as %v, the oracle says %v", doc, v, codes)
	}
	shapes := []*Shape{NewShape("a"), NewShape("b", "", "a", "c")}
	for name := range v.Fields() {
		shapes = append(shapes, NewShape(name))
	}
	for _, shape := range shapes[:min(len(shapes), 4)] {
		d := NewDecoder(shape, Limits{})
		for range 2 { // first it knows no layout, then the document's
			w, err2 := d.Decode([]byte(string(doc)))
			if diff := cmp.Diff(err, err2); diff != "" {
				t.Fatalf("%q: with slots it is refused otherwise:\n%s", doc, diff)
			}
			if err == nil {
				checkSame(t, v, w)
			}
			checkLent(t, d, doc, v, err)
		}
	}
	var compact bytes.Buffer
	if json.Compact(&compact, doc) == nil {
		checkAfter(t, doc, compact.Bytes())
		checkAfter(t, compact.Bytes(), doc)
	}
	if err == nil {
		checkMeaning(t, v, x)
	}
}

// checkMeaning holds an accepted document against what the oracle read.
func checkMeaning(t tester, v Value, x any) {
	t.Helper()
	w, err := FromAny(x)
	if err != nil {
		t.Fatalf("%v: %v", v, err)
	}
	checkSame(t, v, w)
	if diff := cmp.Diff(v.Any(), w.Any()); diff != "" {
		t.Fatalf("%v: Any:\n%s", v, diff)
	}
	canonical := v.String()
	again, err := NewDecoder(nil, Limits{}).Decode([]byte(canonical))
	if err != nil || !Equal(v, again) || again.String() != canonical {
		t.Fatalf("%s comes back as %v, %v", canonical, again, err)
	}
	if s, _ := again.raw(); again.Depth() > 0 && s != canonical {
		t.Fatalf("%s is kept as %s", canonical, s)
	}
	if want := canonicalOracle(x); want != canonical && !strings.ContainsAny(canonical, "0123456789") {
		t.Fatalf("got %s, want %s", canonical, want)
	}
	back, rest, err := DecodeBinary(append(v.AppendBinary(nil), 1, 2, 3))
	if err != nil || string(rest) != "\x01\x02\x03" {
		t.Fatalf("%s: binary form: %v, rest %v", canonical, err, rest)
	}
	checkSame(t, v, back)
	checkSame(t, v, v.Compact())
}

// checkSame fails unless a and b are the same value of the same kinds throughout,
// by every way of looking at them.
func checkSame(t tester, a, b Value) {
	t.Helper()
	if a.Kind() != b.Kind() || a.String() != b.String() || a.Len() != b.Len() || !Equal(a, b) || !Equal(b, a) {
		t.Fatalf("%v %v and %v %v are not the same", a.Kind(), a, b.Kind(), b)
	}
	switch a.Kind() {
	case KindList:
		i := 0
		for item := range a.Items() {
			checkSame(t, item, b.Index(i))
			i++
		}
		if !b.Index(i).IsAbsent() || !a.Index(-1).IsAbsent() {
			t.Fatalf("%v has items that are not there", b)
		}
	case KindObject:
		for name, field := range a.Fields() {
			checkSame(t, field, b.Field(name))
			checkSame(t, field, a.Field(name))
		}
	}
}

var seeds = []string{
	`{"symbol":"SYM042","bid":101.25,"ask":101.27,"ts":1700000000123}`,
	`{"b":1,"a":2,"c":{"z":[1,2.50,{"y":null,"x":true}],"a":"\ud83d\ude00"}}`,
	` [ "\u0041" , -0, 1e400, 12345678901234567890, 1E-7 ] `,
	`{"a":1,"b":2,"\u0061":3}`, `"\ud800"`, "\"\xff\"", `{"a":{"a":{"a":[]}}}`, `[1,]`, `{"":""}`, "", "null", "[[]]",
	`{"a":"\\\"","b":"\\\\","c":"x\\"}`,
}

func FuzzDecode(f *testing.F) {
	for i, s := range seeds {
		f.Add([]byte(s), []byte(seeds[(i+1)%len(seeds)]))
		f.Add([]byte(s), []byte(s))
	}
	f.Add([]byte(`{"a":1 ,"b":2}`), []byte(`{"a":1,"b":2}`))
	f.Add([]byte(`{"a":1,"b":2,"a":3}`), []byte(`{"a":1,"b":2,"c":3}`))
	f.Fuzz(func(t *testing.T, doc, before []byte) {
		checkDecode(t, doc)
		checkAfter(t, doc, before)
	})
}

// checkAfter fails if a decoder that has read another document before reads doc otherwise.
func checkAfter(t tester, doc, before []byte) {
	t.Helper()
	shape := NewShape("a", "bid", "c")
	fresh, used := NewDecoder(shape, Limits{}), NewDecoder(shape, Limits{})
	_, _ = used.Decode(before)
	want, wantErr := fresh.Decode([]byte(string(doc)))
	got, err := used.Decode([]byte(string(doc)))
	if diff := cmp.Diff(wantErr, err); diff != "" {
		t.Fatalf("%q after %q is refused otherwise:\n%s", doc, before, diff)
	}
	checkSame(t, want, got)
	checkSame(t, want, got.Compact())
}

func FuzzDecodeBinary(f *testing.F) {
	for _, s := range seeds {
		if v, err := NewDecoder(nil, Limits{}).Decode([]byte(s)); err == nil {
			f.Add(v.AppendBinary(nil))
			w, _ := FromAny(v.Any())
			f.Add(w.AppendBinary(nil))
		}
	}
	f.Add([]byte{tagList, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Add([]byte{tagObject, 2, 1, 'a', 1, 'a', 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		v, rest, err := DecodeBinary(b)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) || !v.IsAbsent() {
				t.Fatalf("got %v, %v", v, err)
			}
			return
		}
		if len(rest) > len(b) || v.Size() > 64*(len(b)+1) {
			t.Fatalf("%d bytes became %d, %d are left", len(b), v.Size(), len(rest))
		}
		again, rest, err := DecodeBinary(v.AppendBinary(nil))
		if err != nil || len(rest) != 0 {
			t.Fatalf("%v does not come back: %v", v, err)
		}
		checkSame(t, v, again)
	})
}

func FuzzNumber(f *testing.F) {
	for _, s := range []string{
		"0", "-0", "1", "-1", "1.5", "101.25", "1e22", "1e23", "123456789012345678", "9223372036854775808", "1e-400",
		"0.1", "1e400", "01", "1.", "NaN", "0x1p-2", "1_0", "+1", "2.2250738585072011e-308", "9007199254740993", "1e+0",
		"0.0000001", "0.00000012", "-0.0", "1.50", "0.1000000000000000055", "12345.6789012345678", "9007199254740993.5",
		"-9223372036854775809", "9223372036854775807", "1234567890123456789", "0.000001", "10.0e0", "0.12e3", "00.5",
		"0.30000000000000004",
		"900719925474099.3", "9007199254740992e-23", "3e-23", "12345678901234567890123e-5",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, ok := ParseNumber(s)
		_, codes := oracle([]byte(s), 0)
		isNumber := codes == nil && s[0] != '"' && s[0] != 't' && s[0] != 'f' && s[0] != 'n' &&
			strings.TrimSpace(s) == s
		if ok != isNumber {
			t.Fatalf("ParseNumber(%q) = %v, %v; the oracle says %v", s, v, ok, codes)
		}
		if !ok {
			return
		}
		i, intErr := strconv.ParseInt(s, 10, 64)
		want, _ := strconv.ParseFloat(s, 64)
		if got, isInt := v.AsInt(); isInt != (intErr == nil) || isInt && got != i {
			t.Fatalf("%q: got int %v, %v, want %v, %v", s, got, isInt, i, intErr)
		}
		if got, _ := v.AsFloat(); got != want {
			t.Fatalf("%q: got %v, want %v", s, got, want)
		}
		again, ok := ParseNumber(v.String())
		if !ok || !Equal(v, again) {
			t.Fatalf("%q is written %v and read back as %v", s, v, again)
		}
		if got := decode(t, nil, "["+s+"]").String(); got != "["+v.String()+"]" {
			t.Fatalf("%q in a list is written %s, alone %v", s, got, v)
		}
	})
}
