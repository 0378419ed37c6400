package wire

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/graphd/graphd/internal/api"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	good := []string{
		`0`, `-0`, `12`, `-1.5`, `1e9`, `1E+9`, `0.1e-2`, `true`, `false`, `null`, `""`, `"a\"\\\/\b\f\n\r\tA"`,
		`"é€😀"`, "\" \"",
		`[]`, `{}`, `[[],{}]`, ` [ 1 , 2 ] `, `{"a":1}`, `{ "a" : { "b" : [ null ] } , "a" : 2 }`, "\t\r\n1\n",
		strings.Repeat("[", 64) + strings.Repeat("]", 64),
	}
	for _, s := range good {
		if bad := Validate([]byte(s), 64); bad.Is() {
			t.Errorf("%.60s: %+v", s, bad)
		}
	}
	bad := []struct {
		text   string
		code   string
		offset int
	}{
		{``, api.CodeInvalidJSON, 0}, {` `, api.CodeInvalidJSON, 1}, {`nul`, api.CodeInvalidJSON, 0},
		{`nulll`, api.CodeInvalidJSON, 4}, {`NaN`, api.CodeInvalidJSON, 0},
		{`Infinity`, api.CodeInvalidJSON, 0}, {`-`, api.CodeInvalidJSON, 1}, {`01`, api.CodeInvalidJSON, 1},
		{`1.`, api.CodeInvalidJSON, 2}, {`.5`, api.CodeInvalidJSON, 0},
		{`1e`, api.CodeInvalidJSON, 2}, {`1e+`, api.CodeInvalidJSON, 3}, {`+1`, api.CodeInvalidJSON, 0},
		{`"`, api.CodeInvalidJSON, 1}, {`"\`, api.CodeInvalidJSON, 1},
		{`"\x"`, api.CodeInvalidJSON, 1}, {`"\u12"`, api.CodeInvalidJSON, 1}, {`"\u12G4"`, api.CodeInvalidJSON, 1},
		{"\"\n\"", api.CodeInvalidJSON, 1},
		{`[`, api.CodeInvalidJSON, 1}, {`[1`, api.CodeInvalidJSON, 2}, {`[1,`, api.CodeInvalidJSON, 3},
		{`[1,]`, api.CodeInvalidJSON, 3}, {`[,1]`, api.CodeInvalidJSON, 1},
		{`[1 2]`, api.CodeInvalidJSON, 3}, {`[1}`, api.CodeInvalidJSON, 2}, {`{"a":1]`, api.CodeInvalidJSON, 6},
		{`]`, api.CodeInvalidJSON, 0}, {`{`, api.CodeInvalidJSON, 1},
		{`{"a"`, api.CodeInvalidJSON, 4}, {`{"a":`, api.CodeInvalidJSON, 5}, {`{"a":}`, api.CodeInvalidJSON, 5},
		{`{"a":1,}`, api.CodeInvalidJSON, 7}, {`{a:1}`, api.CodeInvalidJSON, 1},
		{`{"a" 1}`, api.CodeInvalidJSON, 5}, {`{,}`, api.CodeInvalidJSON, 1}, {`1 2`, api.CodeInvalidJSON, 2},
		{`{} x`, api.CodeInvalidJSON, 3}, {"\uFEFF1", api.CodeInvalidJSON, 0},
		{"[1,\"\xff\"]", api.CodeInvalidUTF8, 4}, {"\xc3", api.CodeInvalidUTF8, 0},
		{strings.Repeat("[", 65) + strings.Repeat("]", 65), api.CodeTooDeep, 64},
		{strings.Repeat(`{"a":`, 65), api.CodeTooDeep, 64 * 5}, {strings.Repeat("[", 1_000_000), api.CodeTooDeep, 64},
	}
	for _, tt := range bad {
		if got := Validate([]byte(tt.text), 64); got.Code != tt.code || got.Offset != tt.offset {
			t.Errorf("%.60q: got %+v, want %s at %d", tt.text, got, tt.code, tt.offset)
		}
	}
}

// FuzzValidate: the scanner and encoding/json agree on what is JSON.
func FuzzValidate(f *testing.F) {
	for _, s := range []string{`{"a":[1,-2.5e3,"x\u00e9",null,true]}`, `[[[]]]`, `[1,]`, `{"a" 1}`, "\xff", `"\ud800"`,
		` 1 `} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got := Validate(b, MaxDepth)
		if got.Code == api.CodeTooDeep {
			return
		}
		if want := json.Valid(b) && utf8.Valid(b); want == got.Is() {
			t.Fatalf("%q: got %+v, encoding/json says %v", b, got, want)
		}
		if got.Is() && (got.Offset < 0 || got.Offset > len(b)) {
			t.Fatalf("%q: offset %d", b, got.Offset)
		}
	})
}

// Stores know the batches of a push with a key by the places of their first events (decision 0193): cut otherwise, what
// another release has begun of a body would be taken in again.
func TestBatchesOfABodyStayWhatTheyAre(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"array": "[1" + strings.Repeat(",1", 2499) + "]",
		"lines": strings.Repeat("1\n", 2500),
		"blank": strings.Repeat("1\n\r\n", 2500), // lines without an event have no place
	} {
		ev, bad := Cut([]byte(body), name != "array", 64)
		if bad.Is() {
			t.Fatalf("%s: %v", name, bad)
		}
		var got []int
		for batch := ev.Next(); batch != nil; batch = ev.Next() {
			got = append(got, len(batch))
		}
		if !slices.Equal(got, []int{1000, 1000, 500}) {
			t.Errorf("%s: cut to %v", name, got)
		}
	}
}

// FuzzCut: cutting an array or lines into events gives the elements that encoding/json finds.
func FuzzCut(f *testing.F) {
	for _, s := range []string{`[1,{"a":[2]},"x,]"]`, "1\n\n{\"a\":2}\r\n", `[]`, ` [ 1 , 2 ] `, `{"a":1}`} {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, b []byte, lines bool) {
		ev, bad := Cut(append([]byte(nil), b...), lines, 64)
		if bad.Is() {
			return
		}
		var got []string
		for batch := ev.Next(); batch != nil; batch = ev.Next() {
			if len(batch) > MaxBatch {
				t.Fatalf("a batch of %d", len(batch))
			}
			for _, e := range batch {
				got = append(got, string(e))
			}
		}
		var want []json.RawMessage
		switch {
		case lines:
			for line := range strings.SplitSeq(string(b), "\n") {
				if line = string(Trim([]byte(line))); line != "" {
					want = append(want, json.RawMessage(line))
				}
			}
		case len(Trim(b)) > 0 && Trim(b)[0] == '[':
			if err := json.Unmarshal(b, &want); err != nil {
				t.Fatalf("%q: %v", b, err)
			}
		default:
			want = []json.RawMessage{Trim(b)}
		}
		if len(got) != len(want) {
			t.Fatalf("%q: %d events %q, want %d", b, len(got), got, len(want))
		}
		for i := range want {
			if got[i] != string(want[i]) {
				t.Fatalf("%q: event %d is %q, want %q", b, i, got[i], want[i])
			}
		}
	})
}

func BenchmarkValidate(b *testing.B) {
	doc := []byte(`{"symbol":"AAPL","bid":101.25,"ask":101.27,"ts":1763632800123}`)
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		if Validate(doc, 64).Is() {
			b.Fatal("bad")
		}
	}
}
