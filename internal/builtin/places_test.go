package builtin_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/builtin"
)

// What cannot be read is told once and at its place, by the reader alone; a kind that is not
// built says what there is instead (M47).
func TestWhatCannotBeReadIsToldOnce(t *testing.T) {
	t.Parallel()
	for part, want := range map[string]string{
		"reactor: { key: '' }":                                       "3:17 empty_value",
		"reactor: { key: [''] }":                                     "3:18 empty_value",
		"nodes: { n: { expr: '' } }":                                 "3:21 empty_value",
		"nodes: { n: { route: { x: '' } } }":                         "3:27 empty_value",
		"nodes: { n: { wasm: { module: x }, inputs: [a] } }":         "3:15 missing_field",
		"outputs: { o: { from: a, where: '', sink: { drop: {} } } }": "3:33 empty_value",
	} {
		_, diags := (&builtin.Kinds{}).Parse([]byte("graph: g\naccumulators: { a: {} }\n"+part+"\n"), "g.yaml")
		var got []string
		for _, d := range diags {
			got = append(got, fmt.Sprintf("%d:%d %s", d.Line, d.Column, d.Code))
		}
		if s := strings.Join(got, "; "); s != want {
			t.Errorf("%s: got %s, want %s", part, s, want)
		}
	}
	for accumulator, want := range map[string]string{
		"window: { tumbling: 1s, key: '', aggregate: { n: '' } }":    "2:51; 2:71",
		"source: { generator: { every: 1s, expr: '' } }":             "2:62",
		"window: { tumbling: 1s, aggregate: { n: '', m: count() } }": "2:62",
	} {
		_, diags := (&builtin.Kinds{}).Parse([]byte("graph: g\naccumulators: { a: { "+accumulator+" } }\n"), "g.yaml")
		var got []string
		for _, d := range diags {
			got = append(got, fmt.Sprintf("%d:%d", d.Line, d.Column))
		}
		if s := strings.Join(got, "; "); s != want {
			t.Errorf("%s: got %s, want %s: %v", accumulator, s, want, diags)
		}
	}
}
