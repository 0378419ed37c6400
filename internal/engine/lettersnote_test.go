package engine

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/graphd/graphd/internal/api"
	memstore "github.com/graphd/graphd/internal/dal/memory"
)

// M5: a filter that is the name of nothing is told what there is, a preview what it cannot see, and the letter
// of a node why nothing can be pushed of it.
func TestM5LettersAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, memstore.New(), &scripted{})
		defer b.close()
		b.apply("graph: g\naccumulators:\n  a: { schema: { type: object } }\n"+
			"  w: { fold: { init: { n: 0 }, step: { n: state.n + event.x } } }\n  s: { from: n, where: event > 5 }\n"+
			"reactor: { strategy: sequential }\n"+
			"nodes: { n: { expr: 'a.x / 1' }, aside: { expr: 'a.y + 1', on_error: dead_letter }, "+
			"of: { expr: 1 / w.n } }\n"+
			"outputs: { o: { from: n, sink: { drop: {} } }, p: { from: aside, sink: { drop: {} } } }\n", "g")
		b.push("g", "a", `{"x":"q","y":1}`, `{"x":1,"y":"q"}`)
		b.push("g", "w", `{"x":0}`)
		synctest.Wait()
		for _, test := range []struct {
			c    api.LetterChoice
			note string
		}{
			{
				api.LetterChoice{Code: "htp_400"},
				`no dead letter with the code "htp_400"; there are some with the code type_error`,
			},
			{api.LetterChoice{Stage: "snik"}, `no dead letter of the stage "snik"; there are some of the stage node`},
			{
				api.LetterChoice{Accumulator: "b", Stage: "node"},
				`no dead letter of the accumulator "b"; there are some of`,
			},
			{api.LetterChoice{Output: "o"}, `no dead letter of the output "o"`},
			{api.LetterChoice{Stage: "node", Where: "epoch > 1000"}, ""},
			{api.LetterChoice{Stage: "node", Until: "1h"}, ""},
		} {
			page, err := b.e.DeadLetters(t.Context(), ofG, api.LetterQuery{LetterChoice: test.c})
			if err != nil || len(page.Items) != 0 || !saysOnly(page.Note, test.note) {
				t.Errorf("list %+v: %+v, %v", test.c, page, err)
			}
			req := api.LettersRequest{LetterChoice: test.c}
			replayed, err := b.e.ReplayDeadLetters(t.Context(), ofG, req)
			if err != nil || !saysOnly(replayed.Note, test.note) {
				t.Errorf("replay %+v: %+v, %v", test.c, replayed, err)
			}
			discarded, err := b.e.DiscardDeadLetters(t.Context(), ofG, req)
			if err != nil || !saysOnly(discarded.Note, test.note) {
				t.Errorf("discard %+v: %+v, %v", test.c, discarded, err)
			}
		}
		preview := func(c api.LetterChoice) api.LettersResult {
			r, err := b.e.ReplayDeadLetters(t.Context(), ofG, api.LettersRequest{LetterChoice: c, Preview: true})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		if r := preview(api.LetterChoice{Accumulator: "a"}); !saysOnly(r.Note, "ends where a stage begins: s took") {
			t.Errorf("%+v", r)
		}
		if r := preview(api.LetterChoice{Accumulator: "w"}); !saysOnly(r.Note, "tried on an empty w (fold)") ||
			strings.Contains(r.Note, "stage") {
			t.Errorf("%+v", r)
		}
		r := preview(api.LetterChoice{Where: `accumulator == "" and stage == "node"`})
		if len(r.Reasons) != 1 || r.Note != "" || r.Reasons[0].Code != "not_replayable" ||
			!strings.Contains(r.Reasons[0].Detail, "on_error: dead_letter, whose epoch went on without it") {
			t.Errorf("%+v", r)
		}
	})
}

// saysOnly reports whether a note has the words, and is none where there are none.
func saysOnly(note, words string) bool {
	return strings.Contains(note, words) && (note == "") == (words == "")
}
