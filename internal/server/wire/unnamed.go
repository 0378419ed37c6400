package wire

import (
	"errors"

	"github.com/graphd/graphd/internal/api"
)

// Unnamed leaves out of a refusal which graphs follow, where whoever asks may not know of all graphs.
func Unnamed(err error, narrow bool) error {
	refused, ok := errors.AsType[*api.Error](err)
	if !ok || !narrow || refused.Code != api.CodeFollowed {
		return err
	}
	hidden := *refused
	hidden.Detail = "other graphs follow outputs of this one; ask whoever gives tokens which, and delete these first"
	return &hidden
}
