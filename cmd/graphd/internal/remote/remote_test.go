package remote

import (
	"net/http"
	"testing"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/wire"
	"github.com/graphd/graphd/internal/spec"
)

// The exit codes of refusals are a promise to scripts.
func TestProblemCode(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]int{
		http.StatusBadRequest: 2, http.StatusUnprocessableEntity: 1, http.StatusRequestEntityTooLarge: 1,
		http.StatusInternalServerError: 1,
		http.StatusNotFound:            3, http.StatusConflict: 4, http.StatusPreconditionFailed: 4,
		http.StatusUnauthorized: 5, http.StatusForbidden: 5,
		http.StatusBadGateway: 69, http.StatusServiceUnavailable: 69,
		http.StatusTooManyRequests: 75, http.StatusGatewayTimeout: 75,
	} {
		if got := problemCode(&api.Problem{Status: status}); got != want {
			t.Errorf("%d: got %d, want %d", status, got, want)
		}
	}
	mistakes := &api.Problem{Status: http.StatusUnprocessableEntity, Errors: spec.Diagnostics{{Code: "unknown_field"}}}
	if got := problemCode(mistakes); got != 78 {
		t.Errorf("a declaration's mistakes: got %d, want 78", got)
	}
}

// M48: an epoch is named by its shard too, where there are several, and read as it is shown.
func TestM48EpochsAreNamedByTheirShards(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]api.Firing{
		"17": {Epoch: 17}, "0/17": {Epoch: 17}, "2/17": {Shard: 2, Epoch: 17},
		"": {}, "x": {}, "0": {}, "2/": {}, "/17": {}, "-1/17": {}, "2/0": {}, "1/2/3": {},
	} {
		shard, epoch, ok := parseEpoch(text)
		if ok != (want.Epoch != 0) || ok && (shard != want.Shard || epoch != want.Epoch) {
			t.Errorf("%q: got %d, %d, %t", text, shard, epoch, ok)
		}
		if shown := epochText(&want, true); ok && text != "17" && shown != text {
			t.Errorf("%q is shown as %q", text, shown)
		}
	}
	if got := epochText(&api.Firing{Epoch: 1042}, false); got != "1,042" && got != "1042" {
		t.Errorf("without shards: %q", got)
	}
}

// Advice for who makes requests by hand is not for who gave a verb, in whichever form the daemon writes it.
func TestAdviceIsLeftOut(t *testing.T) {
	t.Parallel()
	missed := []api.Rejection{{Index: 1, Code: api.CodeQueueFull}, {Index: 2, Code: api.CodeOwnerMoved}}
	moved := &api.Reason{Code: api.CodeOwnerMoved, Detail: "the graph has moved"}
	quota := &api.Reason{Code: api.CodeQuotaExceeded, Detail: "tenant acme has 5 events a second"}
	paused := &api.Reason{Code: "paused", Detail: "by"}
	short := &api.Error{Code: "x", Detail: "the memory is short"}
	for want, r := range map[string]api.PushResult{
		"the accumulator's queue stayed full":              {},
		"the accumulator's queue stayed full (paused: by)": {Why: paused},
		"the graph has moved":                              {Why: moved, Rejected: missed},
		"tenant acme has 5 events a second":                {Why: quota},
		"the memory is short":                              {Rejected: missed, Refused: short},
	} {
		r.Full = true
		p := wire.Pushed{PushResult: r, Done: 12}
		e := p.Problem(wire.Single)
		if got := reasonOf(&api.Problem{Detail: e.Detail}); got != want {
			t.Errorf("of %q is left %q", e.Detail, got)
		}
	}
}
