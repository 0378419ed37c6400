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
