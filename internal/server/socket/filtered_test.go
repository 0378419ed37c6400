package socket

import (
	"context"
	"errors"
	"testing"

	"github.com/graphd/graphd/internal/api"
)

// unending has a frame ready whenever it is asked.
type unending struct{ api.Subscription }

func (unending) Next(context.Context) (*api.Frame, error) { return &api.Frame{Type: "output"}, nil }
func (unending) TryNext() *api.Frame                      { return &api.Frame{Type: "output"} }

// A filter that nothing passes ends with who watches, and keeps what was found from being sent for a bounded time.
func TestFiltersEnd(t *testing.T) {
	t.Parallel()
	n := &filtered{unending{}, func(*api.Frame) *api.Frame { return nil }}
	if f := n.TryNext(); f != nil {
		t.Errorf("%+v", f)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if f, err := n.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", f, err)
	}
}

// The work of an expression for one frame is bounded far below that of a node: there are thousands of frames.
func TestWhereIsBounded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`any(1..40, any(1..40, # < -epoch)) or epoch > 0`:   true,
		`any(1..400, any(1..400, # < -epoch)) or epoch > 0`: false,
	} {
		keep, err := where([]byte(`"` + text + `"`))
		if err != nil {
			t.Fatal(err)
		}
		if got := keep(&api.Frame{Type: "output", Epoch: 7, Value: []byte("1")}) != nil; got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}
