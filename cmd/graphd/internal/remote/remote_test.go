package remote

import (
	"net/http"
	"testing"

	"github.com/graphd/graphd/internal/api"
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
