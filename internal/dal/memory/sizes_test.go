package memory

import (
	"testing"

	"github.com/graphd/graphd/internal/checkpoint/checkpointtest/sizetest"
)

// What a tenant has in the store is told to the byte (A11).
func TestStoredBytes(t *testing.T) {
	t.Parallel()
	sizetest.Test(t, New())
}
