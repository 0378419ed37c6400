package wire

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/api"
)

// M53: what a part of a push is refused with is the answer beside what was taken: what is to be sent again is named.
func TestM53ARefusedPartIsNamed(t *testing.T) {
	full := &api.Error{Status: http.StatusServiceUnavailable, Code: "memory_full", Detail: "no memory"}
	var p Pushed
	if err := p.Refuse(full); !errors.Is(err, full) || p.Full {
		t.Errorf("nothing was taken before: %v, %+v", err, p)
	}
	p.Add(api.PushResult{Accepted: 2, Full: true, Refused: full,
		Rejected: []api.Rejection{{Index: 1, Code: "memory_full"}, {Index: 2, Code: "against_schema"}}}, 10)
	e := p.Problem(Array)
	if p.Done != 4 || e.Status != full.Status || e.Code != full.Code || e.Extra["next_index"] != 4 ||
		!strings.Contains(e.Detail, "send those that rejected lists as memory_full and the events from index 4") {
		t.Errorf("%+v", e)
	}
	if full.Extra != nil {
		t.Error("the refusal itself was changed")
	}

	p = Pushed{}
	p.Add(api.PushResult{Accepted: 10}, 10)
	if err := p.Refuse(full); err != nil || !p.Full {
		t.Errorf("a batch was taken before: %v, %+v", err, p)
	}
	if e := p.Problem(Array); e.Code != "memory_full" || e.Extra["next_index"] != 10 {
		t.Errorf("%+v", e)
	}
	if err := p.Refuse(errors.New("a bug")); err == nil {
		t.Error("what is no refusal is hidden")
	}
}

// TestDurableIsOfWhatWasTaken: a batch of which nothing was taken says nothing of the others.
func TestDurableIsOfWhatWasTaken(t *testing.T) {
	t.Parallel()
	took := func(durable bool) api.PushResult { return api.PushResult{Accepted: 1, Durable: durable} }
	refused := api.PushResult{Rejected: []api.Rejection{{Code: "schema"}}}
	full := api.PushResult{Full: true}
	for name, tt := range map[string]struct {
		of   []api.PushResult
		want bool
	}{
		"full behind what is durable": {[]api.PushResult{took(true), full}, true},
		"refused before it":           {[]api.PushResult{refused, took(true), refused}, true},
		"one is not":                  {[]api.PushResult{took(true), took(false), full}, false},
		"the first is not":            {[]api.PushResult{took(false), took(true)}, false},
		"nothing":                     {[]api.PushResult{refused, full}, false},
	} {
		var p Pushed
		for _, r := range tt.of {
			p.Add(r, 1)
		}
		if p.Durable != tt.want {
			t.Errorf("%s: durable is %v", name, p.Durable)
		}
	}
}
