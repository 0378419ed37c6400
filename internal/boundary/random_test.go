package boundary

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/graphd/graphd/internal/boundary/rawjson"
)

// writer writes random JSON: any order of keys, any white space, any escapes, and,
// when broken, now and then a fault.
type writer struct {
	t      *rapid.T
	b      strings.Builder
	broken bool
}

func (w *writer) pick(label string, from ...string) string {
	return rapid.SampledFrom(from).Draw(w.t, label)
}

func (w *writer) space() { w.b.WriteString(w.pick("space", "", "", "", "", " ", "\n\t")) }

func (w *writer) value(depth int) {
	w.space()
	defer w.space()
	kind := rapid.IntRange(0, 9).Draw(w.t, "kind")
	if depth == 0 {
		kind %= 6
	}
	switch kind {
	case 0:
		w.b.WriteString(w.pick("literal", "null", "true", "false"))
	case 1:
		fmt.Fprint(&w.b, rapid.Int64().Draw(w.t, "int"))
	case 2:
		fmt.Fprint(&w.b, rapid.Float64Range(-1e300, 1e300).Draw(w.t, "float"))
	case 3:
		fmt.Fprintf(&w.b, "%d.%s%s", rapid.IntRange(-999, 999).Draw(w.t, "whole"),
			rapid.StringMatching(`[0-9]{1,18}`).Draw(w.t, "fraction"), w.pick("exp", "", "", "e3", "E-12", "e+15",
				"e-9"))
	case 4, 5:
		w.text(rapid.StringN(0, 12, -1).Draw(w.t, "string"))
	case 6, 7:
		w.b.WriteByte('[')
		for i := range rapid.IntRange(0, 4).Draw(w.t, "items") {
			if i > 0 {
				w.b.WriteByte(',')
			}
			w.value(depth - 1)
		}
		w.b.WriteByte(']')
	default:
		w.object(depth)
	}
	if w.broken && rapid.IntRange(0, 15).Draw(w.t, "fault") == 0 {
		w.b.WriteString(w.pick("fault", ",", "]", "}", `"`, `\`, "\xff", "1e999", `"\ud801"`, "\x00", "-"))
	}
}

func (w *writer) object(depth int) {
	w.b.WriteByte('{')
	names := rapid.SliceOfN(rapid.SampledFrom([]string{
		"a", "b", "c", "symbol", "", "é", "aa", "z\n", "\U0001F600", "\uFFFD", "a\"b", "d", "e", "f", "g", "h", "i",
		"j", "k", "l",
	}), 0, 18).Draw(w.t, "names")
	if !w.broken {
		slices.Sort(names)
		names = slices.Compact(names)
		names = rapid.Permutation(names).Draw(w.t, "order")
	}
	for i, name := range names {
		if i > 0 {
			w.b.WriteByte(',')
		}
		w.space()
		w.text(name)
		w.space()
		w.b.WriteByte(':')
		w.value(depth - 1)
	}
	w.b.WriteByte('}')
}

func (w *writer) text(s string) {
	if rapid.IntRange(0, 2).Draw(w.t, "escape") > 0 {
		w.b.Write(rawjson.AppendString(nil, s))
		return
	}
	w.b.WriteByte('"')
	for _, r := range s {
		switch {
		case r > 0xFFFF:
			r -= 0x10000
			fmt.Fprintf(&w.b, `\u%04x\u%04X`, 0xD800+r>>10, 0xDC00+r&0x3FF)
		case r < 0x7F && strings.ContainsRune(`"\/`, r):
			fmt.Fprintf(&w.b, `\%c`, r)
		default:
			fmt.Fprintf(&w.b, `\u%04x`, r)
		}
	}
	w.b.WriteByte('"')
}

func TestDecodeRandom(t *testing.T) {
	t.Parallel()
	for _, broken := range []bool{false, true} {
		t.Run(fmt.Sprintf("broken=%v", broken), func(t *testing.T) {
			t.Parallel()
			accepted := 0
			rapid.Check(t, func(rt *rapid.T) {
				w := writer{t: rt, broken: broken}
				w.value(4)
				doc := []byte(w.b.String())
				checkDecode(rt, doc)
				if _, codes := oracle(doc, 64); codes == nil {
					accepted++
				} else if !broken {
					rt.Fatalf("%s: the generator makes documents that are not valid: %v", doc, codes)
				}
			})
			if accepted == 0 {
				t.Fatal("not one document was valid: the test shows nothing")
			}
		})
	}
}
