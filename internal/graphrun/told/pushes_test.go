package told_test

import (
	"errors"
	"testing"

	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/graphrun/told"
)

// TestM53WhatIsNotKnownIsNotDenied holds that a push of which a part went to a member that has not answered is answered
// so, whatever the others have refused theirs with: their word would say of its events too that they were not taken.
func TestM53WhatIsNotKnownIsNotDenied(t *testing.T) {
	silent := &pump.AwayError{Code: api.CodeOwnerUnreachable, Detail: "it did not answer"}
	for name, other := range map[string]error{
		"moved": pump.ErrElsewhere, "closed": pump.ErrClosed, "stopped": pump.ErrStopped, "anew": pump.ErrAnew,
		"moved away": &pump.AwayError{Code: api.CodeOwnerMoved},
		"refused":    &pump.AwayError{Code: "memory_full", Refused: &api.Error{Code: "memory_full"}},
	} {
		for _, err := range []error{errors.Join(other, silent), errors.Join(silent, other)} {
			why, refusal := told.Turned(err, "g", "in", 0, false)
			if refusal != nil || why == nil || why.Code != api.CodeOwnerUnreachable {
				t.Errorf("%s: answered with %v and %v", name, why, refusal)
			}
		}
	}
}
