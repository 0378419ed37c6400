package rawjson

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

func TestAppendFloat(t *testing.T) {
	t.Parallel()
	for _, f := range []float64{
		0.1, 101.25, -101.27, 0.01999999999999602, 1e-6, 9.99e-7, 1e-7, 1e20, 1e21, 123456789.000001, 999999999.999999,
		0.000001, 0.0000015, 5e-324, math.MaxFloat64, 1.0 / 3, 100.000001, 1e9 + 0.5, 4503599627370495.5, 0.3, 2.5e-9,
		-1e-300,
	} {
		want, _ := json.Marshal(f)
		if got := string(AppendFloat(nil, f)); got != string(want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		digits := random.Int64N(int64(math.Pow10(1 + random.IntN(17))))
		f := float64(digits) / math.Pow10(random.IntN(12))
		if f == math.Trunc(f) {
			continue
		}
		want, _ := json.Marshal(f)
		if got := string(AppendFloat(nil, f)); got != string(want) {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
}

func TestAppendString(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "a", "12345678", "1234567\"9", `back\slash`, "\x00\x1f\b\f\n\r\t\x7f", "é", "1234567é", "😀<&>", "a\xff",
		"\xc3", "\xed\xa0\x80x", "\uFFFD",
		strings.Repeat("long ", 20) + "\n",
	} {
		got := string(AppendString(nil, s))
		var back string
		if err := json.Unmarshal([]byte(got), &back); err != nil || back != string([]rune(s)) {
			t.Errorf("%q is written %s and read %q, %v", s, got, back, err)
		}
		var want strings.Builder
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(s); err != nil || strings.ReplaceAll(want.String(), `\ufffd`, "\uFFFD") != got+"\n" {
			t.Errorf("%q: got %s, want %s", s, got, want.String())
		}
	}
}

// Short agrees with ReadNumber wherever it is ok, and is ok for canonical numbers alone.
func TestNumbers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text      string
		canonical bool
	}{
		{"0", true}, {"7", true}, {"-7", true}, {"-0", false}, {"0.5", true}, {"-0.5", true}, {"0.50", false},
		{"1.0", false}, {"1e2", false}, {"1.5E0", false},
		{"101.27", true}, {"123456789012345678", true}, {"1234567890123456789", false}, {"0.000001", true},
		{"-0.000001", true}, {"0.0000009", false}, {"-0.0000009", false},
		{"1234567.12345678", true}, {"1234567.123456789", false}, {"9223372036854775807", false},
		{"-9223372036854775808", false}, {"3e-23", false}, {"1e22", false},
	} {
		n, end, ok := ReadNumber(tt.text+",1", 0)
		f := float64(int64(n.Bits))
		if n.Float {
			f = math.Float64frombits(n.Bits)
		}
		if want, _ := strconv.ParseFloat(tt.text, 64); !ok || end != len(tt.text) || f != want {
			t.Errorf("%s: got %v up to %d, %v, want %v", tt.text, f, end, ok, want)
		}
		short, end, ok := Short(tt.text, 0)
		if ok != tt.canonical || ok && (short != n || end != len(tt.text)) {
			t.Errorf("%s: Short got %v up to %d, %v, want %v, %v", tt.text, short, end, ok, n, tt.canonical)
		}
	}
	for text, wantEnd := range map[string]int{"-": 0, "01": 0, "1.": 0, "1e": 0, "-x": 0, "1e400": 5, "-1e309": 6} {
		if n, end, ok := ReadNumber(text, 0); ok || end != wantEnd {
			t.Errorf("%s: got %v up to %d, %v", text, n, end, ok)
		}
	}
}

