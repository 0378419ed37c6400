package virtual_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// M21: what groups by a key takes two numbers for one if they are equal, and no others: 1 and 1.0 are, and of
// the whole numbers that a float would round each is its own.
func TestM21KeysAreTheNumbersTheyAre(t *testing.T) {
	oneKey := [][]string{ // as they are written; those of one line are one key
		{"1", "1.0", "1e0"}, {"0", "0.0", "-0.0"}, {`"1"`}, {"-1"}, {"true"}, {`"true"`},
		{"4503599627370496", "4503599627370496.0"},
		{"9007199254740991"}, {"9007199254740992"}, {"9007199254740993"}, {"9007199254740995"},
		{"-9007199254740993"}, {"-9007199254740992"},
		{"9223372036854775807"}, {"9223372036854775806"}, {"-9223372036854775808"}, {"-9223372036854775807"},
	}
	for _, form := range []string{"%s", "[%[1]s,%[1]s]"} {
		key := fmt.Sprintf(form, "event.m")
		s := newStaged(t, `graph: g
accumulators:
  f: { time: event.at, fold: { key: `+key+`, init: 0, step: state + 1, emit_when: state == 2 } }
  w: { time: event.at, window: { key: `+key+`, tumbling: 1s, aggregate: { n: count() } } }
  t: { time: event.at, table: { key: `+key+` } }
  ask: { time: event.at }
reactor: { strategy: sequential }
nodes:
  of_f: { expr: f.key }
  of_w: { expr: '[w.key, w.n]' }
  of_t: { expr: 'ask.at > 0 ? keys(t) : nil' }
outputs:
  f: { from: of_f, sink: { drop: {} } }
  w: { from: of_w, sink: { drop: {} } }
  t: { from: of_t, sink: { drop: {} } }
`)
		r := rand.New(rand.NewPCG(21, uint64(len(form))))
		var folds, windows, rows []string
		for _, i := range r.Perm(len(oneKey)) {
			for range 2 {
				event := fmt.Sprintf(`{"m":%s,"at":0}`, oneKey[i][r.IntN(len(oneKey[i]))])
				for input := range 3 {
					s.push(input, event)
				}
			}
			group := fmt.Sprintf(form, oneKey[i][0])
			folds, windows, rows = append(folds, "f "+group), append(windows, "w ["+group+",2]"), append(rows, group)
		}
		s.want(folds...)
		s.push(3, `{"at":1}`)
		s.must(s.g.Close())
		slices.Sort(s.out)
		slices.Sort(rows)
		slices.Sort(windows)
		var keys []json.RawMessage
		if err := json.Unmarshal([]byte(strings.TrimPrefix(s.out[0], "t ")), &keys); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, k := range keys {
			got = append(got, string(k))
		}
		if slices.Sort(got); !slices.Equal(got, rows) {
			t.Errorf("the table has the keys\n%s\nwant\n%s", got, rows)
		}
		s.out = s.out[1:]
		s.want(windows...)
	}
}
