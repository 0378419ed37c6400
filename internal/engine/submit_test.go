package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint/checkpointtest"
	memstore "github.com/graphd/graphd/internal/dal/memory"
	"github.com/graphd/graphd/internal/sink"
)

// M29: who submits pushes waits for none of them to be in the journal before the next, and they share an append. The
// answers are those of pushes.
func TestM29SubmittedPushesShareAnAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got, gate := &receiver{}, make(chan struct{})
		faulty := checkpointtest.NewFaulty(memstore.New(), nil)
		b := newBed(t, lasting{faulty}, &scripted{sink: func(string) sink.Sink { return got }})
		defer b.close()
		b.apply(journaled, "g")
		faulty.Script(checkpointtest.OpAppendJournal, checkpointtest.Fault{Wait: gate})
		const pushes = 100
		var answers []func(context.Context) (api.PushResult, error)
		for n := range pushes {
			answer, err := b.e.Submit(t.Context(), ofG, "a", []json.RawMessage{fmt.Appendf(nil, "%d", n), []byte("x")})
			if err != nil {
				t.Fatal(err)
			}
			answers = append(answers, answer)
		}
		synctest.Wait()
		if s := b.summary("g"); s.Epoch != pushes || got.taken() != "[]" {
			t.Errorf("while the first append was on its way: epoch %d, delivered %s", s.Epoch, got.taken())
		}
		close(gate)
		want := []api.Rejection{{Index: 1, Code: "invalid_json"}}
		for n, answer := range answers {
			res, err := answer(t.Context())
			if err != nil || res.Accepted != 1 || !res.Durable || len(res.Rejected) != 1 ||
				res.Rejected[0].Index != want[0].Index || res.Rejected[0].Code != want[0].Code {
				t.Fatalf("push %d: %+v, %v", n, res, err)
			}
		}
		synctest.Wait()
		if appends := faulty.Calls(checkpointtest.OpAppendJournal); appends > 3 {
			t.Errorf("%d pushes took %d appends", pushes, appends)
		}
		if all := strings.Fields(got.taken()); len(all) != pushes || all[pushes-1] != fmt.Sprint((pushes-1)*10)+"]" {
			t.Errorf("delivered %s", got.taken())
		}
		if _, err := b.e.Submit(t.Context(), ofG, "nowhere", nil); err == nil {
			t.Error("submitted to an accumulator that is not there")
		}
		ended, end := context.WithCancel(t.Context())
		end()
		answer, err := b.e.Submit(ended, ofG, "a", []json.RawMessage{[]byte("1")})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := answer(t.Context()); err != nil { // there was room: who has gone has submitted it all the same
			t.Errorf("submitted by who has gone: %v", err)
		}
	})
}
