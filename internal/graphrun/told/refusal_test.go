package told

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/live/calls"
)

// M11: a command that was not answered says which node it waits for and what that calls failed with; it is not that the
// graph was busy.
func TestM11ACommandSaysWhatHasNotAnswered(t *testing.T) {
	t.Parallel()
	err := Refusal(&calls.UnansweredError{Nodes: []string{"score"}, Waited: 30 * time.Second,
		Troubles: []string{"scores.example answered 503 Service Unavailable"}})
	e := (*api.Error)(nil)
	if !errors.As(err, &e) || e.Status != http.StatusGatewayTimeout || e.Code != "call_unanswered" ||
		!strings.Contains(e.Detail, "30s to what score asked for: scores.example answered 503") {
		t.Errorf("%+v", err)
	}
	if err = Refusal(context.DeadlineExceeded); !errors.As(err, &e) || e.Code != "command_timeout" {
		t.Errorf("%+v", err)
	}
}