func TestWalk(t *testing.T) {
	t.Parallel()
	const object = "{ \"a\" : [1 , {\"x\":\"]}\"}] ,\"q\\\"\\\\\":\"\\\\\", \"\\u0062\":-1.5e3\n,\"n\":null}"
	want := map[string]string{"a": `[1 , {"x":"]}"}]`, `q"\`: `"\\"`, "b": "-1.5e3", "n": "null"}
	n := 0
	f := FieldsOf(object)
	for field, ok := f.Next(); ok; field, ok = f.Next() {
		n++
		if field.Value != want[field.Name] || field.Escaped != (len(field.Name) > 1 || field.Name == "b") {
			t.Errorf("got %+v, want %s", field, want[field.Name])
		}
		if value, ok := Find(object, field.Name); !ok || value != field.Value {
			t.Errorf("%s: found %s, %v", field.Name, value, ok)
		}
	}
	if _, ok := Find(object, "u0062"); ok || n != len(want) {
		t.Errorf("got %d fields, want %d", n, len(want))
	}
	var items []string
	l := ItemsOf(`[ "a,]", [] , {"b":[1]},2]`)
	for item, ok := l.Next(); ok; item, ok = l.Next() {
		items = append(items, item)
	}
	if got := strings.Join(items, "|"); got != `"a,]"|[]|{"b":[1]}|2` {
		t.Errorf("got %s", got)
	}
	if _, ok := new(Items).Next(); ok {
		t.Error("the zero Items has one")
	}
	if _, ok := new(Fields).Next(); ok {
		t.Error("the zero Fields has one")
	}
}

func TestScannerNotes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text             string
		canonical, plain bool
		depth            int
	}{
		{`{"a":[1,2.5],"b":"x"}`, true, true, 2}, {`{"a":[1, 2]}`, false, true, 2}, {`{"b":1,"a":2}`, false, true, 1},
		{`["\n"]`, false, false, 1},
		{`[1.0]`, false, true, 1}, {`[[[]],{}]`, true, true, 3}, {`[[{}],[[[]]],1e1]`, false, true, 4},
	} {
		var sc Scanner
		sc.Reset(" "+tt.text+" ", 8)
		end, depth := sc.Nested(1)
		if end != 1+len(tt.text) || depth != tt.depth || sc.Canonical(1) != tt.canonical || sc.Plain(1) != tt.plain {
			t.Errorf("%s: got %d, depth %d, canonical %v, plain %v", tt.text, end, depth, sc.Canonical(1), sc.Plain(1))
		}
		sc.Free()
		sc.Reset(tt.text, tt.depth-1)
		if end, _ := sc.Nested(0); end >= 0 || sc.Err().Code != CodeTooDeep {
			t.Errorf("%s: got %d, %v", tt.text, end, sc.Err())
		}
		sc.Free()
		if len(sc.frames) != 0 || len(sc.keys) != 0 || sc.s != "" {
			t.Errorf("%s: %d frames and %d keys outlive it", tt.text, len(sc.frames), len(sc.keys))
		}
	}
}

// Digits that are read eight at a time are those that are read one by one, whatever stands among them.
func TestEightDigits(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for range 200_000 {
		text := strconv.FormatUint(1+r.Uint64N(9), 10)
		for range 7 + r.IntN(10) {
			text += strconv.Itoa(r.IntN(10))
		}
		if at := 1 + r.IntN(2*len(text)); at < len(text) { // what is beside the digits, and what has a high bit
			text = text[:at] + string("/:.e\xb5,0"[r.IntN(7)]) + text[at+1:]
		}
		n, end, ok := Short(text+",", 0)
		mant, point := digits(text, 0, 0)
		if ok && end == point && n != integer(int64(mant)) {
			t.Fatalf("%q: got %v, want %d", text, n, mant)
		}
		w := Load64(text, 0)
		if all := noDigits(w) == 0; all != (point >= 8) || all && strconv.FormatUint(merge(w), 10) != text[:8] {
			t.Fatalf("%q: the first eight are digits: %v, %d", text, all, merge(w))
		}
	}
}

// A number with a point that is read at once is what it is when its digits are read one by one, whatever follows it,
// and every other is left to that.
func TestDecimals(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	found := 0
	for range 200_000 {
		text := strconv.Itoa(r.IntN(10 << r.IntN(20)))
		if r.IntN(8) == 0 {
			text = "0" + text
		}
		if text += "."; r.IntN(16) > 0 {
			text += strconv.Itoa(r.IntN(10 << r.IntN(20)))
		}
		tails := []string{",", "}", "e1", "E-2", ".5", "\xb5", "\xfa9", "x", " ", "-", "/", ":"}
		tail := tails[r.IntN(len(tails))] + "7.25,\"a\":1"
		whole := strings.TrimRight(text, "0123456789")
		w := Load64(text+tail, 0)
		all, places, size := decimal(w, noDigits(w))
		ok := places > 0
		if fits := len(text) < 8 && tail[0]|0x20 != 'e' && text[len(text)-1] != '.' &&
			(text[0] != '0' || len(whole) == 2); ok != fits {
			t.Fatalf("%q: ok is %v, want %v", text+tail, ok, fits)
		}
		f := float64(merge(all)) / powers[places]
		if want, err := strconv.ParseFloat(text, 64); ok && (err != nil || f != want || size != len(text)) {
			t.Fatalf("%q: got %v of %d bytes, want %v", text+tail, f, size, want)
		}
		n, end, canonical := few(text+tail, 0)
		short, at, isShort := Short(text+tail, 0)
		if ok && (n != float(f) || end != size || canonical != (text[len(text)-1] != '0' && f >= 1e-6)) ||
			isShort != canonical || isShort && (short != n || at != end) {
			t.Fatalf("%q: got %v up to %d, %v; short %v up to %d, %v", text+tail, n, end, canonical, short, at, isShort)
		}
		if ok {
			found++
		}
	}
	if found < 10_000 {
		t.Errorf("only %d of them are read at once", found)
	}
}
